internal import CSeccomp
internal import Glibc

/// The part of a filter that decides about the rules of a policy, before anything else of it: libseccomp takes no rule with arguments
/// beside one without for the same call. It ends the filter for a call that meets a rule and leaves all others to what follows, so it
/// can't let anything through. For calls that no rule is about it looks at their number alone, and the kernel knows in advance
/// what becomes of those.
struct CallRuleProgram {
  /// Instructions of 8 bytes each (bpf(2), `struct sock_filter`); empty where there are no rules.
  private(set) var bytes: [UInt8] = []
  private var count: Int { bytes.count / FilterInstruction.size }

  /// `hasListener`: the host answers. Otherwise the filter itself denies, and ends the process.
  init(_ rules: Set<CallRule>, hasListener: Bool) {
    guard !rules.isEmpty else { return }
    var blocks: [UInt8] = []
    for (call, rules) in Dictionary(grouping: rules, by: \.call).sorted(by: { $0.key < $1.key }) {
      guard let number = SystemCalls.number(of: call) else { continue }
      var block = CallRuleProgram()
      // Those that end the run come first.
      for rule in rules.sorted() { block.add(rule, hasListener: hasListener) }
      // Jumps that depend on something reach no further than 255.
      var program = CallRuleProgram()
      program.add(.jumpIfEqual, UInt32(number), whenTrue: 1)
      program.add(.jump, UInt32(block.count + 1))
      program.bytes += block.bytes
      // It had its number in the accumulator; what follows loads its own.
      program.add(.load, 0)
      blocks += program.bytes
    }
    // `seccomp_data` begins with the number and the architecture, without which the number means nothing.
    add(.load, 4)
    add(.jumpIfEqual, CallArchitecture.native, whenTrue: 1)
    add(.jump, UInt32(blocks.count / FilterInstruction.size + 1))
    add(.load, 0)
    bytes += blocks
  }

  private init() {}

  /// Answers -1 as the kernel does, which is no call. Notified, it could reach the plugin as the kernel's own ERESTARTSYS (512) where
  /// a signal comes before the host has seen it: the kernel begins anew what was interrupted, but only calls.
  static let answerToNoCall = {
    var program = CallRuleProgram()
    program.add(.load, 0)
    program.add(.jumpIfEqual, .max, whenFalse: 1)
    program.add(.end, ol_scmp_errno(UInt16(ENOSYS)))
    return program
  }()

  private mutating func add(_ rule: CallRule, hasListener: Bool) {
    let action: UInt32 =
      switch rule.action {
      case _ where hasListener: ol_scmp_notify
      case .deny: ol_scmp_errno(UInt16(SystemCalls.denial(of: rule.call)))
      case .kill: ol_scmp_kill_process
      }
    let low = UInt32(16 + 8 * rule.argument)
    let (lowMask, highMask) = (UInt32(truncatingIfNeeded: rule.mask), UInt32(truncatingIfNeeded: rule.mask >> 32))
    if highMask == 0 {
      add(.load, low)
      add(.and, lowMask)
      for value in rule.values {
        add(.jumpIfEqual, UInt32(truncatingIfNeeded: value), whenFalse: 1)
        add(.end, action)
      }
      return
    }
    for value in rule.values {
      add(.load, low)
      add(.and, lowMask)
      add(.jumpIfEqual, UInt32(truncatingIfNeeded: value), whenFalse: 4)
      add(.load, low + 4)
      add(.and, highMask)
      add(.jumpIfEqual, UInt32(truncatingIfNeeded: value >> 32), whenFalse: 1)
      add(.end, action)
    }
  }

  private mutating func add(
    _ code: FilterInstruction.Code, _ operand: UInt32, whenTrue: UInt8 = 0, whenFalse: UInt8 = 0
  ) {
    bytes += FilterInstruction(code, operand, whenTrue: whenTrue, whenFalse: whenFalse).bytes
  }
}
