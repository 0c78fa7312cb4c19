/// How urgent a download is: a lower number goes before a higher one and may pre-empt it.
public enum TransferClass: Int, Sendable, Comparable, CaseIterable {
  /// An app in the foreground asks for it.
  case foreground = 1
  /// Part of an installation or update: the launch gate waits for it.
  case essential = 2
  /// Scheduled by the app, which waits for none of it.
  case background = 3
  /// From an extension's wake, and repairs.
  case prefetch = 4

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Whether pacing, gates for metered lines and the shed of descriptors apply.
  public var isBackground: Bool { self >= .background }

  /// As commands and logs call it.
  public var name: String {
    switch self {
    case .foreground: "foreground"
    case .essential: "essential"
    case .background: "background"
    case .prefetch: "prefetch"
    }
  }
}
