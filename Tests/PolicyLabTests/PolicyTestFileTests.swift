import Foundation
import Sandbox
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
    #expect(first.name == "a" && first.signature == "void()" && first.line == 3)
    #expect(
      first.expectations.map(\.text) == ["returned", "no denials", "deny /x"], "that it returns goes without saying")
    #expect(first.policy.observesFiles && !second.policy.observesFiles)
    #expect(second.policy.limits.wall == .seconds(5) && second.policy.limits.cpu == .seconds(1))
    #expect(second.policy.limits.memory == 2 << 20 && second.arguments == ["7"])
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
      ("plugin: x\ntests: [{call: a, arguments: [\(String(repeating: "1,", count: 65))]}]", "at most 64"),
      ("plugin: x\ntests: [{call: a, expect: [\(String(repeating: "returned,", count: 101))]}]", "at most 100"),
      (String(repeating: "#", count: 1 << 20 | 1), "bytes"),
    ])
  func refusals(text: String, words: String) {
    #expect {
      try Self.parse(text)
    } throws: { error in
      guard let error = error as? PolicyFileError else { return false }
      return error.file == "t.yaml" && error.line > 0 && error.message.contains(words)
    }
  }

  @Test("arguments are those of the command line, and fit the signature") func arguments() throws {
    var test = try Self.parse(
      "plugin: x\ntests: [{call: a, signature: 'i32(i8,bytes,out(4))', arguments: [5, 'hex:00ff']}]"
    ).tests[0]
    #expect(try PolicyTestRunner.arguments(test).count == 2)
    for wrong in [["5"], ["5", "a", "b"], ["300", "a"], ["5", "hex:0"]] {
      test.arguments = wrong
      #expect(throws: (any Error).self, "\(wrong)") { try PolicyTestRunner.arguments(test) }
    }
  }
}
