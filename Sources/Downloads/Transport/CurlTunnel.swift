internal import CCurl

/// What a proxy says before there is a tunnel: its answers aren't the origin's, nor are its failures.
struct CurlTunnel {
  private var reader = ResponseHeadReader()
  /// Of the last complete head.
  private(set) var status: Int?
  private(set) var isConnected = false
  /// It is spoken to by TLS itself: what fails in a handshake before its answer is its own.
  let isOfTLS: Bool

  init(isOfTLS: Bool) { self.isOfTLS = isOfTLS }

  mutating func connected() { isConnected = true }

  /// The complete head of an answer that the engine has to see: a question for a credential.
  mutating func append(_ line: UnsafeRawBufferPointer) throws(HeadFailure) -> ResponseHead? {
    guard let head = try reader.append(line) else { return nil }
    status = head.status
    return head.status == 407 ? head : nil
  }

  /// What a proxy answered that gives no tunnel because of the origin; nil: there is none, or another reason.
  var unreachable: Int? { isConnected ? nil : status.flatMap { [502, 504].contains($0) ? $0 : nil } }

  /// Whose failure it is.
  func problem(_ problem: TransportEnd.Problem) -> TransportEnd.Problem {
    guard !isConnected else { return problem }
    // It says that it can't reach the origin.
    if unreachable != nil { return .connect }
    switch status {
    case .some(200..<300): return problem
    case nil, .some:
      switch problem {
      case .reset, .timeout, .truncated, .other, .protocolFault, .connect: return .proxy
      case .tls where isOfTLS, .untrusted where isOfTLS, .clientCertificate where isOfTLS: return .proxy
      default: return problem
      }
    }
  }
}

/// Names before DNS.
enum CurlNames {
  /// What libcurl can be told.
  static func entries(_ resolve: [String]) -> [String] { resolve.filter { !$0.hasSuffix(":") } }

  /// `host:port:` without an address.
  static func isUnknown(_ url: ParsedURL, _ resolve: [String]) -> Bool { resolve.contains("\(url.host):\(url.port):") }

  static func refuse(_ easy: UnsafeMutableRawPointer) { oc_set_resolver_start(easy) { _, _, _ in 1 } }
}
