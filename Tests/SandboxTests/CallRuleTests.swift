import Basics
import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// Makes rules, and calls that are near them.
enum RandomCallRules {
  /// OUTRIDER_SEED repeats one.
  static let seed =
    ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)

  static func rule(_ random: inout SeededGenerator) -> CallRule? {
    let call = CallParameter.calls[random.below(CallParameter.calls.count)]
    guard
      let (place, parameter) = CallParameter.all(of: call)?.sorted(by: { $0.key < $1.key }).randomElement(
        using: &random)
    else { return nil }
    let bits = parameter.bits
    var mask: UInt64? = random.next() & random.next() & bits
    if case .number = parameter.kind, random.chance(2) { mask = nil }
    let values = (0...random.below(4)).map { _ in
      (random.chance(2) ? random.next() : UInt64(random.below(64))) & (mask ?? bits)
    }
    return try? CallRule(
      random.chance(3) ? .kill : .deny, call, argument: place, mask: mask, equals: Array(Set(values)))
  }

  /// Arguments of a call: half of them meet the rule, as far as the low bits go.
  static func arguments(near rule: CallRule, _ random: inout SeededGenerator) -> [UInt64] {
    var arguments = (0..<6).map { _ in random.chance(2) ? random.next() : UInt64(random.below(64)) }
    if random.chance(2) {
      let value = rule.values[random.below(rule.values.count)]
      arguments[rule.argument] = value | arguments[rule.argument] & ~rule.mask
    } else if random.chance(3) {
      arguments[rule.argument] = rule.values[random.below(rule.values.count)] ^ 1 << UInt64(random.below(64))
    }
    return arguments
  }

  /// What the kernel makes of a register, by the types that its own declarations have: independent of how a rule is kept.
  static func isMet(_ rule: CallRule, _ arguments: [UInt64]) -> Bool {
    switch CallParameter.all(of: rule.call)?[rule.argument]?.kind {
    case .number(bits: 32):
      let read = UInt32(truncatingIfNeeded: arguments[rule.argument])
      return rule.values.contains { read & UInt32(rule.mask) == UInt32($0) }
    case .number, .flags:
      let register = arguments[rule.argument]
      // Bit by bit.
      func bit(_ word: UInt64, _ place: UInt64) -> Bool { word / (1 << place) % 2 == 1 }
      let places = (0..<64 as Range<UInt64>).filter { bit(rule.mask, $0) }
      return rule.values.contains { value in places.allSatisfy { bit(register, $0) == bit(value, $0) } }
    default: return false
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct CallRuleTests {
  private func rejection(
    _ call: String, _ argument: Int, mask: UInt64? = nil, _ values: [UInt64]
  ) -> CallRule.Rejection? {
    do throws(CallRule.Rejection) {
      _ = try CallRule(.deny, call, argument: argument, mask: mask, equals: values)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "what a rule can't be about is refused, and the sentence says why",
    arguments: [
      ("frob", 0, nil, [1], "isn't a system call"), ("prctl", 6, nil, [1], "arguments 0 to 5"),
      ("prctl", -1, nil, [1], "arguments 0 to 5"), ("prctl", 1, nil, [1], "no values that tell"),
      ("fcntl", 2, nil, [1], "no values that tell"), ("openat", 1, nil, [1], "is a pointer"),
      ("mmap", 0, nil, [0], "is a pointer"), ("execve", 0, nil, [0], "there are no rules about it"),
      ("read", 0, nil, [0], "the runner makes it"), ("sendmsg", 2, nil, [0], "the runner makes it"),
      ("futex", 1, nil, [0], "the runner makes it"), ("exit_group", 0, nil, [0], "the runner makes it"),
      ("nanosleep", 0, nil, [0], "aren't values"), ("mmap", 2, nil, [4], "set of bits"),
      ("clone", 0, nil, [0], "set of bits"), ("openat", 2, nil, [0], "set of bits"),
      ("socket", 1, nil, [1], "set of bits"),
      ("prctl", 0, 0, [0], "looks at nothing"), ("prctl", 0, 1 << 32, [0], "doesn't read 0x100000000"),
      ("clone", 0, 1 << 40, [0], "doesn't read"), ("mmap", 2, 0xc, [4], "doesn't read 0x8"),
      ("mmap", 3, 0x20000, [0], "doesn't read"), ("prctl", 0, nil, [], "1 to 16"),
      ("prctl", 0, nil, Array(0...16), "1 to 16"), ("prctl", 0, nil, [1 << 32 | 15], "no call would meet it"),
      ("prctl", 0, 0x3, [4], "no call would meet it"), ("prctl", 0, nil, [1, 2, 1], "twice"),
      ("prctl", 0, nil, [.max, 0xffff_ffff], "-1 is listed twice"),
      ("prctl", 0, nil, [0xffff_ffff_0000_000f], "no call would meet it"),
    ] as [(String, Int, UInt64?, [UInt64], String)])
  func refuses(_ call: String, _ argument: Int, _ mask: UInt64?, _ values: [UInt64], _ sentence: String) throws {
    let error = try #require(rejection(call, argument, mask: mask, values))
    #expect(error.description.contains(sentence), "\(error)")
    #expect(error.description.count < 400)
  }

  /// The kernel reads an int, an unsigned int, or some bits of a long: nothing beside those gets a call past a rule.
  @Test(
    "bits that the kernel doesn't read change nothing",
    arguments: [
      ("prctl", 0, nil, 15), ("madvise", 2, nil, 21), ("fcntl", 1, nil, 1033), ("ioctl", 1, nil, 0x5412),
      ("kill", 1, nil, 9), ("tgkill", 2, nil, 6), ("socket", 0, nil, 2), ("personality", 0, nil, 0x40000),
      ("clone", 0, 0x100, 0), ("clone", 0, 0xff, 17), ("mmap", 2, 0x4, 0x4), ("mmap", 3, 0x20, 0x20),
      ("mprotect", 2, 4, 4),
      ("openat", 2, 0o100, 0o100), ("chmod", 1, 0o111, 0o111), ("setpriority", 1, nil, 0xffff_ffff),
    ] as [(String, Int, UInt64?, UInt64)])
  func highBits(_ call: String, _ argument: Int, _ mask: UInt64?, _ value: UInt64) throws {
    for action in [Policy.DeniedAction.deny, .kill] {
      let rule = try CallRule(action, call, argument: argument, mask: mask, equals: [value])
      var options = SeccompProgram.Options()
      options.rules = [rule]
      let machine = FilterMachine(try SeccompProgram(options).bytes)
      let number = UInt32(try #require(SystemCalls.number(of: call)))
      for bit in 0..<64 {
        var arguments = Array(repeating: UInt64.max, count: 6)
        arguments[argument] = value ^ 1 << UInt64(bit)
        // As wide as the kernel's declaration of it: none of these has more than 32 bits.
        let isRead = bit < 32 && (mask.map { $0 >> UInt64(bit) & 1 == 1 } ?? true)
        #expect(rule.isMet(by: arguments) == !isRead, "\(call) bit \(bit)")
        let verdict = machine.run(.init(number: number, arguments: arguments))
        if !isRead { #expect(verdict == .notify, "\(call) bit \(bit)") }
      }
    }
  }

  @Test("all bits of a long count") func longs() throws {
    let rule = try CallRule(.deny, "mremap", argument: 3, equals: [1, 1 << 40])
    for (value, isMet) in [(1, true), (1 << 40, true), (1 << 40 | 1, false), (0, false)] as [(UInt64, Bool)] {
      #expect(rule.isMet(by: [0, 0, 0, value]) == isMet)
    }
  }

  @Test(
    "the filter hands over what meets a rule, and treats all else as without it",
    arguments: [RandomCallRules.seed])
  func filter(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<30 {
      let rules = Set((0..<1 + random.below(12)).compactMap { _ in RandomCallRules.rule(&random) })
      var options = SeccompProgramTests.everyOption[random.below(SeccompProgramTests.everyOption.count)]
      options.hasListener = !random.chance(4)
      let before = FilterMachine(try SeccompProgram(options).bytes)
      options.rules = rules
      let machine = FilterMachine(try SeccompProgram(options).bytes)
      for rule in rules {
        let number = UInt32(try #require(SystemCalls.number(of: rule.call)))
        for _ in 0..<200 {
          let arguments = RandomCallRules.arguments(near: rule, &random)
          let met = rules.filter { $0.call == rule.call && RandomCallRules.isMet($0, arguments) }
          let call = FilterMachine.Call(number: number, arguments: arguments)
          let wanted: FilterMachine.Verdict =
            if met.isEmpty {
              before.run(call)
            } else if options.hasListener {
              .notify
            } else if met.contains(where: { $0.action == .kill }) {
              .killProcess
            } else {
              .errno(UInt16(SystemCalls.denial(of: rule.call)))
            }
          #expect(machine.run(call) == wanted, "\(arguments) of \(rules.sorted().map(\.text))")
          #expect(rule.isMet(by: arguments) == RandomCallRules.isMet(rule, arguments))
          for architecture in [0x4000_0003, 0, ~FilterMachine.native] as [UInt32] {
            let foreign = FilterMachine.Call(number: number, architecture: architecture, arguments: arguments)
            #expect(machine.run(foreign) == (options.hasListener ? .notify : .killProcess))
          }
        }
      }
      for number in 0...UInt32(600) {
        let isRuled = rules.contains { SystemCalls.number(of: $0.call) == Int32(number) }
        if !isRuled { #expect(machine.run(.init(number: number)) == before.run(.init(number: number)), "\(number)") }
      }
    }
  }

  @Test("as many rules as there may be make a filter that the kernel takes") func most() throws {
    var rules: Set<CallRule> = []
    for index in 0..<CallRule.maxRules {
      let first = UInt64(index) << 40
      // The longest form of each.
      let call = ["mremap", "unshare", "ptrace", "perf_event_open"][index % 4]
      let argument = ["mremap": 3, "perf_event_open": 4][call] ?? 0
      rules.insert(try CallRule(.deny, call, argument: argument, equals: [first, first + 1, first + 2, first + 3]))
    }
    var policy = Policy()
    policy.systemCalls.rules = rules
    #expect(rules.count == CallRule.maxRules && policy.callRulesRejectionReason == nil)
    for options in SeccompProgramTests.everyOption {
      var options = options
      options.rules = rules
      options.connects = true
      let machine = FilterMachine(try SeccompProgram(options).bytes)
      #expect(machine.count <= 4096)
      let number = UInt32(try #require(SystemCalls.number(of: "mremap")))
      #expect(machine.run(.init(number: number, arguments: [0, 0, 0, 60 << 40])) == .notify)
      #expect(machine.run(.init(number: number, arguments: [0, 0, 0, 1])) == .notify)
      #expect(machine.run(.init(number: number, arguments: [0, 0, 0, 5])) == .allow)
    }
    policy.systemCalls.rules.insert(try CallRule(.deny, "prctl", argument: 0, equals: [1]))
    #expect(policy.callRulesRejectionReason?.contains("at most 64 rules") == true)
  }

  @Test("what ends the run goes before what is denied") func precedence() throws {
    var policy = Policy()
    policy.systemCalls.rules = [
      try CallRule(.deny, "prctl", argument: 0, equals: [15, 16]),
      try CallRule(.kill, "prctl", argument: 0, mask: 1, equals: [1]),
    ]
    #expect(policy.rule(for: "prctl", [15])?.action == .kill && policy.rule(for: "prctl", [16])?.action == .deny)
    #expect(policy.rule(for: "prctl", [14]) == nil && policy.rule(for: "kill", [15]) == nil)
  }

  @Test("a rule that covers another is met by whatever meets that one", arguments: [RandomCallRules.seed])
  func covers(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func rule() throws -> CallRule {
      let mask = UInt64(random.below(15) + 1)
      return try CallRule(
        .deny, "prctl", argument: 0, mask: mask,
        equals: Array(Set((0..<3).map { _ in UInt64(random.below(16)) & mask })))
    }
    for _ in 0..<2000 {
      let (wide, narrow) = (try rule(), try rule())
      for atom in narrow.atoms {
        let met = (0..<16 as Range<UInt64>).filter { $0 & atom.mask == atom.value }
        let allMet = met.allSatisfy { wide.isMet(by: [$0]) }
        if wide.covers(atom) { #expect(allMet) }
        // The other way round where one of its values alone does it.
        if allMet, wide.values.count == 1 { #expect(wide.covers(atom)) }
      }
    }
  }

  @Test("what a policy writes of a rule is that rule", arguments: [RandomCallRules.seed]) func texts(seed: UInt64)
    throws
  {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      guard let rule = RandomCallRules.rule(&random) else { continue }
      let policy = try Policy(parsing: "version: 2\n\(rule.policyLine)", file: "p")
      #expect(policy.systemCalls.rules == [rule], "\(rule.policyLine)")
    }
  }

  @Test("every call of the table is one of this machine's, and none hands over the listener") func table() {
    for call in CallParameter.calls {
      #if arch(x86_64)
        #expect(SystemCalls.isKnown(call), "\(call)")
      #endif
      #expect((CallParameter.all(of: call) ?? [:]).keys.allSatisfy { (0...5).contains($0) })
    }
    // Between its filter and the host's having the listener, a runner would wait for ever.
    let own = [
      "sendmsg", "close", "brk", "exit_group", "futex", "read", "write", "recvmsg", "poll", "ppoll", "rt_sigreturn",
    ]
    #expect(Set(own).isDisjoint(with: CallParameter.calls))
  }

  @Test("docs/policies.md has the arguments that there are rules about") func documentation() throws {
    let text = try Documents.text("docs/policies.md")
    for call in CallParameter.calls {
      let row = "| `\(call)` | \(CallParameter.summary(of: call)) |"
      #expect(text.contains(row), "docs/policies.md has to say: \(row)")
    }
  }

  @Test(
    "what would be denied anyway has no line whose removal would allow it",
    arguments: [
      ("deny: [fileChanges]", "mkdir", "systemCalls: {deny: [mkdir]}"),
      ("kill: [clone]", "clone", "systemCalls: {kill: [clone]}"),
      ("deny: [fileChanges]", "chown", nil), ("deny: [sockets]", "socket", nil), ("kill: [ptrace]", "ptrace", nil),
      ("kill: [newThreads]", "clone3", "systemCalls: {kill: [clone3]}"),
      ("kill: [clone3]", "clone3", "systemCalls: {kill: [clone3]}"), ("deny: [newThreads]", "clone3", nil),
      ("deny: [mkdir]", "rmdir", nil), ("kill: [mmap]", "mmap", nil),
    ] as [(String, String, String?)])
  func refusals(_ text: String, _ call: String, _ line: String?) throws {
    let policy = try Policy(parsing: "version: 2\nsystemCalls: {\(text)}", file: "p")
    #expect(policy.lineRefusing(call) == line)
  }

  @Test("a process that is denied anyway has no line about threads whose removal would allow it") func processes()
    throws
  {
    let policy = try Policy(parsing: "version: 2\nsystemCalls: {deny: [newThreads]}", file: "p")
    #expect(policy.lineRefusing("clone", first: 0x3d0f00) == "systemCalls: {deny: [clone]}")
    for flags in [0x1200011, 0x4111, 0, 0x2000_0011] as [UInt64] {
      #expect(policy.lineRefusing("clone", first: flags) == nil, "\(flags)")
    }
    #expect(policy.lineRefusing("mkdir", first: 0) == nil)
  }

  @Test(
    "what ends the run for fork does so for the clone that takes its place, and for no thread",
    arguments: [
      ("kill: [programs]", true, true, false), ("kill: [fork]", true, false, false),
      ("kill: [vfork]", false, true, false), ("kill: [execve]", false, false, false),
      ("kill: [newThreads]", true, true, true), ("deny: [programs]", false, false, false),
    ] as [(String, Bool, Bool, Bool)])
  func ends(text: String, fork: Bool, spawn: Bool, thread: Bool) throws {
    let policy = try Policy(parsing: "version: 2\nsystemCalls: {\(text)}", file: "p")
    #expect(policy.ends("clone", first: 0x1200011) == fork && policy.ends("clone", first: 0x4111) == spawn)
    #expect(policy.ends("clone", first: 0x3d0f00) == thread)
    #expect(!policy.ends("clone3", first: 0) || thread, "its flags lie in memory")
  }

  @Test("the rules in docs/policies.md are some") func example() throws {
    let example = try PolicyFile(parsing: Documents.block("yaml", containing: "PR_SET_NAME"), file: "example") {
      (_) throws(PolicyFile.Unreadable) in throw PolicyFile.Unreadable(reason: "")
    }
    #expect(example.policy.systemCalls.rules.count == 4 && example.warnings.isEmpty, "\(example.warnings)")
  }
}
