/// Runs a seccomp program as the kernel does (Linux, Documentation/networking/filter): classic BPF over `seccomp_data`.
struct FilterMachine {
  struct Call {
    var number: UInt32
    var architecture: UInt32 = FilterMachine.native
    var arguments: [UInt64] = []
  }

  enum Verdict: Equatable {
    case allow, notify, killProcess
    case errno(UInt16)
    case other(UInt32)
    /// The program isn't one that the kernel would take.
    case invalid
  }

  #if arch(x86_64)
    static let native: UInt32 = 0xc000_003e
  #else
    static let native: UInt32 = 0xc000_00b7
  #endif

  private struct Instruction {
    var code: UInt16
    var whenTrue, whenFalse: Int
    var operand: UInt32
  }

  private let program: [Instruction]

  init(_ bytes: [UInt8]) {
    func word(_ offset: Int, _ width: Int) -> UInt32 {
      (0..<width).reduce(0) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
    }
    program = stride(from: 0, to: bytes.count - 7, by: 8).map {
      Instruction(
        code: UInt16(word($0, 2)), whenTrue: Int(bytes[$0 + 2]), whenFalse: Int(bytes[$0 + 3]), operand: word($0 + 4, 4)
      )
    }
  }

  var count: Int { program.count }

  func run(_ call: Call) -> Verdict {
    var accumulator: UInt32 = 0
    var counter = 0
    // Jumps go forward only, so a program ends.
    while program.indices.contains(counter) {
      let step = program[counter]
      counter += 1
      switch step.code {
      case 0x20:
        guard let value = Self.load(step.operand, of: call) else { return .invalid }
        accumulator = value
      case 0x54: accumulator &= step.operand
      case 0x05: counter += Int(step.operand)
      case 0x15: counter += accumulator == step.operand ? step.whenTrue : step.whenFalse
      case 0x25: counter += accumulator > step.operand ? step.whenTrue : step.whenFalse
      case 0x35: counter += accumulator >= step.operand ? step.whenTrue : step.whenFalse
      case 0x45: counter += accumulator & step.operand != 0 ? step.whenTrue : step.whenFalse
      case 0x06: return Self.verdict(step.operand)
      default: return .invalid
      }
    }
    return .invalid
  }

  /// A word of `seccomp_data`: number, architecture, instruction pointer, six arguments.
  private static func load(_ offset: UInt32, of call: Call) -> UInt32? {
    guard offset % 4 == 0, offset < 64 else { return nil }
    switch offset {
    case 0: return call.number
    case 4: return call.architecture
    case 8, 12: return 0
    default:
      let index = Int(offset - 16) / 8
      let value = index < call.arguments.count ? call.arguments[index] : 0
      return UInt32(truncatingIfNeeded: offset % 8 == 0 ? value : value >> 32)
    }
  }

  private static func verdict(_ value: UInt32) -> Verdict {
    switch value & 0xffff_0000 {
    case 0x7fff_0000: .allow
    case 0x7fc0_0000: .notify
    case 0x8000_0000: .killProcess
    case 0x0005_0000: .errno(UInt16(value & 0xffff))
    default: .other(value)
    }
  }
}
