/// One message on a channel: a header of 16 bytes, then `length` bytes of payload.
///
///     0  u16 magic "oR"    2  u8 version    3  u8 kind    4  u32 length    8  u64 id
///
/// `id` ties an answer to its question: a returned value to a call, a reply to a request. An answer with any other id
/// than that of the one open question is a violation, so no late or early answer is ever taken for the right one.
package struct Frame: Sendable, Equatable {
  package static let headerSize = 16
  package static let magic: UInt16 = 0x526f
  package static let version: UInt8 = 1
  /// Bytes that a payload may have unless a limit says less: room for an answer of some ten thousand downloads.
  package static let longestPayload = 4 << 20
  /// The largest of such limits.
  package static let longestAllowed = 1 << 30

  package var kind: UInt8
  package var id: UInt64
  package var payload: [UInt8]

  package init(kind: UInt8, id: UInt64, payload: [UInt8]) {
    self.kind = kind
    self.id = id
    self.payload = payload
  }

  package func encoded() -> [UInt8] {
    var bytes = header(capacity: Self.headerSize + payload.count)
    bytes.append(contentsOf: payload)
    return bytes
  }

  /// What comes before the payload.
  package func header(capacity: Int = Self.headerSize) -> [UInt8] {
    var writer = ByteWriter(capacity: capacity)
    writer.integer(Self.magic)
    writer.integer(Self.version)
    writer.integer(kind)
    writer.integer(UInt32(payload.count))
    writer.integer(id)
    return writer.bytes
  }
}

/// Cuts a stream into frames. Holds what hasn't arrived in full, never more than one frame of it.
package struct FrameAssembler: Sendable {
  private var buffer: [UInt8] = []
  private var consumed = 0
  package let longestPayload: Int

  package init(longestPayload: Int = Frame.longestPayload) { self.longestPayload = longestPayload }

  package mutating func append(_ bytes: [UInt8]) { append(bytes[...]) }

  package mutating func append(_ bytes: ArraySlice<UInt8>) {
    if consumed > 0 {
      buffer.removeFirst(consumed)
      consumed = 0
    }
    buffer.append(contentsOf: bytes)
  }

  /// Bytes that arrived and don't make a whole frame yet.
  package var pending: Int { buffer.count - consumed }

  /// The next whole frame; nil until more arrives. The header is checked as soon as it is there: a length beyond the
  /// limit is refused before anything is reserved for it.
  package mutating func next() throws(ProtocolViolation) -> Frame? {
    guard pending >= Frame.headerSize else { return nil }
    var reader = ByteReader(buffer[consumed..<consumed + Frame.headerSize])
    let magic: UInt16 = try reader.integer()
    guard magic == Frame.magic else { throw .badMagic(magic) }
    let version: UInt8 = try reader.integer()
    guard version == Frame.version else { throw .badVersion(version) }
    let kind: UInt8 = try reader.integer()
    let length: UInt32 = try reader.integer()
    guard Int(length) <= longestPayload else { throw .frameTooLong(length: length, limit: longestPayload) }
    let id: UInt64 = try reader.integer()
    let end = consumed + Frame.headerSize + Int(length)
    guard buffer.count >= end else { return nil }
    if buffer.count == end, consumed == 0 {
      // The only one: no second copy of what may be long.
      buffer.removeFirst(Frame.headerSize)
      return Frame(kind: kind, id: id, payload: exchange(&buffer, with: []))
    }
    defer { consumed = end }
    return Frame(kind: kind, id: id, payload: Array(buffer[consumed + Frame.headerSize..<end]))
  }
}
