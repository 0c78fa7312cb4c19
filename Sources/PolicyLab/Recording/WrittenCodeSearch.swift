internal import Sandbox

/// Lets a plugin run code that it has written itself, or names what that is granted by. A pure value.
struct WrittenCodeSearch {
  /// Otherwise it is only named.
  let isGranted: Bool

  /// What it is said by.
  static let line = "executableMemory: \(Policy.ExecutableMemory.justInTime.rawValue)"

  /// Whether another round is needed, with what `policy` grants then.
  func handle(_ round: [Observed], _ policy: inout Policy, _ recording: inout Recording) -> Bool {
    guard policy.executableMemory != .justInTime else { return false }
    for denial in round.flatMap(\.denials) where denial.wantsWrittenCode {
      guard isGranted else {
        recording.add(.refused("--jit lets it run code that it has written itself"), Self.line, denial)
        continue
      }
      recording.add(.granted, Self.line, denial)
      policy.executableMemory = .justInTime
    }
    return policy.executableMemory == .justInTime
  }
}
