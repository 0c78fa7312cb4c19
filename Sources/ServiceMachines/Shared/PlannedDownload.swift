/// What the machines know of a download; its request stays with the executor.
package struct PlannedDownload: Sendable, Equatable, Codable {
  /// The service's name for it, a UUID.
  package var uniqueIdentifier: String
  /// The client's name for it.
  package var identifier: String
  package var isEssential: Bool
  /// Bytes, as the client declared them; nil: unknown.
  package var size: Int64?
  /// -100…100; higher goes first within an app (B46).
  package var priority: Int
  /// The host of its URL, for the allow list.
  package var host: String

  package init(
    uniqueIdentifier: String, identifier: String, isEssential: Bool = false, size: Int64? = nil, priority: Int = 0,
    host: String = ""
  ) {
    self.uniqueIdentifier = uniqueIdentifier
    self.identifier = identifier
    self.isEssential = isEssential
    self.size = size
    self.priority = priority
    self.host = host
  }
}

/// An error as machines hand it on: domain, code and sentence of an `NSError`.
package struct Failure: Error, Sendable, Equatable, Codable {
  package var domain: String
  package var code: Int
  package var message: String

  package static let frameworkDomain = "BAErrorDomain"
  package static let networkDomain = "NSURLErrorDomain"
  /// `NSURLErrorCancelled`.
  package static let cancelled = Failure(domain: networkDomain, code: -999, message: "the download was cancelled")

  package init(domain: String, code: Int, message: String) {
    self.domain = domain
    self.code = code
    self.message = message
  }

  /// By the raw value of its `BAErrorCode`.
  package static func framework(_ code: Int, _ message: String) -> Self {
    Failure(domain: frameworkDomain, code: code, message: message)
  }
}

/// How a download ended.
package enum Settlement: Sendable, Equatable, Codable {
  /// `size`: bytes of the file.
  case finished(size: Int64)
  case failed(Failure)
  case cancelled
}

/// How a run of an extension ended; the raw values are those of the plugin host's outcomes.
package enum RunEnd: String, Sendable, Codable, CaseIterable {
  case returned, loadFailed, crashed, wallTimeExceeded, cpuTimeExceeded, memoryExceeded, policyViolation
  case protocolViolation, runtimeBudgetExhausted, entryPointMissing, wallUnavailable, hostFailed
  /// The service died meanwhile, or ended it for a reason of its own.
  case interrupted

  /// Whether the extension did it: such ends lead to quarantine.
  package var isFaultOfExtension: Bool {
    switch self {
    case .loadFailed, .crashed, .wallTimeExceeded, .cpuTimeExceeded, .memoryExceeded, .policyViolation,
      .protocolViolation, .entryPointMissing:
      true
    case .returned, .runtimeBudgetExhausted, .wallUnavailable, .hostFailed, .interrupted: false
    }
  }
}
