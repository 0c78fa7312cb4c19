/// One instruction of a filter (bpf(2), `struct sock_filter`), of the few kinds that filters here are made of. The accumulator holds one
/// word at a time.
struct FilterInstruction: Hashable {
  enum Code: UInt16 {
    /// A word of `seccomp_data`, by its offset.
    case load = 0x20
    case and = 0x54
    case jump = 0x05
    case jumpIfEqual = 0x15
    case jumpIfGreater = 0x25
    case jumpIfAtLeast = 0x35
    case jumpIfAnyBit = 0x45
    case end = 0x06
  }

  var code: Code
  var operand: UInt32
  /// Instructions that are left out then.
  var whenTrue: UInt8 = 0
  var whenFalse: UInt8 = 0

  init(_ code: Code, _ operand: UInt32, whenTrue: UInt8 = 0, whenFalse: UInt8 = 0) {
    self.code = code
    self.operand = operand
    self.whenTrue = whenTrue
    self.whenFalse = whenFalse
  }

  /// nil for another kind.
  init?(_ bytes: some RandomAccessCollection<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.size, let code = Code(rawValue: UInt16(bytes[0]) | UInt16(bytes[1]) << 8) else {
      return nil
    }
    self.init(
      code, bytes[4...].reversed().reduce(0) { $0 << 8 | UInt32($1) }, whenTrue: bytes[2], whenFalse: bytes[3])
  }

  static let size = 8

  /// As a little-endian machine has it.
  var bytes: [UInt8] {
    [UInt8(code.rawValue & 0xff), UInt8(code.rawValue >> 8), whenTrue, whenFalse]
      + (0..<4).map { UInt8(truncatingIfNeeded: operand >> (8 * UInt32($0))) }
  }
}
