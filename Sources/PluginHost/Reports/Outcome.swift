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

  /// What of it a person can do something about, where the kind alone doesn't tell. No report in JSON has it.
  package private(set) var cause: Cause?

  /// More than the kind tells, for who gives advice.
  package enum Cause: Sendable, Equatable {
    /// A signal of a wrong access or instruction, and nothing could say where.
    case faultWithoutPlace
    /// An unaligned access, which faults because the plugin has asked the processor for that.
    case alignmentCheck
    /// The loader found no such file: the plugin's path as the runner has it, or the name of a library that it needs.
    case fileNotFound(String)
    /// The library was made with a sanitizer, whose runtime doesn't work behind the walls.
    case sanitizer
  }

  private enum CodingKeys: CodingKey { case kind, detail }

  /// Creates an outcome.
  public init(_ kind: Kind, _ detail: String) { self.init(kind, detail, cause: nil) }

  init(_ kind: Kind, _ detail: String, cause: Cause?) {
    self.kind = kind
    self.cause = cause
    // Names of files and the loader's own words are anyone's.
    self.detail = Printable.text(detail, limit: Self.longestDetail)
  }
}
