/// Why bytes aren't a frame. Everything that a runner sends goes through here, so each way to be wrong has a name.
package enum ProtocolViolation: Error, Equatable, Sendable, CustomStringConvertible {
  case truncated(wanted: Int, left: Int)
  case trailing(bytes: Int)
  case notUTF8
  case notBoolean(UInt8)
  case badMagic(UInt16)
  case badVersion(UInt8)
  case unknownKind(UInt8)
  case frameTooLong(length: UInt32, limit: Int)
  case tooMany(elements: UInt32)
  case unknownCase(UInt8)
  case unexpected(String)

  /// What was found.
  package var description: String {
    switch self {
    case .truncated(let wanted, let left):
      "a message that ends too early: \(wanted) bytes come next, and \(left) are left"
    case .trailing(let bytes): "a message with \(bytes) bytes too many"
    case .notUTF8: "a text that isn't UTF-8"
    case .notBoolean(let value): "\(value) in the place of 0 or 1"
    case .badMagic: "bytes that begin no message"
    case .badVersion(let version): "a message of version \(version)"
    case .unknownKind(let kind): "a message of the unknown kind \(kind)"
    case .frameTooLong(let length, let limit): "a message of \(length) bytes, where \(limit) are allowed"
    case .tooMany(let elements): "a list of \(elements) elements, more than its message can hold"
    case .unknownCase(let value): "the unknown value \(value)"
    case .unexpected(let what): what
    }
  }
}

/// Appends values in the wire's form: little endian, strings and bytes counted by 32 bits.
package struct ByteWriter: Sendable {
  package private(set) var bytes: [UInt8]

  package init(capacity: Int = 256) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  package mutating func integer<I: FixedWidthInteger>(_ value: I) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func boolean(_ value: Bool) { bytes.append(value ? 1 : 0) }

  package mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { utf8 in
      integer(UInt32(utf8.count))
      bytes.append(contentsOf: utf8)
    }
  }

  package mutating func data(_ value: [UInt8]) {
    integer(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  /// Data that lies elsewhere in the area.
  mutating func placed(_ place: PlacedData) {
    integer(UInt32(place.count) | PlacedData.mark)
    integer(UInt32(place.offset))
  }

  package mutating func optional<T>(_ value: T?, _ write: (inout ByteWriter, T) -> Void) {
    boolean(value != nil)
    if let value { write(&self, value) }
  }

  package mutating func array<T>(_ values: [T], _ write: (inout ByteWriter, T) -> Void) {
    integer(UInt32(values.count))
    for value in values { write(&self, value) }
  }
}

/// Takes values from hostile bytes. Never allocates what a length merely claims: every count is checked against what
/// is really there first.
package struct ByteReader: Sendable {
  private let bytes: ArraySlice<UInt8>
  private var position: Int
  /// Where data may lie that isn't among the bytes. The process that shares it may change it at any time: it is copied once, and nothing
  /// is decided by it.
  private nonisolated(unsafe) let area: UnsafeRawBufferPointer?
  /// Bytes of the area that may still be copied: one frame has room for no more, however often it names them.
  private var areaLeft: Int

  /// `area`: where data may be placed; it must be there for as long as the reader is.
  package init(_ bytes: ArraySlice<UInt8>, area: UnsafeRawBufferPointer? = nil) {
    self.bytes = bytes
    self.area = area
    areaLeft = area?.count ?? 0
    position = bytes.startIndex
  }

  package init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package var left: Int { bytes.endIndex - position }

  private mutating func take(_ count: Int) throws(ProtocolViolation) -> ArraySlice<UInt8> {
    guard count <= left else { throw .truncated(wanted: count, left: left) }
    defer { position += count }
    return bytes[position..<position + count]
  }

  package mutating func integer<I: FixedWidthInteger & BitwiseCopyable>(_: I.Type = I.self) throws(ProtocolViolation)
    -> I
  {
    let slice = try take(MemoryLayout<I>.size)
    var value: I = 0
    withUnsafeMutableBytes(of: &value) { $0.copyBytes(from: slice) }
    return I(littleEndian: value)
  }

  package mutating func boolean() throws(ProtocolViolation) -> Bool {
    switch try integer(UInt8.self) {
    case 0: false
    case 1: true
    case let other: throw .notBoolean(other)
    }
  }

  package mutating func data() throws(ProtocolViolation) -> [UInt8] {
    if let area, isMarked(at: position) {
      let place = try placed(area: area.count)
      guard place.count <= areaLeft else { throw .truncated(wanted: place.count, left: areaLeft) }
      areaLeft -= place.count
      return [UInt8](unsafeUninitializedCapacity: place.count) { copy, filled in
        UnsafeMutableRawBufferPointer(copy).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: area[place.offset..<place.offset + place.count]))
        filled = place.count
      }
    }
    let count = try integer(UInt32.self)
    return Array(try take(Int(count)))
  }

  /// Whether a byte of `first` comes next, and then data that lies elsewhere.
  func isPlaced(after first: UInt8) -> Bool { left > 1 && bytes[position] == first && isMarked(at: position + 1) }

  private func isMarked(at place: Int) -> Bool { bytes.endIndex - place >= 4 && bytes[place + 3] & 0x80 != 0 }

  /// The place of data in an area of so many bytes.
  mutating func placed(area: Int) throws(ProtocolViolation) -> PlacedData {
    let count = Int(try integer(UInt32.self) & ~PlacedData.mark)
    let offset = Int(try integer(UInt32.self))
    guard offset <= area, count <= area - offset else { throw .truncated(wanted: count, left: max(area - offset, 0)) }
    return PlacedData(offset: offset, count: count)
  }

  package mutating func string() throws(ProtocolViolation) -> String {
    let count = try integer(UInt32.self)
    let content = try take(Int(count))
    // Names and types are mostly ASCII. The standard library's check of other text takes as long as a short call.
    if content.allSatisfy({ $0 < 0x80 }) {
      return String(unsafeUninitializedCapacity: content.count) {
        UnsafeMutableRawBufferPointer($0).copyBytes(from: content)
        return content.count
      }
    }
    guard let text = String(validating: content, as: UTF8.self) else { throw .notUTF8 }
    return text
  }

  package mutating func optional<T>(
    _ read: (inout ByteReader) throws(ProtocolViolation) -> T
  ) throws(ProtocolViolation) -> T? {
    try boolean() ? try read(&self) : nil
  }

  package mutating func array<T>(
    _ read: (inout ByteReader) throws(ProtocolViolation) -> T
  ) throws(ProtocolViolation) -> [T] {
    let count = try integer(UInt32.self)
    // Every element takes at least one byte, so a count beyond what is left is a lie.
    guard Int(count) <= left else { throw .tooMany(elements: count) }
    var values: [T] = []
    for _ in 0..<count { values.append(try read(&self)) }
    return values
  }

  /// A frame is read to its last byte: what is left over is a violation.
  package func end() throws(ProtocolViolation) {
    guard left == 0 else { throw .trailing(bytes: left) }
  }
}
