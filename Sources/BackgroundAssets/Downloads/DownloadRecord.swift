/// Everything about a download but its state, as a value.
///
/// Only what a host transfers is kept of the request: URL, method, header fields and body.
struct DownloadRecord: Sendable, Codable {
  var identifier: String
  var uniqueIdentifier = Self.newUniqueIdentifier()
  var isEssential: Bool
  var priority: Int
  /// Bytes; nil if unknown beforehand.
  var fileSize: Int?
  var applicationGroupIdentifier: String
  /// Absolute; empty if the request had none, which the host then rejects.
  var url: String
  var httpMethod: String
  var httpHeaders: [String: String]
  var httpBody: Data?
}

extension DownloadRecord {
  /// A random UUID (RFC 9562, version 4). Foundation's own opens a device file for each, which is most of what making a
  /// download takes.
  static func newUniqueIdentifier() -> String {
    var random = SystemRandomNumberGenerator()
    var words = (random.next() as UInt64, random.next() as UInt64)
    return withUnsafeMutableBytes(of: &words) { bytes in
      bytes[6] = bytes[6] & 0x0f | 0x40
      bytes[8] = bytes[8] & 0x3f | 0x80
      return UUID(uuid: bytes.load(as: uuid_t.self)).uuidString
    }
  }

  init(
    identifier: String, request: URLRequest, essential: Bool, fileSize: Int?, applicationGroupIdentifier: String,
    priority: BADownload.Priority
  ) {
    self.init(
      identifier: identifier, isEssential: essential, priority: priority.rawValue, fileSize: fileSize,
      applicationGroupIdentifier: applicationGroupIdentifier, url: request.url?.absoluteString ?? "",
      httpMethod: request.httpMethod ?? "GET", httpHeaders: request.allHTTPHeaderFields ?? [:],
      httpBody: request.httpBody ?? request.httpBodyStream.map(Self.body))
  }

  /// A host takes so many bytes of body; one more, and its refusal says so.
  static let maxBody = 64 << 10

  /// What a stream has is read when the download is made: the request may be sent days later, and again after that.
  private static func body(of stream: InputStream) -> Data {
    stream.open()
    defer { stream.close() }
    var body = Data()
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while body.count <= maxBody {
      let count = stream.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { break }
      body.append(contentsOf: buffer[..<count])
    }
    return body.prefix(maxBody + 1)
  }
}
