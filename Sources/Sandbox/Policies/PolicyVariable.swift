internal import Basics

/// A variable of a plugin's environment: set to a value, or passed on as the host has it.
public struct PolicyVariable: Sendable, Hashable {
  /// Its name.
  public var name: String
  /// Its value; nil: the host's, and no variable where the host has none.
  public var value: String?

  /// At most so many in one policy.
  public static let maxCount = 256
  /// Bytes of a name with its value.
  public static let longest = 32 << 10

  /// The host sets these itself: what it tells the runner, and what it keeps from the loader of programs.
  private static let own: Set<String> = ["HOME", "TMPDIR", "SWIFT_BACKTRACE", "GLIBC_TUNABLES"]
  private static let ownPrefixes = ["LD_", "OUTRIDER_"]

  /// Creates a variable.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - value: Its value; nil: the host's.
  public init(name: String, value: String?) { (self.name, self.value) = (name, value) }

  /// By bytes, as a plugin gets it.
  public static func == (left: Self, right: Self) -> Bool {
    left.name.isExactly(right.name) && left.value.map(ExactText.init) == right.value.map(ExactText.init)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(ExactText(name))
    hasher.combine(value.map(ExactText.init))
  }

  /// Reads `NAME` or `NAME=VALUE`.
  ///
  /// - Parameter text: As in a policy or on a command line.
  public init(_ text: String) {
    (name, value) = text.dividedAtEquals ?? (text, nil)
  }

  /// Why a plugin can't have this variable; nil: it can.
  public var rejectionReason: String? {
    let isName =
      name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7a).contains($0 | 0x20) || $0 == 0x5f }
      && name.utf8.first.map { !(0x30...0x39).contains($0) } == true
    let shown = String(name.prefix(60)).debugDescription
    guard isName else {
      return "\(shown) isn't a variable's name; it is NAME or NAME=VALUE with letters, digits and '_'"
    }
    if Self.own.contains(name) || Self.ownPrefixes.contains(where: name.hasPrefix) {
      return "\(name.prefix(60)) is set by the host alone"
    }
    let bytes = name.utf8.count + (value?.utf8.count ?? 0)
    guard bytes <= Self.longest else { return "\(shown) has \(bytes) bytes with its value; at most \(Self.longest)" }
    guard value?.utf8.contains(0) != true else { return "\(shown): a value can't contain a NUL byte" }
    return nil
  }

  /// As a policy has it.
  public var text: String { value.map { "\(name)=\($0)" } ?? name }
}
