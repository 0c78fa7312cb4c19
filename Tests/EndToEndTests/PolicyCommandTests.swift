import Foundation
import TestSupport
import Testing

/// `outrider policy`: what a plugin may do, checked, compared and proved.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct PolicyCommandTests {
  private static func folder(_ files: [String: String]) throws -> String {
    let folder = try LibraryTests.folder()
    for (name, text) in files {
      try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
    }
    return folder
  }

  @Test("the examples hold on this machine", arguments: ["zlib", "libc"]) func examples(name: String) throws {
    let end = try Workspace.run(["policy", "test", "\(Workspace.root)/Examples/policies/\(name).test.yaml"])
    #expect(end.status == 0 && end.output.contains("as expected, 0 not"), "\(end)")
    let check = try Workspace.run([
      "policy", "check", "--strict", "\(Workspace.root)/Examples/policies/computation.yaml",
    ])
    #expect(check.status == 0, "\(check)")
  }

  @Test(
    "what isn't as expected is named with what was seen, and the exit status is 1",
    arguments: ["table", "json", "junit", "html"])
  func failure(format: String) throws {
    let folder = try Self.folder([
      "t.yaml": """
      plugin: libc.so.6
      tests:
        - {call: abs, signature: i32(i32), arguments: [-5], expect: [returned 5, no denials]}
        - {name: wrong, call: abs, signature: i32(i32), arguments: [-5], expect: [returned 6]}
        - {name: missing, call: no_such_function, expect: [outcome entryPointMissing]}
      """
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["policy", "test", "\(folder)/t.yaml", "--format", format, "--output", "\(folder)/out"])
    #expect(end.status == 1 && end.output.isEmpty && end.errors.contains("3 tests: 2 as expected, 1 not"), "\(end)")
    let text = try String(contentsOfFile: "\(folder)/out", encoding: .utf8)
    #expect(text.contains("returned 6") && text.contains("returned 5") && text.contains("wrong"), "\(text)")
    if format == "table" { #expect(text.contains("expected returned 6; returned 5") && text.contains("t.yaml:4")) }
  }

  @Test("a plugin of one's own is found beside the test file, and its policy, too") func relative() throws {
    let folder = try Self.folder([
      "p.yaml": "version: 1\nonDenied: {socket: kill}\n",
      "t.yaml":
        "plugin: ./evil.so\npolicy: p.yaml\ntests: [{call: evil, expect: [outcome policyViolation, deny socket]}]",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile("#include <sys/socket.h>\nvoid evil(void) { socket(2, 1, 0); }", "-o evil.so", in: folder)
    #expect(try Workspace.run(["policy", "test", "\(folder)/t.yaml"]).status == 0)
  }

  @Test("files that are wrong or missing end with their own status and one sentence")
  func wrongInputs() throws {
    let folder = try Self.folder([
      "good.yaml": "version: 1\n", "bad.yaml": "version: 1\nreed: [/x]\n", "wide.yaml": "version: 1\nread: [/etc]\n",
      "t.yaml": "plugin: libc.so.6\ntests: [{call: abs, signature: i32(i32)}]",
      "u.yaml": "plugin: ./none.so\ntests: [{call: a}]",
      "v.yaml": "plugin: libc.so.6\npolicy: none.yaml\ntests: [{call: a}]",
    ])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let cases: [([String], Int32, String)] = [
      (["check", "good.yaml"], 0, "a policy"), (["check", "bad.yaml"], 64, "bad.yaml:2:1: \"reed\" isn't a key"),
      (["check", "none.yaml"], 66, "none.yaml"), (["check", "wide.yaml"], 0, "as a whole"),
      (["check", "--strict", "wide.yaml"], 65, "as a whole"), (["check", "none.yaml", "bad.yaml"], 64, "reed"),
      (["show", "bad.yaml"], 64, "reed"), (["show", "none.yaml"], 66, "none.yaml"), (["show"], 0, "no network"),
      (["diff", "good.yaml", "wide.yaml"], 1, "+ /etc: read, was nothing"),
      (["diff", "wide.yaml", "good.yaml"], 0, "- /etc: nothing, was read"),
      (["diff", "good.yaml", "none.yaml"], 66, "none.yaml"),
      (["test", "t.yaml"], 64, "t.yaml:2: i32(i32) takes 1 arguments"), (["test", "u.yaml"], 66, "none.so"),
      (["test", "v.yaml"], 66, "none.yaml"), (["test", "none.yaml"], 66, "none.yaml"),
      (["test", "good.yaml"], 64, "needs"),
      (["test", "t.yaml", "--format", "xml"], 64, "xml"),
    ]
    for (arguments, status, words) in cases {
      let given = arguments.map { $0.hasSuffix(".yaml") ? "\(folder)/\($0)" : $0 }
      let end = try Workspace.run(["policy"] + given)
      #expect(end.status == status && (end.output + end.errors).contains(words), "\(arguments): \(end)")
    }
  }
}
