internal import Foundation

/// Frames on the service's socket: four bytes of length (big-endian), then that much JSON.
///
/// Pure: bytes in, values out. A frame that is longer than it may be is refused by its first four bytes.
package enum FrameCodec {
  fileprivate static let noMessage = "it isn't JSON, or has no known name"
  /// Bytes of JSON in one frame.
  package static let maxPayload = 1 << 20

  package enum Violation: Error, Sendable, Equatable, CustomStringConvertible {
    case tooLong(Int)
    case empty
    case malformed(String)

    package var description: String {
      switch self {
      case .tooLong(let count): "a frame has \(count) bytes; at most \(FrameCodec.maxPayload) are allowed"
      case .empty: "a frame has no content"
      case .malformed(let why): "a frame isn't a message: \(why)"
      }
    }
  }

  /// One frame. A message that is longer than a frame may be throws `tooLong`: senders of lists send them in parts.
  package static func encode(_ message: some Encodable) throws(Violation) -> [UInt8] {
    if let message = message as? any FrequentMessage {
      var text = JSONText(after: [0, 0, 0, 0])
      if message.write(to: &text) { return try frame(text.finished()) }
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    let json: Data
    do { json = try encoder.encode(message) } catch { throw .malformed("\(error)") }
    return try frame([0, 0, 0, 0] + json)
  }

  /// The first four bytes are for the length.
  private static func frame(_ bytes: consuming [UInt8]) throws(Violation) -> [UInt8] {
    let count = bytes.count - 4
    guard count <= maxPayload else { throw .tooLong(count) }
    for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: count >> (24 - 8 * index)) }
    return bytes
  }

  package static func decode<Message: Decodable>(
    _ type: Message.Type, from payload: some Sequence<UInt8>
  ) throws(Violation) -> Message {
    if let frequent = type as? any FrequentMessage.Type, let bytes = payload as? ArraySlice<UInt8> {
      var reader = JSONReader(bytes)
      if let message = frequent.read(&reader) as? Message, reader.isAtEnd { return message }
      // No object: not worth the decoder's time, which a hostile sender would have it spend.
      guard let first = bytes.first, "{ \t\r\n".utf8.contains(first) else { throw .malformed(noMessage) }
    }
    do { return try JSONDecoder().decode(type, from: Data(payload)) } catch let error as DecodingError {
      throw .malformed(error.place)
    } catch {
      throw .malformed("it isn't JSON")
    }
  }
}

/// Puts frames together from the parts in which they arrive.
package struct FrameAssembler: Sendable {
  private var bytes: [UInt8] = []
  private var consumed = 0

  package init() {}

  package mutating func append(_ part: some Collection<UInt8>) {
    if consumed > 0, consumed == bytes.count || consumed > 1 << 16 {
      bytes.removeFirst(consumed)
      consumed = 0
    }
    bytes.append(contentsOf: part)
  }

  /// The next whole frame's JSON, or nil until more has arrived.
  package mutating func next() throws(FrameCodec.Violation) -> ArraySlice<UInt8>? {
    guard bytes.count - consumed >= 4 else { return nil }
    let length = bytes[consumed..<consumed + 4].reduce(0) { $0 << 8 | Int($1) }
    guard length <= FrameCodec.maxPayload else { throw .tooLong(length) }
    guard length > 0 else { throw .empty }
    guard bytes.count - consumed - 4 >= length else { return nil }
    defer { consumed += 4 + length }
    return bytes[consumed + 4..<consumed + 4 + length]
  }
}

extension DecodingError {
  /// Where the message isn't what it should be, without its content: that is the sender's.
  fileprivate var place: String {
    let context: Context =
      switch self {
      case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
        .dataCorrupted(let context):
        context
      @unknown default: Context(codingPath: [], debugDescription: "")
      }
    let path = context.codingPath.prefix(8).map(\.stringValue.prefixOfName).joined(separator: ".")
    return path.isEmpty ? FrameCodec.noMessage : "at \(path)"
  }
}

extension String {
  fileprivate var prefixOfName: String { String(unicodeScalars.prefix(40).filter { $0.isASCII && $0.value > 0x20 }) }
}
