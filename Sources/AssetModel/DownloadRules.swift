/// Which of the downloads that an extension answered may be scheduled. A rejected one doesn't hold up the others (L3).
public struct DownloadRules: Sendable {
  /// Bytes of UTF-8 that an identifier may have.
  public static let longestIdentifier = 1024
  /// Bytes that a URL may have.
  public static let longestURL = 8192
  /// Bytes of a method, a body, and of the names and values of all headers together: a download is kept and sent, so it
  /// has to have an end.
  public static let longestMethod = 32
  /// Bytes that a request's body may have.
  public static let longestBody = 64 << 10
  /// Fields that a request may have.
  public static let maxHeaders = 64
  /// Bytes that the names and values of all fields may have together.
  public static let longestHeaders = 16 << 10
  /// Priorities of an app's downloads.
  public static let priorities: ClosedRange<Int64> = -100...100

  /// nil: the extension has no bundle, and every group maps to the one container that it was given.
  public var applicationGroups: Set<String>?
  /// The content request that is answered; nil for what is scheduled at another time.
  public var request: ContentRequestKind?
  /// Development mode: plain http to this machine (L9).
  public var allowsPlainHTTPToLoopback: Bool

  /// Creates the rules for one answer.
  public init(
    applicationGroups: Set<String>? = nil, request: ContentRequestKind?, allowsPlainHTTPToLoopback: Bool = false
  ) {
    self.applicationGroups = applicationGroups
    self.request = request
    self.allowsPlainHTTPToLoopback = allowsPlainHTTPToLoopback
  }

  /// What became of an answer.
  public struct Verdict: Sendable, Equatable {
    /// What may be scheduled: essential ones first, then by priority, then by identifier.
    public var accepted: [Download] = []
    /// What may not, each with its reason.
    public var rejected: [RejectedDownload] = []
    /// The downloads of `rejected`, in the same order; shorter where an answer was too long to hold them.
    public var rejectedDownloads: [Download] = []

    /// Creates an empty verdict.
    public init() {}
  }

  /// Splits an answer. The accepted ones come in the order in which they would be transferred (B46, B51): essential
  /// first, then by priority, then by identifier.
  package func validate(_ answer: [Download]) -> Verdict {
    var verdict = Verdict()
    var seen: Set<String> = []
    for download in answer {
      if let rejection = rejectionReason(for: download) {
        verdict.rejected.append(rejection)
        verdict.rejectedDownloads.append(download)
      } else if !seen.insert(download.identifier).inserted {
        verdict.rejected.append(
          RejectedDownload(
            identifier: download.identifier, code: 100,
            reason: "the identifier was answered twice; each download of an app needs its own"))
        verdict.rejectedDownloads.append(download)
      } else {
        verdict.accepted.append(download)
      }
    }
    verdict.accepted.sort {
      ($0.isEssential ? 0 : 1, -$0.priority, $0.identifier) < ($1.isEssential ? 0 : 1, -$1.priority, $1.identifier)
    }
    return verdict
  }

  /// The first rule of the table of misuse (spec 6.2) that a download breaks.
  package func rejectionReason(for download: Download) -> RejectedDownload? {
    func reject(_ code: Int32, _ reason: String) -> RejectedDownload {
      RejectedDownload(identifier: download.identifier, code: code, reason: reason)
    }
    if download.identifier.isEmpty { return reject(102, "the identifier is empty") }
    if download.identifier.utf8.count > Self.longestIdentifier {
      return reject(
        102, "the identifier has \(download.identifier.utf8.count) bytes; at most \(Self.longestIdentifier) are allowed"
      )
    }
    if download.identifier.unicodeScalars.contains(where: Self.isDeceptive) {
      return reject(102, "the identifier contains a control or a text-direction character")
    }
    if let problem = problem(ofURL: download.url) {
      var rejection = reject(102, problem.reason)
      rejection.cause = problem.cause
      return rejection
    }
    if let reason = Self.rejectionReason(forRequest: download) { return reject(102, reason) }
    if let size = download.fileSize, size <= 0 {
      return reject(102, "fileSize is \(size); it must be greater than zero")
    }
    if !Self.priorities.contains(download.priority) {
      return reject(102, "priority \(download.priority) is outside -100...100")
    }
    if download.applicationGroupIdentifier.utf8.count > Self.longestIdentifier {
      return reject(
        102,
        "the app group has \(download.applicationGroupIdentifier.utf8.count) bytes; at most \(Self.longestIdentifier) are allowed"
      )
    }
    if let groups = applicationGroups, !groups.contains(download.applicationGroupIdentifier) {
      return reject(
        55,
        "the app group '\(download.applicationGroupIdentifier)' isn't one of the bundle's; name it in entitlements.plist"
      )
    }
    if download.isEssential, request?.permitsEssential != true {
      return reject(109, "an essential download is allowed for install and update only")
    }
    return nil
  }

