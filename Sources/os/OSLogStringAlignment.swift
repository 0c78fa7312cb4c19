/// Pads a value to a number of columns. Corresponds to Apple's `OSLogStringAlignment`.
public struct OSLogStringAlignment: Sendable {
  private let columns: Int
  private let padsFront: Bool

  public static var none: OSLogStringAlignment { OSLogStringAlignment(columns: 0, padsFront: true) }

  public static func right(columns: @autoclosure () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), padsFront: true)
  }

  public static func left(columns: @autoclosure () -> Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns(), padsFront: false)
  }

  func applied(to text: String) -> String {
    let padding = String(repeating: " ", count: max(0, columns - text.count))
    return padsFront ? padding + text : text + padding
  }
}
