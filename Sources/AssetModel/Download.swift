/// One transfer that an extension asked for, as a plain value. Nothing in it has been checked: see `DownloadRules`.
public struct Download: Sendable, Equatable {
  /// One field of a request's head.
  public struct Header: Sendable, Equatable {
    /// The field's name, a token (RFC 9110, section 5.1).
    public var name: String
    /// The field's value, without line ends.
    public var value: String

    /// Creates a field.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The name that the client gave; unique among the scheduled downloads of one app (B36).
  public var identifier: String
  /// A UUID given by the host; empty until then.
  public var uniqueIdentifier: String
  /// Absolute; https, or http to this machine in development mode. At most 8,192 bytes.
  public var url: String
  /// Empty means GET.
  public var method: String
  /// What is sent with the request, at most 64 KiB.
  public var body: [UInt8]
  /// At most 64 of them, with 16 KiB of names and values together.
  public var headers: [Header]
  /// The group whose container the file goes to; the extension has to be a member of it.
  public var applicationGroupIdentifier: String
  /// Bytes that the transfer will have, or nil where the client doesn't know (the initializers of 16.1).
  public var fileSize: Int64?
  /// Whether the app isn't launched before this is settled.
  public var isEssential: Bool
  /// Which of an app's downloads goes first: -100 to 100, higher first.
  public var priority: Int64
  /// The download of the app's manifest (L5).
  public var isManifest: Bool
  /// The raw value of `BADownload.State`.
  public var state: Int32

  /// Creates a download. Nothing is checked: `DownloadRules` does that.
  public init(
    identifier: String, uniqueIdentifier: String = "", url: String, method: String = "", body: [UInt8] = [],
    headers: [Header] = [], applicationGroupIdentifier: String, fileSize: Int64?, isEssential: Bool = false,
    priority: Int64 = 0, isManifest: Bool = false, state: Int32 = 0
  ) {
    self.identifier = identifier
    self.uniqueIdentifier = uniqueIdentifier
    self.url = url
    self.method = method
    self.body = body
    self.headers = headers
    self.applicationGroupIdentifier = applicationGroupIdentifier
    self.fileSize = fileSize
    self.isEssential = isEssential
    self.priority = priority
    self.isManifest = isManifest
    self.state = state
  }
}

/// A download that the rules refused, with the raw value of its `BAErrorCode` and a sentence for people.
public struct RejectedDownload: Sendable, Equatable, Codable, Error {
  /// Of the download that was rejected.
  public var identifier: String
  /// The raw value of a `BAErrorCode`.
  public var code: Int32
  /// One sentence for people.
  public var reason: String
  /// What lies under it, where an app is told of that, too. Not written down: who asks is answered at once.
  package var cause: Cause?

  package enum Cause: Sendable, Equatable {
    /// Its URL is none that is fetched.
    case unsupportedURL
  }

  private enum CodingKeys: String, CodingKey { case identifier, code, reason }

  /// Creates a rejection.
  public init(identifier: String, code: Int32, reason: String) {
    self.identifier = identifier
    self.code = code
    self.reason = reason
  }
}

/// An error as it crosses to an extension: domain, code and description of an `NSError`.
public struct ErrorDescription: Sendable, Equatable {
  /// An error domain, for example `NSURLErrorDomain`.
  public var domain: String
  /// The code within `domain`.
  public var code: Int64
  public var description: String

  /// Creates a description of an error.
  public init(domain: String, code: Int64, description: String) {
    self.domain = domain
    self.code = code
    self.description = description
  }
}
