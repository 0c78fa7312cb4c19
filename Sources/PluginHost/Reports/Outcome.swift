internal import AssetModel

/// How a run ended: the first cause, and the one that is right.
public struct Outcome: Sendable, Equatable, Codable {
  /// The kinds of ends; the raw values are what reports print. docs/outcomes.md says when each is.
  public enum Kind: String, Sendable, Codable, CaseIterable {
    case returned, loadFailed, crashed, wallTimeExceeded, cpuTimeExceeded, memoryExceeded, policyViolation
    case protocolViolation, runtimeBudgetExhausted, entryPointMissing, wallUnavailable, hostFailed, cancelled

    /// Whether it was the plugin's time that was over.
    var isTimeLimit: Bool { self == .wallTimeExceeded || self == .cpuTimeExceeded }

    /// The exit status of `outrider` for a run that ended so.
    public var exitStatus: Int32 {
      switch self {
      case .returned: 0
      case .loadFailed: 10
      case .crashed: 11
      case .wallTimeExceeded: 12
      case .cpuTimeExceeded: 13
      case .memoryExceeded: 14
      case .policyViolation: 15
      case .protocolViolation: 16
      case .runtimeBudgetExhausted: 17
      case .entryPointMissing: 18
      case .wallUnavailable: 69
      case .hostFailed: 70
      case .cancelled: 130
      }
    }
  }

  private static let longestDetail = 2000

  /// Which end it was.
  public var kind: Kind
  /// One sentence for people: what exceeded what, where it crashed, the loader's own message. Safe to print.
  public var detail: String

  /// Creates an outcome.
  public init(_ kind: Kind, _ detail: String) {
    self.kind = kind
    // Names of files and the loader's own words are anyone's.
    self.detail = Printable.text(detail, limit: Self.longestDetail)
  }
}
