internal import Foundation

/// Frames on the service's socket: four bytes of length (big-endian), then that much JSON.
///
/// Pure: bytes in, values out. A frame that is longer than it may be is refused by its first four bytes.
public enum FrameCodec {
  /// Bytes of JSON in one frame.
  public static let maxPayload = 1 << 20

  public enum Violation: Error, Sendable, Equatable, CustomStringConvertible {
    case tooLong(Int)
    case empty
    case malformed(String)

    public var description: String {
      switch self {
      case .tooLong(let count): "a frame has \(count) bytes; at most \(FrameCodec.maxPayload) are allowed"
      case .empty: "a frame has no content"
      case .malformed(let why): "a frame isn't a message: \(why)"
      }
    }
  }

  /// One frame. A message that is longer than a frame may be throws `tooLong`: whoever sends lists sends them in parts.
  public static func encode(_ message: some Encodable) throws(Violation) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    let json: Data
    do { json = try encoder.encode(message) } catch { throw .malformed("\(error)") }
    guard json.count <= maxPayload else { throw .tooLong(json.count) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(json.count + 4)
    withUnsafeBytes(of: UInt32(json.count).bigEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: json)
    return bytes
  }

  public static func decode<Message: Decodable>(
    _ type: Message.Type, from payload: some Sequence<UInt8>
  ) throws(Violation) -> Message {
    do { return try JSONDecoder().decode(type, from: Data(payload)) } catch let error as DecodingError {
      throw .malformed(error.place)
    } catch {
      throw .malformed("it isn't JSON")
    }
  }
}

/// Puts frames together from the parts in which they arrive.
public struct FrameAssembler: Sendable {
  private var bytes: [UInt8] = []
  private var consumed = 0

  public init() {}

  public mutating func append(_ part: some Collection<UInt8>) {
    if consumed > 0, consumed == bytes.count || consumed > 1 << 16 {
      bytes.removeFirst(consumed)
      consumed = 0
    }
    bytes.append(contentsOf: part)
  }

  /// The next whole frame's JSON, or nil until more has arrived.
  public mutating func next() throws(FrameCodec.Violation) -> ArraySlice<UInt8>? {
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
    return path.isEmpty ? "it isn't JSON, or has no known name" : "at \(path)"
  }
}

extension String {
  fileprivate var prefixOfName: String { String(unicodeScalars.prefix(40).filter { $0.isASCII && $0.value > 0x20 }) }
}
