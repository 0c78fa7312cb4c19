/// The last bytes of what is there, beside those that come for the same place: whoever sends others has another file.
struct TailComparison {
  private let expected: [UInt8]
  private var compared = 0

  /// nil: there is nothing to compare.
  init?(_ expected: [UInt8]) {
    if expected.isEmpty { return nil }
    self.expected = expected
  }

  var isDone: Bool { compared == expected.count }

  /// How many of the next bytes belonged to it; nil: one of them differs.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Int? {
    let count = min(bytes.count, expected.count - compared)
    guard bytes[..<count].elementsEqual(expected[compared..<compared + count]) else { return nil }
    compared += count
    return count
  }
}
