/// Whether an interpolated value appears in the log. Corresponds to Apple's `OSLogPrivacy`.
///
/// `.auto` shows every value. Apple platforms hide strings and objects then, to protect the people whose devices upload
/// logs; this log is read by the developer who runs the extension. What is marked private or sensitive stays hidden.
public struct OSLogPrivacy: Equatable, Sendable {
  /// What stands in for a hidden value.
  public enum Mask: Equatable, Sendable {
    /// A hash by which equal values can be told from others, within one process only.
    case hash
    case none
  }

  private enum Option { case `public`, `private`, sensitive, auto }

  private let option: Option
  private let mask: Mask

  public static var `public`: OSLogPrivacy { OSLogPrivacy(option: .public, mask: .none) }
  public static var `private`: OSLogPrivacy { .private(mask: .none) }
  public static var sensitive: OSLogPrivacy { .sensitive(mask: .none) }
  public static var auto: OSLogPrivacy { .auto(mask: .none) }

  public static func `private`(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(option: .private, mask: mask) }
  public static func sensitive(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(option: .sensitive, mask: mask) }
  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(option: .auto, mask: mask) }

  /// The value's text as it may appear.
  func applied(to text: String) -> String {
    // Seeded for each process, so that a short secret can't be found by hashing guesses.
    if mask == .hash { return "<mask.hash: '\(String(UInt(bitPattern: text.hashValue), radix: 16))'>" }
    switch option {
    case .public, .auto: return text
    case .private, .sensitive: return "<private>"
    }
  }
}
