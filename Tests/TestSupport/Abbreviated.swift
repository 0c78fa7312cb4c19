/// An argument of a test that may be very long: where the test fails, its beginning and its length are printed.
public struct Abbreviated<Value: Sendable>: Sendable, CustomStringConvertible {
  public let value: Value

  public init(_ value: Value) { self.value = value }

  public var description: String {
    let text = String(reflecting: value)
    return text.utf8.count <= 120 ? text : "\(text.prefix(80))… (\(text.utf8.count) bytes)"
  }
}
