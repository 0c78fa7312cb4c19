/// One transfer that an extension asked for, as a plain value. Nothing in it has been checked: see `DownloadRules`.
public struct Download: Sendable, Equatable {
  public struct Header: Sendable, Equatable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The name that the client gave; unique among the scheduled downloads of one app (B36).
  public var identifier: String
  /// A UUID given by the host; empty until then.
  public var uniqueIdentifier: String
  public var url: String
  /// Empty means GET.
  public var method: String
  public var body: [UInt8]
  public var headers: [Header]
  public var applicationGroupIdentifier: String
  /// Bytes that the transfer will have, or nil where the client doesn't know (the initializers of 16.1).
  public var fileSize: Int64?
  public var isEssential: Bool
  public var priority: Int64
  /// The download of the app's manifest (L5).
  public var isManifest: Bool
  /// The raw value of `BADownload.State`.
  public var state: Int32

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
  public var identifier: String
  public var code: Int32
  public var reason: String

  public init(identifier: String, code: Int32, reason: String) {
    self.identifier = identifier
    self.code = code
    self.reason = reason
  }
}

/// An error as it crosses to an extension: domain, code and description of an `NSError`.
public struct ErrorDescription: Sendable, Equatable {
  public var domain: String
  public var code: Int64
  public var description: String

  public init(domain: String, code: Int64, description: String) {
    self.domain = domain
    self.code = code
    self.description = description
  }
}
