internal import COutrider
internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Reads arguments as C writes them: lists may hold each other, and themselves.
struct Arguments {
  /// Structures and arrays in each other, as signatures have them at most.
  private static let maxDepth = 8
  /// Values of one call, those in lists among them.
  private static let maxCount = 1 << 20

  private var left = Self.maxCount

  /// nil: one of them is no value, or they are too many.
  mutating func read(_ values: UnsafePointer<outrider_value>?, _ count: Int, depth: Int = 0) -> [CallArgument]? {
    guard count != 0 else { return [] }
    guard let values, count > 0, count <= left, depth <= Self.maxDepth else { return nil }
    left -= count
    var arguments: [CallArgument] = []
    for value in UnsafeBufferPointer(start: values, count: count) {
      guard let argument = argument(value, depth) else { return nil }
      arguments.append(argument)
    }
    return arguments
  }

  private mutating func argument(_ value: outrider_value, _ depth: Int) -> CallArgument? {
    switch outrider_kind(rawValue: UInt32(bitPattern: value.kind)) {
    case OUTRIDER_NULL: .null
    case OUTRIDER_SIGNED: .integer(value.signed_value)
    case OUTRIDER_UNSIGNED: .unsigned(value.unsigned_value)
    case OUTRIDER_DOUBLE: .double(value.double_value)
    case OUTRIDER_TEXT, OUTRIDER_BYTES: Self.bytes(value).map { .bytes($0) }
    case OUTRIDER_HANDLE: .handle(PluginHandle(ofC: value.unsigned_value))
    // Its own plugin says whether it is that one's.
    case OUTRIDER_MEMORY: memories[value.memory].map { .memory($0.memory, offset: value.count) }
    case OUTRIDER_CALLBACK: callbacks[value.callback].map { .callback($0.callback) }
    case OUTRIDER_LIST: read(value.items, value.count, depth: depth + 1).map { .list($0) }
    default: nil
    }
  }

  private static func bytes(_ value: outrider_value) -> [UInt8]? {
    guard value.count != 0 else { return [] }
    guard let start = value.bytes, value.count > 0, value.count <= Limits.frameBytesRange.upperBound else { return nil }
    return [UInt8](UnsafeRawBufferPointer(start: start, count: value.count))
  }
}

/// C has one number for a handle, in which is whose it is: another plugin's has to be told from one's own.
extension PluginHandle {
  init(ofC number: UInt64) {
    self.init(plugin: number >> 32, number: number & UInt64(UInt32.max))
  }

  fileprivate var numberInC: UInt64 { plugin << 32 | number & UInt64(UInt32.max) }
}

/// What a call brought, in memory that C reads until it frees the reply.
///
/// @unchecked Sendable: what lies in the memory never changes.
final class Reply: @unchecked Sendable {
  private let values: Values

  init(_ result: CallResult) { values = Values([result.value] + result.outputs) }

  var value: outrider_value { values.start[0] }

  var outputs: UnsafeBufferPointer<outrider_value> {
    UnsafeBufferPointer(rebasing: UnsafeBufferPointer(start: values.start, count: values.count)[1...])
  }
}

/// Values as C reads them, for as long as this is there.
final class Values {
  private var memory: [UnsafeMutableRawPointer] = []
  let start: UnsafeMutablePointer<outrider_value>
  let count: Int

  init(_ values: [CallValue]) {
    count = values.count
    start = UnsafeMutablePointer<outrider_value>.allocate(capacity: max(count, 1))
    start.initialize(repeating: outrider_value(), count: max(count, 1))
    for (index, value) in values.enumerated() { start[index] = store(value) }
  }

  deinit {
    for pointer in memory { pointer.deallocate() }
    start.deallocate()
  }

  /// So many zero bytes to write to, in place of the value. NULL for none.
  func makeRoom(_ capacity: Int, at index: Int) {
    var value = outrider_value()
    value.kind = Int32(bitPattern: OUTRIDER_ROOM.rawValue)
    if capacity > 0 {
      let room = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
      room.initializeMemory(as: UInt8.self, repeating: 0, count: capacity)
      memory.append(room)
      value.room = room
    }
    value.count = capacity
    rooms[index] = value.room
    start[index] = value
  }

  private var rooms: [Int: UnsafeMutableRawPointer] = [:]

  /// Whether the room is still there: C may have put a value in its place.
  func hasRoom(at index: Int) -> Bool { start[index].kind == Int32(bitPattern: OUTRIDER_ROOM.rawValue) }

  /// What was written there, wherever C's value points by now; nil where C says that it is more than there was room for.
  func room(at index: Int, of capacity: Int) -> [UInt8]? {
    let count = start[index].count
    guard (0...capacity).contains(count) else { return nil }
    return Array(UnsafeRawBufferPointer(start: rooms[index], count: count))
  }

  private func store(_ value: CallValue) -> outrider_value {
    var stored = outrider_value()
    func set(_ kind: outrider_kind) { stored.kind = Int32(bitPattern: kind.rawValue) }
    switch value {
    case .void, .cstring(nil), .handle(nil): set(OUTRIDER_NULL)
    case .signed(let number):
      set(OUTRIDER_SIGNED)
      stored.signed_value = number
    case .unsigned(let number), .pointer(let number):
      set(OUTRIDER_UNSIGNED)
      stored.unsigned_value = number
    case .single(let number):
      set(OUTRIDER_DOUBLE)
      stored.double_value = Double(number)
    case .double(let number):
      set(OUTRIDER_DOUBLE)
      stored.double_value = number
    case .cstring(let bytes?):
      set(OUTRIDER_TEXT)
      if value.isCut { stored.reserved = Int32(bitPattern: OUTRIDER_CUT.rawValue) }
      (stored.bytes, stored.count) = (store(bytes), bytes.count)
    case .bytes(let bytes):
      set(OUTRIDER_BYTES)
      (stored.bytes, stored.count) = (store(bytes), bytes.count)
    case .handle(let handle?):
      set(OUTRIDER_HANDLE)
      stored.unsigned_value = handle.numberInC
    case .structure(let values), .array(let values):
      set(OUTRIDER_LIST)
      let items = UnsafeMutablePointer<outrider_value>.allocate(capacity: max(values.count, 1))
      memory.append(items)
      for (index, value) in values.enumerated() { (items + index).initialize(to: store(value)) }
      (stored.items, stored.count) = (UnsafePointer(items), values.count)
    }
    return stored
  }

  /// With a NUL behind it.
  private func store(_ bytes: [UInt8]) -> UnsafeRawPointer {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 1)
    memory.append(copy)
    bytes.withUnsafeBytes { copy.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(copy), byteCount: bytes.count) }
    copy.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    return UnsafeRawPointer(copy)
  }
}
