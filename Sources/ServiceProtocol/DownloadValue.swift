public import Foundation

/// One download as it crosses the socket. Nothing in it has been checked.
public struct DownloadValue: Sendable, Equatable {
  public var identifier: String
  /// A UUID; the service gives one where it is empty.
  public var uniqueIdentifier: String
  public var url: String
  public var httpMethod: String
  public var httpHeaders: [String: String]
  public var httpBody: Data?
  public var applicationGroupIdentifier: String
  /// Bytes; nil where the client doesn't know.
  public var fileSize: Int64?
  public var isEssential: Bool
  /// -100…100.
  public var priority: Int
  public var isManifest: Bool
  /// The raw value of `BADownload.State`.
  public var state: Int

  public init(
    identifier: String, uniqueIdentifier: String, url: String, httpMethod: String = "GET",
    httpHeaders: [String: String] = [:], httpBody: Data? = nil, applicationGroupIdentifier: String,
    fileSize: Int64?, isEssential: Bool = false, priority: Int = 0, isManifest: Bool = false, state: Int = 0
  ) {
    self.identifier = identifier
    self.uniqueIdentifier = uniqueIdentifier
    self.url = url
    self.httpMethod = httpMethod
    self.httpHeaders = httpHeaders
    self.httpBody = httpBody
    self.applicationGroupIdentifier = applicationGroupIdentifier
    self.fileSize = fileSize
    self.isEssential = isEssential
    self.priority = priority
    self.isManifest = isManifest
    self.state = state
  }
}

/// An error as it crosses the socket: what an `NSError` has, and what helps.
public struct ServiceFailure: Error, Sendable, Equatable, Codable, CustomStringConvertible {
  /// `BAErrorDomain`, `NSURLErrorDomain`, or `OutriderErrorDomain` for what only `outrider` asks.
  public var domain: String
  public var code: Int
  /// A sentence: what failed, on what and why.
  public var message: String
  /// What to do about it.
  public var remedy: String?
  /// Domain and code of the error beneath, where there is one.
  public var underlyingDomain: String?
  public var underlyingCode: Int?

  public static let frameworkDomain = "BAErrorDomain"
  public static let commandDomain = "OutriderErrorDomain"

  public init(
    domain: String, code: Int, message: String, remedy: String? = nil, underlyingDomain: String? = nil,
    underlyingCode: Int? = nil
  ) {
    self.domain = domain
    self.code = code
    self.message = message
    self.remedy = remedy
    self.underlyingDomain = underlyingDomain
    self.underlyingCode = underlyingCode
  }

  /// An error of the framework, by the raw value of its `BAErrorCode`.
  public static func framework(_ code: Int, _ message: String, remedy: String? = nil) -> Self {
    Self(domain: frameworkDomain, code: code, message: message, remedy: remedy)
  }

  /// An error of a command, by the exit status that it ends with (sysexits.h).
  public static func command(_ status: Int, _ message: String, remedy: String? = nil) -> Self {
    Self(domain: commandDomain, code: status, message: message, remedy: remedy)
  }

  public var description: String { remedy.map { "\(message); \($0)" } ?? message }
}
