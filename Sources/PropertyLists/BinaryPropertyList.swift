/// A look at a binary property list before Foundation decodes it. Its objects refer to each other by number, and what is
/// referred to twice is decoded twice: some hundred bytes may stand for more than any memory holds.
enum BinaryPropertyList {
  static let maxVisits = 100_000
  static let maxBytes = 4 << 20
  static let maxDepth = PropertyList.maxDepth

  /// Passes what isn't one; throws where decoding one would cost too much.
  static func check(_ bytes: [UInt8]) throws(PropertyList.ReadError) {
    guard bytes.starts(with: Array("bplist".utf8)) else { return }
    var walk = try Walk(bytes)
    try walk.visit(walk.top, depth: 0)
  }

  private struct Walk {
    let bytes: [UInt8]
    let offsetSize: Int
    let referenceSize: Int
    let count: Int
    let top: Int
    let table: Int
    var visits = 0
    var content = 0

    /// The last 32 bytes: six of no interest, two sizes, then the number of objects, the top one and where the table of
    /// their offsets lies, eight bytes each.
    init(_ bytes: [UInt8]) throws(PropertyList.ReadError) {
      let trailer = bytes.count - 32
      guard trailer >= 8 else { throw .malformed }
      self.bytes = bytes
      offsetSize = Int(bytes[trailer + 6])
      referenceSize = Int(bytes[trailer + 7])
      count = try Self.number(bytes, trailer + 8, 8)
      top = try Self.number(bytes, trailer + 16, 8)
      table = try Self.number(bytes, trailer + 24, 8)
      guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), count <= bytes.count,
        table <= trailer - count * offsetSize
      else { throw .malformed }
    }

    /// Big endian. Nothing that counts or points within a file is longer than the file.
    private static func number(_ bytes: [UInt8], _ at: Int, _ size: Int) throws(PropertyList.ReadError) -> Int {
      guard at >= 0, size <= 8, at <= bytes.count - size else { throw .malformed }
      var value = 0
      for byte in bytes[at..<at + size] {
        guard value < 1 << 40 else { throw .malformed }
        value = value << 8 | Int(byte)
      }
      return value
    }

    mutating func visit(_ object: Int, depth: Int) throws(PropertyList.ReadError) {
      guard object < count else { throw .malformed }
      // What refers to itself is endlessly deep.
      guard depth < maxDepth else { throw .tooDeep }
      visits += 1
      guard visits <= maxVisits else { throw .tooLarge }
      let offset = try Self.number(bytes, table + object * offsetSize, offsetSize)
      guard offset < table else { throw .malformed }
      let marker = bytes[offset]
      switch marker >> 4 {
      case 0xa: try visitAll(offset, perElement: 1, depth)
      case 0xd: try visitAll(offset, perElement: 2, depth)
      case 4, 5: try add(try length(offset).count)
      case 6: try add(try length(offset).count * 2)
      case 0, 1, 2, 3: try add(16)
      // Sets, references of archives and undefined types: none of them is in an Info.plist, and Foundation takes
      // them for what they aren't.
      default: throw .malformed
      }
    }

    private mutating func add(_ size: Int) throws(PropertyList.ReadError) {
      content += size
      guard content <= maxBytes else { throw .tooLarge }
    }

    private mutating func visitAll(_ offset: Int, perElement: Int, _ depth: Int) throws(PropertyList.ReadError) {
      let (count, start) = try length(offset)
      guard count * perElement * referenceSize <= table - start else { throw .malformed }
      for index in 0..<count * perElement {
        try visit(try Self.number(bytes, start + index * referenceSize, referenceSize), depth: depth + 1)
      }
    }

    /// How many elements, and where they begin: the marker's lower half, or an integer object that follows it.
    private func length(_ offset: Int) throws(PropertyList.ReadError) -> (count: Int, start: Int) {
      let short = Int(bytes[offset] & 0xf)
      guard short == 0xf else { return (short, offset + 1) }
      guard offset + 1 < table, bytes[offset + 1] >> 4 == 1 else { throw .malformed }
      let size = 1 << Int(bytes[offset + 1] & 0xf)
      let count = try Self.number(bytes, offset + 2, size)
      guard count <= bytes.count else { throw .malformed }
      return (count, offset + 2 + size)
    }
  }
}
