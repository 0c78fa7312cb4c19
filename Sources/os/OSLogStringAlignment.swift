/// Pads a value to a number of columns. Corresponds to Apple's `OSLogStringAlignment`.
public struct OSLogStringAlignment: Sendable {
  private let columns: Int
  private let padsFront: Bool

  /// As it is. Corresponds to Apple's `OSLogStringAlignment.none`.
  public static var none: OSLogStringAlignment { OSLogStringAlignment(columns: 0, padsFront: true) }

  /// At the right of so many columns. Corresponds to Apple's `OSLogStringAlignment.right(columns:)`.
  public static func right(columns: @autoclosure () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), padsFront: true)
  }

  /// At the left of so many columns. Corresponds to Apple's `OSLogStringAlignment.left(columns:)`.
  public static func left(columns: @autoclosure () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), padsFront: false)
  }

  func applied(to text: String) -> String {
    let padding = String(repeating: " ", count: max(0, columns - text.count))
    return padsFront ? padding + text : text + padding
  }
}
