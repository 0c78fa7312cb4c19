/// Whether an interpolated value appears in the log. Corresponds to Apple's `OSLogPrivacy`.
///
/// As on Apple's platforms, `.auto` shows numbers and hides strings and objects, which may be about people. A host that is
/// asked to (`outrider run --show-private`) shows them, and what is marked private; what is sensitive stays hidden.
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

  /// The value is shown. Corresponds to Apple's `OSLogPrivacy.public`.
  public static var `public`: OSLogPrivacy { OSLogPrivacy(option: .public, mask: .none) }
  /// The value is hidden. Corresponds to Apple's `OSLogPrivacy.private`.
  public static var `private`: OSLogPrivacy { .private(mask: .none) }
  /// The value is hidden, whatever a host is asked. Corresponds to Apple's `OSLogPrivacy.sensitive`.
  public static var sensitive: OSLogPrivacy { .sensitive(mask: .none) }
  /// Numbers are shown, strings and objects are hidden. Corresponds to Apple's `OSLogPrivacy.auto`.
  public static var auto: OSLogPrivacy { .auto(mask: .none) }

  /// Hidden behind a mask. Corresponds to Apple's `OSLogPrivacy.private(mask:)`.
  public static func `private`(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(option: .private, mask: mask) }
  /// Hidden behind a mask, whatever a host is asked. Corresponds to Apple's `OSLogPrivacy.sensitive(mask:)`.
  public static func sensitive(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(option: .sensitive, mask: mask) }
  /// Strings and objects are hidden behind a mask. Corresponds to Apple's `OSLogPrivacy.auto(mask:)`.
  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(option: .auto, mask: mask) }

  /// The value's text as it may appear.
  ///
  /// - Parameters:
  ///   - isScalar: Whether the value is a number, a Boolean or an address.
  ///   - showsPrivate: What the process's host wants.
  func applied(to text: String, isScalar: Bool, showsPrivate: Bool = Self.showsPrivate) -> String {
    let isShown =
      switch option {
      case .public: true
      case .auto: showsPrivate || isScalar && mask == .none
      case .private: showsPrivate
      case .sensitive: false
      }
    if isShown { return text }
    // Seeded for each process, so that a short secret can't be found by hashing guesses.
    return mask == .hash ? "<mask.hash: '\(String(UInt(bitPattern: text.hashValue), radix: 16))'>" : "<private>"
  }

  /// Set by the host before the extension is loaded.
  static let showsPrivate = getenv("OUTRIDER_SHOW_PRIVATE") != nil
}
