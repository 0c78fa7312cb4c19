internal import AssetModel

/// Small lists as bytes in one column: counts and lengths in front, everything checked when it is read again.
struct Packer {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ number: Int64) { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }

  mutating func append(_ list: [UInt8]) {
    append(Int64(list.count))
    bytes.append(contentsOf: list)
  }

  mutating func append(_ text: String) { append(Array(text.utf8)) }
}

struct Unpacker {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func number() throws(Unreadable) -> Int64 {
    guard rest.count >= 8 else { throw Unreadable() }
    defer { rest = rest.dropFirst(8) }
    return rest.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
  }

  /// A number of things that the rest could hold.
  mutating func count() throws(Unreadable) -> Int {
    let number = try number()
    guard number >= 0, number <= rest.count else { throw Unreadable() }
    return Int(number)
  }

  mutating func list() throws(Unreadable) -> [UInt8] {
    let count = try count()
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func text() throws(Unreadable) -> String {
    guard let text = String(validating: try list(), as: UTF8.self) else { throw Unreadable() }
    return text
  }

  var isAtEnd: Bool { rest.isEmpty }

  func end() throws(Unreadable) { if !isAtEnd { throw Unreadable() } }

  /// A row that this program didn't write like that.
  struct Unreadable: Error {}
}
