/// What became of a finished file that was moved into an extension's container to be handed over.
public struct Handover: Sendable {
  /// What became of the file.
  public enum File: Sendable, Equatable {
    /// The extension has taken it: moved it away, given it another name, or deleted it. Also where the run ended afterwards.
    case moved
    /// It lay where it was put, unmodified.
    case left
    /// It lay where it was put, but the extension had written to it. It was deleted.
    case changed
  }

  /// What to do with an unmodified file that the extension left.
  public enum LeftFile: Sendable {
    /// B55.
    case delete
    case giveBack
    /// Deletes it if the callback returned, and gives it back if the run ended before, to be offered again.
    case giveBackAfterFailure
  }

  /// Whether the extension took the file.
  public var file: File
  /// Whether the file is again where it was taken from.
  public var isGivenBack: Bool
  /// How the run ended in the callback or before it; nil where the callback returned.
  public var failure: HostError?
}
