import StrictYAML
import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct CallRuleFileTests {
  private func read(_ text: String, _ parent: String? = nil) throws(YAMLFileError) -> PolicyFile {
    try PolicyFile(
      parsing: "version: 2\n" + (parent == nil ? "" : "extends: ./p.yaml\n") + text, file: "main.yaml"
    ) { (_) throws(PolicyFile.Unreadable) in "version: 2\n" + (parent ?? "") }
  }

  private func failure(_ text: String) -> YAMLFileError? {
    do throws(YAMLFileError) {
      _ = try read(text)
      return nil
    } catch {
      return error
    }
  }

  @Test("rules stand beside names, in blocks and on one line") func reads() throws {
    let file = try read(
      """
      systemCalls:
        deny:
          - mkdir
          - {call: prctl, argument: 0, equals: 15}
          - call: madvise
            argument: 2
            equals: [8, 0x15, 0o20]
          - {call: mmap, argument: 2, mask: 0x4, equals: 4}
          - {call: setpriority, argument: 1, equals: [-1, "7"]}
        kill:
          - {call: clone, argument: 0, mask: 0x100, equals: 0}
          - {call: ptrace, argument: 0, equals: 0xffffffffffffffff}
      """)
    #expect(
      file.policy.systemCalls.rules.sorted().map(\.text) == [
        "{call: clone, argument: 0, mask: 0x100, equals: 0x0}", "{call: ptrace, argument: 0, equals: -1}",
        "{call: madvise, argument: 2, equals: [8, 16, 21]}", "{call: mmap, argument: 2, mask: 0x4, equals: 0x4}",
        "{call: prctl, argument: 0, equals: 15}", "{call: setpriority, argument: 1, equals: [7, -1]}",
      ])
    #expect(file.policy.systemCalls.refused == ["mkdir"] && file.policy.systemCalls.onDenied.isEmpty)
    #expect(file.warnings.isEmpty, "\(file.warnings)")
  }

  @Test("constants have their names, for the arguments that they are for") func constants() throws {
    let file = try read(
      """
      systemCalls:
        deny:
          - {call: prctl, argument: 0, equals: PR_SET_NAME}
          - {call: madvise, argument: 2, equals: [MADV_FREE, 21]}
          - {call: openat, argument: 2, mask: O_CREAT|O_EXCL, equals: O_CREAT}
          - {call: mmap, argument: 2, mask: PROT_WRITE | PROT_EXEC, equals: "PROT_WRITE|PROT_EXEC"}
          - {call: clone, argument: 0, mask: CLONE_VM, equals: 0}
      """)
    #expect(
      file.policy.systemCalls.rules.sorted().map(\.text) == [
        "{call: clone, argument: 0, mask: 0x100, equals: 0x0}", "{call: madvise, argument: 2, equals: [8, 21]}",
        "{call: mmap, argument: 2, mask: 0x6, equals: 0x6}", "{call: openat, argument: 2, mask: 0xc0, equals: 0x40}",
        "{call: prctl, argument: 0, equals: 15}",
      ])
  }

  @Test("each name is one that its argument can have, once") func everyConstant() throws {
    var count = 0
    for call in CallParameter.calls {
      for (argument, parameter) in CallParameter.all(of: call) ?? [:] {
        guard let constants = CallConstants.all(of: call, argument) else { continue }
        #expect(parameter.kind != .pointer && Set(constants.names).count == constants.names.count, "\(call)")
        for name in constants.names {
          let value = try #require(constants.value(of: name))
          // As a rule has it; a flag that the kernel gives a meaning.
          #expect(value & ~parameter.bits == 0, "\(call) \(argument) \(name) \(value)")
          count += 1
        }
      }
    }
    #expect(count > 300)
  }

  @Test(
    "what isn't a rule is refused where it stands",
    arguments: [
      ("{call: prctl, argument: 0}", 22, "needs 'call', 'argument' and 'equals'"), ("{}", 22, "needs 'call'"),
      ("{call: prctl, argument: 0, equal: 15}", 49, "call, argument, mask, equals"),
      ("{call: prctl, call: kill, argument: 0, equals: 1}", 23, "twice"),
      ("{call: frob, argument: 0, equals: 1}", 29, "isn't a system call"),
      ("{call: sockets, argument: 0, equals: 1}", 29, "isn't a system call"),
      ("{call: [prctl], argument: 0, equals: 1}", 29, "single value"),
      ("{call: read, argument: 0, equals: 1}", 29, "the runner makes it"),
      ("{call: prctl, argument: 6, equals: 1}", 46, "from 0 to 5"),
      ("{call: prctl, argument: -1, equals: 1}", 46, "from 0 to 5"),
      ("{call: prctl, argument: 00, equals: 1}", 46, "from 0 to 5"),
      ("{call: prctl, argument: option, equals: 1}", 46, "from 0 to 5"),
      ("{call: openat, argument: 1, equals: 1}", 47, "is a pointer"),
      ("{call: prctl, argument: 0, equals: []}", 57, "1 to 16"),
      ("{call: prctl, argument: 0, equals: {a: 1}}", 57, "list"),
      ("{call: prctl, argument: 0, equals: [[1]]}", 58, "single value"),
      ("{call: prctl, argument: 0, equals: PR_SET_NAM}", 57, "PR_SET_NAME, "),
      ("{call: prctl, argument: 0, equals: PR_SET_NAME|}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: O_CREAT}", 57, "whole number"),
      ("{call: mkdir, argument: 1, mask: S_ISUID, equals: 0}", 55, "S_ISVTX, S_IRWXU"),
      ("{call: prctl, argument: 0, equals: PR_SET_NAME|1}", 57, "whole number"),
      ("{call: bpf, argument: 0, equals: PR_SET_NAME}", 55, "whole number"),
      ("{call: prctl, argument: 0, equals: 017}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: 1.0}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: +1}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: 0x-1}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: 0x}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: ''}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: 18446744073709551616}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: -9223372036854775809}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: 0x10000000000000000}", 57, "whole number"),
      ("{call: prctl, argument: 0, equals: [1, 0x10000000f]}", 61, "no call would meet it"),
      ("{call: prctl, argument: 0, equals: [1, 0x1]}", 61, "twice"),
      ("{call: prctl, argument: 0, mask: 0, equals: 0}", 55, "looks at nothing"),
      ("{call: prctl, argument: 0, mask: 0x1ffffffff, equals: 0}", 55, "doesn't read"),
      ("{call: mmap, argument: 2, equals: 4}", 45, "set of bits"),
      ("!x {call: prctl, argument: 0, equals: 1}", 22, "map"),
      ("{call: prctl, argument: 0, equals: 1}, {call: prctl, argument: 0, equals: [2, 1]}", 61, "already"),
    ] as [(String, Int, String)])
  func refuses(_ rule: String, _ column: Int, _ sentence: String) throws {
    let error = try #require(failure("systemCalls: {deny: [\(rule)]}"))
    #expect(error.line == 2 && error.column == column, "\(error)")
    #expect(error.message.contains(sentence), "\(error)")
  }

  @Test("the same under deny and under kill is a contradiction, however it is written") func contradictions() throws {
    let error = try #require(
      failure(
        """
        systemCalls:
          deny: [{call: prctl, argument: 0, equals: [8, 15]}]
          kill: [{call: prctl, argument: 0, mask: 0xffffffff, equals: 0xf}]
        """))
    #expect(error.line == 4 && error.column == 10 && error.message.contains("under deny and under kill"), "\(error)")
  }

  @Test(
    "a rule that changes nothing is a warning where it stands",
    arguments: [
      ("deny: [mkdir, {call: mkdir, argument: 1, mask: 1, equals: 1}]", 29, "mkdir is denied anyway"),
      ("deny: [{call: mkdir, argument: 1, mask: 1, equals: 1}, fileChanges]", 22, "mkdir is denied anyway"),
      ("deny: [{call: ptrace, argument: 0, equals: 0}]", 22, "ptrace is denied anyway"),
      ("deny: [{call: socket, argument: 0, equals: 1}]", 22, "socket is denied anyway"),
      ("kill: [ptrace, {call: ptrace, argument: 0, equals: 0}]", 30, "ptrace ends the run anyway"),
      ("kill: [mkdir], deny: [{call: mkdir, argument: 1, mask: 1, equals: 1}]", 37, "mkdir ends the run anyway"),
      (
        "deny: [{call: prctl, argument: 0, mask: 1, equals: 1}, {call: prctl, argument: 0, equals: 15}]", 70,
        "decides about that already"
      ),
      ("kill: [mmap], deny: [{call: mmap, argument: 2, mask: 4, equals: 4}]", 36, "ends the run, too"),
    ] as [(String, Int, String)])
  func warns(_ text: String, _ column: Int, _ sentence: String) throws {
    let file = try read("systemCalls: {\(text)}")
    let warning = try #require(file.warnings.first)
    #expect(file.warnings.count == 1 && warning.line == 2 && warning.column == column, "\(file.warnings)")
    #expect(warning.message.contains(sentence), "\(warning)")
  }

  @Test("where hosts may be connected to, rules about sockets are meant") func sockets() throws {
    let text = "systemCalls: {deny: [{call: socket, argument: 0, equals: 10}]}\nnetwork: [\"a.example:1\"]"
    #expect(try read(text).warnings.isEmpty)
  }

  @Test("rules add to those of what is extended, and none of them is lost") func parents() throws {
    let parent =
      "systemCalls: {deny: [{call: prctl, argument: 0, equals: [15, 16]}], kill: [{call: kill, argument: 1, equals: 9}]}"
    let child = try read("systemCalls: {kill: [{call: prctl, argument: 0, equals: 15}]}", parent)
    #expect(child.policy.systemCalls.rules.count == 3 && child.warnings.isEmpty, "\(child.warnings)")
    #expect(child.policy.rule(for: "prctl", [15])?.action == .kill)
    #expect(child.policy.rule(for: "prctl", [16])?.action == .deny)
    for (text, sentence) in [
      ("deny: [{call: prctl, argument: 0, equals: [15, 16]}]", "what it extends has it already"),
      ("deny: [{call: prctl, argument: 0, equals: 15}]", "decides about that already"),
      ("deny: [{call: kill, argument: 1, equals: 9}]", "under kill decides about that already"),
    ] {
      let file = try read("systemCalls: {\(text)}", parent)
      #expect(file.warnings.map(\.line) == [3] && file.warnings[0].message.contains(sentence), "\(file.warnings)")
      #expect(file.policy.rule(for: "kill", [0, 9])?.action == .kill)
    }
  }

  @Test("more rules than a filter has room for are refused, also with those that are extended") func bounds() throws {
    func rules(_ range: Range<Int>, values: Int = 1) -> String {
      let items = range.map { index in
        let equals = (0..<values).map { "\(index * values + $0)" }.joined(separator: ",")
        return "{call: prctl, argument: 0, equals: [\(equals)]}"
      }
      return "systemCalls: {deny: [\(items.joined(separator: ","))]}"
    }
    #expect(try read(rules(0..<64)).policy.systemCalls.rules.count == 64)
    #expect(try read(rules(0..<16, values: 16)).policy.systemCalls.rules.count == 16)
    for text in [rules(0..<65), rules(0..<17, values: 16), rules(0..<4000)] {
      #expect(try #require(failure(text)).message.contains("at most 64 rules"))
    }
    #expect(throws: YAMLFileError.self) { try read(rules(0..<1), rules(1..<65)) }
    let values = (0..<50_000).map(String.init).joined(separator: ",")
    let many = failure("systemCalls: {deny: [{call: prctl, argument: 0, equals: [\(values)]}]}")
    #expect(try #require(many).message.contains("1 to 16"))
    let deep = String(repeating: "{call: ", count: 10_000)
    #expect(failure("systemCalls: {deny: [\(deep)") != nil)
    #expect(
      try #require(failure("systemCalls: {deny: [{call: \"a\\u001b[2Jb\", argument: 0, equals: 1}]}")).message
        .unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }

  @Test("a name that can't be denied leads to rules where there are some") func hint() throws {
    #expect(try #require(failure("systemCalls: {deny: [prctl]}")).message.contains("a rule about an argument"))
    #expect(!(try #require(failure("systemCalls: {deny: [read]}")).message.contains("a rule about an argument")))
  }
}
