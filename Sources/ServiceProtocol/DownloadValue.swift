package import Foundation

/// One download as it crosses the socket. Nothing in it has been checked.
package struct DownloadValue: Sendable, Equatable {
  package var identifier: String
  /// A UUID; the service gives one where it is empty.
  package var uniqueIdentifier: String
  package var url: String
  package var httpMethod: String
  package var httpHeaders: [String: String]
  package var httpBody: Data?
  package var applicationGroupIdentifier: String
  /// Bytes; nil where the client doesn't know.
  package var fileSize: Int64?
  package var isEssential: Bool
  /// -100…100.
  package var priority: Int
  package var isManifest: Bool
  /// The raw value of `BADownload.State`.
  package var state: Int

  package init(
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
package struct ServiceFailure: Error, Sendable, Equatable, Codable, CustomStringConvertible {
  /// `BAErrorDomain`, `NSURLErrorDomain`, or `OutriderErrorDomain` for what only `outrider` asks.
  package var domain: String
  package var code: Int
  /// A sentence: what failed, on what and why.
  package var message: String
  /// What to do about it.
  package var remedy: String?
  /// Domain and code of the error beneath, where there is one.
  package var underlyingDomain: String?
  package var underlyingCode: Int?

  package static let frameworkDomain = "BAErrorDomain"
  package static let commandDomain = "OutriderErrorDomain"

  package init(
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
  package static func framework(_ code: Int, _ message: String, remedy: String? = nil) -> Self {
    Self(domain: frameworkDomain, code: code, message: message, remedy: remedy)
  }

  /// An error of a command, by the exit status that it ends with (sysexits.h).
  package static func command(_ status: Int, _ message: String, remedy: String? = nil) -> Self {
    Self(domain: commandDomain, code: status, message: message, remedy: remedy)
  }

  package var description: String { remedy.map { "\(message); \($0)" } ?? message }
}
