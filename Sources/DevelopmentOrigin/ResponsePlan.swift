/// A response, decided to the last byte; only time is still to come.
struct ResponsePlan {
  enum Body {
    case none
    case bytes([UInt8])
    case content(Content, Range<Int>)

    var count: Int {
      switch self {
      case .none: 0
      case .bytes(let bytes): bytes.count
      case .content(_, let range): range.count
      }
    }
  }
  enum Framing {
    /// As it is.
    case plain
    case chunked(Reply.Framing)
  }

  var status: Int
  /// With the empty line at its end.
  var head: [UInt8]
  var headIsEndless = false
  var body = Body.none
  var framing = Framing.plain
  var keepsAlive: Bool
  /// After so many bytes of the body.
  var cut: Int?
  var manner = Reply.Ending.Manner.close
  var timing = Reply.Timing()
  var fault: String?
  /// Nothing of this: the request is for another server.
  var isPassedOn = false
}

/// Status line and fields on their way to the wire.
struct ResponseHead {
  var status: Int
  var reason: String?
  var fields: [HeaderField] = []
  var rawLines: [[UInt8]] = []

  mutating func set(_ name: String, _ value: String) {
    remove(name)
    fields.append(HeaderField(name, value))
  }

  mutating func remove(_ name: String) { fields.removeAll { $0.name.isEqualIgnoringCase(to: name) } }

  var bytes: [UInt8] {
    var text = "HTTP/1.1 \(status) \(reason ?? Self.reason(status))\r\n"
    for field in fields { text += "\(field.name): \(field.value)\r\n" }
    var bytes = Array(text.utf8)
    for line in rawLines { bytes += line + [13, 10] }
    return bytes + [13, 10]
  }

  static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 206: "Partial Content"
    case 301: "Moved Permanently"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 307: "Temporary Redirect"
    case 308: "Permanent Redirect"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 407: "Proxy Authentication Required"
    case 408: "Request Timeout"
    case 410: "Gone"
    case 412: "Precondition Failed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    case 416: "Range Not Satisfiable"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 451: "Unavailable For Legal Reasons"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 502: "Bad Gateway"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }
}
