/// Compares the last bytes of a partial file with those that a server sends for the same place. A server that sends others has
/// another version of the file.
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