  private static func rejectionReason(forRequest download: Download) -> String? {
    if let rejectionReason = rejectionReason(
      forMethod: download.method.isEmpty ? "GET" : download.method, bodyLength: download.body.count)
    {
      return rejectionReason
    }
    if download.headers.count > maxHeaders {
      return "the request has \(download.headers.count) headers; at most \(maxHeaders) are allowed"
    }
    for header in download.headers {
      if let rejectionReason = rejectionReason(forHeader: header) { return rejectionReason }
    }
    let bytes = download.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    return bytes > longestHeaders ? "the headers have \(bytes) bytes; at most \(longestHeaders) are allowed" : nil
  }

  /// Methods whose answer is no file: none at all, or what the server was asked (RFC 9110, 9.3).
  private static let methodsWithoutFile: Set<String> = ["HEAD", "CONNECT", "TRACE"]

  package static func rejectionReason(forMethod method: String, bodyLength: Int) -> String? {
    if method.utf8.count > longestMethod {
      return "the HTTP method has \(method.utf8.count) bytes; at most \(longestMethod) are allowed"
    }
    if method.isEmpty || !method.utf8.allSatisfy(isToken) {
      return "'\(Printable.text(method))' isn't an HTTP method"
    }
    if methodsWithoutFile.contains(method.uppercased()) { return "the answer to the HTTP method \(method) is no file" }
    if bodyLength > longestBody {
      return "the HTTP body has \(bodyLength) bytes; at most \(longestBody) are allowed"
    }
    return nil
  }

  /// A name is a token, and a value has no line breaks and no other controls (RFC 9110, 5.1 and 5.5): a plugin that wrote one
  /// could write fields, and requests, of its own behind it.
  package static func rejectionReason(forHeader header: Download.Header) -> String? {
    let name = Printable.text(header.name, limit: 60)
    if header.name.isEmpty || !header.name.utf8.allSatisfy(isToken) { return "'\(name)' isn't the name of a header" }
    if header.value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }) {
      return "the value of the header \(name) has control characters"
    }
    return nil
  }

  package static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  private func problem(ofURL url: String) -> (reason: String, cause: RejectedDownload.Cause?)? {
    if url.utf8.count > Self.longestURL {
      return ("the URL has \(url.utf8.count) bytes; at most \(Self.longestURL) are allowed", nil)
    }
    if url.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7f }) {
      return ("the URL isn't one: \(Printable.text(url))", .unsupportedURL)
    }
    let isSecure = url.lowercased().hasPrefix("https://")
    guard isSecure || allowsPlainHTTPToLoopback && url.lowercased().hasPrefix("http://") else {
      return ("the URL isn't https: \(Printable.text(url)); serve the file over https", .unsupportedURL)
    }
    let authority = url.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    // Neither a user nor a port is a host.
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    if host.isEmpty || host.hasPrefix(":") { return ("the URL names no host: \(Printable.text(url))", .unsupportedURL) }
    // Not shown: what stands there may be a password.
    if host.utf8.count + 1 < authority.utf8.count {
      let reason = "has a user name in it; leave it out, and answer the server's challenge"
      return ("the URL of \(Printable.text(host)) \(reason)", nil)
    }
    if isSecure || Self.isLoopback(host) { return nil }
    let reason = "isn't https, and its host isn't this machine: \(Printable.text(url)); serve the file over https"
    return ("the URL \(reason)", .unsupportedURL)
  }

  /// Of a URL, with its port.
  private static func isLoopback(_ host: some StringProtocol) -> Bool {
    let name = host.hasPrefix("[") ? host.prefix { $0 != "]" }.dropFirst() : host.prefix { $0 != ":" }
    return ["localhost", "127.0.0.1", "::1"].contains(name.lowercased())
  }

  /// C0 and C1 controls, line and paragraph separators, and the marks that reorder text on a screen.
  package static func isDeceptive(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1f, 0x7f...0x9f, 0x200e, 0x200f, 0x061c, 0x2028...0x202e, 0x2066...0x2069, 0xfeff: true
    default: false
    }
  }
}
