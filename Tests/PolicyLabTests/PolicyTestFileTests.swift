import Foundation
import HostProtocol
import PluginHost
import Sandbox
import StrictYAML
import TestSupport
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct PolicyTestFileTests {
  private static func parse(_ text: String) throws -> PolicyTests {
    try PolicyTests(parsing: text, file: "t.yaml") { path in
      guard path == "p.yaml" else { throw CocoaError(.fileNoSuchFile) }
      return try Policy(parsing: "version: 1\nlimits: {wall: 5s, memory: 2MiB}\n", file: path)
    }
  }

  @Test("limits of a test are set over those of its policy, whatever comes first") func overrides() throws {
    let tests = try Self.parse(
      """
      version: 1
      tests:
        - {call: a, limits: {wall: 1s}, expect: [no denials, deny /x]}
        - {name: two, call: b, signature: 'i32(i32)', arguments: [7], limits: {cpu: 1s}, policy: p.yaml}
      plugin: libz.so.1
      policy: p.yaml
      """)
    let (first, second) = (tests.tests[0], tests.tests[1])
    #expect(first.name == "a" && "\(first.steps[0].signature)" == "void()" && first.line == 3)
    #expect(
      first.expectations.map(\.text) == ["returned", "no denials", "deny /x"], "that it returns goes without saying")
    #expect(first.policy.observesFiles && !second.policy.observesFiles)
    #expect(second.policy.limits.wallTime == .seconds(5) && second.policy.limits.cpu == .seconds(1))
    #expect(second.policy.limits.memory == 2 << 20 && second.steps[0].arguments == ["7"])
  }

  @Test(
    "a policy that can't be read is told with the line that names it, and why",
    arguments: [
      ("plugin: x\npolicy: other.yaml\ntests: [{call: a}]", "t.yaml:2:9"),
      ("plugin: x\ntests:\n  - {call: a}\n  - call: b\n    policy: other.yaml\n", "t.yaml:5:13"),
    ])
  func unreadPolicy(text: String, place: String) {
    #expect {
      try Self.parse(text)
    } throws: { error in
      guard let error = error as? PolicyTests.UnreadPolicy else { return false }
      return error.place == place && error.reason is CocoaError
    }
  }

  @Test(
    "what is wrong is refused with file, line and column",
    arguments: [
      ("version: 1\nplugin: x\n", "needs 'plugin' and 'tests'"),
      ("version: 2\nplugin: x\ntests: [{call: a}]", "version 1"),
      ("plugin: x\ntests: []", "needs"), ("plugin: x\ntests: [{cal: a}]", "isn't a key"),
      ("plugin: x\ntests: [{name: a}]", "needs 'call'"),
      ("plugin: x\ntests: [{call: a, expect: [fine]}]", "isn't an expectation"),
      ("plugin: x\ntests: [{call: a, observe: maybe}]", "true or false"),
      ("plugin: x\ntests: [{call: a, limits: {wall: soon}}]", "limits.wall"), ("- 1", "is a map"), ("", "empty"),
      ("plugin: &a x\ntests: [{call: *a}]", "aliases"),
      ("plugin: x\ntests: [\(String(repeating: "{call: a},", count: 1001))]", "at most 1000"),
      ("plugin: x\ntests: [{call: a, arguments: [\(String(repeating: "1,", count: 65))]}]", "at most 32"),
      ("plugin: x\ntests: [{call: a, expect: [\(String(repeating: "returned,", count: 101))]}]", "at most 100"),
      (String(repeating: "#", count: 1 << 20 | 1), "bytes"),
    ])
  func refusals(text: String, words: String) {
    #expect {
      try Self.parse(text)
    } throws: { error in
      guard let error = error as? YAMLFileError else { return false }
      return error.file == "t.yaml" && error.line > 0 && error.message.contains(words)
    }
  }

  @Test("arguments are those of the command line, and fit the signature") func arguments() throws {
    func check(_ words: String) throws {
      let text = "plugin: x\ntests: [{call: a, signature: 'i32(i8,bytes,out(4))', arguments: [\(words)]}]"
      try PolicyTestRunner.check(try #require(try Self.parse(text).tests.first))
    }
    try check("5, 'hex:00ff'")
    try check("5, $CONTAINER/a")
    try check("5, $$none")
    for wrong in ["5", "5, a, b", "300, a", "5, 'hex:0'", "5, $none", "$CONTAINER, a"] {
      #expect(throws: (any Error).self, "\(wrong)") { try check(wrong) }
    }
  }

  @Test(
    "steps name only what was saved before",
    arguments: [
      ("{call: a, save: {x: result}}, {call: b, signature: i32(i32), arguments: [$x]}", nil),
      ("{call: b, signature: i32(i32), arguments: [$x]}, {call: a, save: {x: result}}", "no step before saves \"$x\""),
      ("{call: a, signature: 'void(out(4),out(8))', save: {x: out, y: out2}}", nil),
      ("{call: a, save: {x: out}}", "has 0 of out(N)"), ("{call: a, save: {x: out0}}", "it is result, out"),
      ("{call: a, save: {CONTAINER: result}}", "its own meaning"),
      ("{call: a, save: {'a/b': result}}", "its own meaning"),
      ("", "1 to 200"), ("{call: a, tests: 1}", "isn't a key of a step"),
    ] as [(String, String?)])
  func steps(text: String, refusal: String?) throws {
    do {
      let tests = try Self.parse("plugin: x\ntests: [{name: n, steps: [\(text)]}]")
      #expect(refusal == nil && tests.tests[0].steps.isEmpty == false)
    } catch let error as YAMLFileError {
      #expect(refusal.map { error.message.contains($0) } ?? false, "\(error)")
    }
    #expect(throws: YAMLFileError.self) { try Self.parse("plugin: x\ntests: [{call: a, steps: [\(text)]}]") }
  }

  @Test("what an out(N) wrote is a number where a number is wanted, and bytes where they are") func saved() throws {
    var values = StepValues(container: "/container", bundle: "/bundle")
    var step = CallStep(
      symbol: "f", signature: try CallSignature(parsing: "i32(out(4),out(8),out(3))"), arguments: [])
    step.save = ["a": .output(0), "b": .output(1), "c": .output(2), "r": .result]
    let result = RunnerMessage.CallResult(
      value: .signed(-7), out: [[0xfe, 0xff, 0xff, 0xff], [1, 2, 0, 0, 0, 0, 0, 0], [1, 2, 3]])
    values.save(result, of: step)
    func argument(_ word: String, _ kind: CallSignature.Kind) -> CallArgument? {
      values.argument(word, kind) { (_: String) throws(Never) in [] }
    }
    #expect(argument("$a", .i32) == .integer(-2) && argument("$a", .u32) == .unsigned(0xffff_fffe))
    #expect(argument("$b", .pointer) == .unsigned(0x201) && argument("$b", .bytes) == .bytes([1, 2, 0, 0, 0, 0, 0, 0]))
    #expect(argument("$c", .bytes) == .bytes([1, 2, 3]) && argument("$c", .u32) == nil)
    #expect(argument("$r", .i32) == .integer(-7) && argument("$d", .i32) == nil)
    #expect(argument("$CONTAINER/x", .cstring) == .text("/container/x") && argument("$$x", .cstring) == .text("$x"))
  }
}
