import Foundation
import TestSupport
import Testing

/// What documents show is what comes out.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct DocumentReportTests {
  /// Figures differ from run to run, and what a machine or a user can't have is named.
  private static func shape(_ text: String) -> [String] {
    text.split(separator: "\n").filter { !$0.starts(with: #/wall \w+ is /#) }
      .map { String($0).replacing(#/[0-9.]+ (ms|s|KiB)/#, with: "N") }
  }

  @Test("README.md shows the report that its library gets")
  func report() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Documents.block("c", containing: "ptrace").write(
      toFile: "\(folder)/evil.c", atomically: false, encoding: .utf8)
    let lines = try Documents.block("console", containing: "evil.so").split(separator: "\n").map(String.init)
    let commands = lines.filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) }
    let script = commands.joined(separator: "\n")
      .replacingOccurrences(of: "outrider call evil.so", with: "'\(Workspace.outrider)' call \(folder)/evil.so")
      .replacingOccurrences(of: "-o evil.so evil.c", with: "-w -o \(folder)/evil.so \(folder)/evil.c")
    let end = try Workspace.run(["-c", script], program: "/bin/bash")
    #expect(end.status == 12)
    #expect(
      Self.shape(end.output + end.errors) == Self.shape(lines.drop { $0.hasPrefix("$ ") }.joined(separator: "\n")))
  }

  @Test("the policy in docs/policies.md is one")
  func policy() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Whatever this machine has.
    try Documents.block("yaml", containing: "onDenied").replacing(#/require:.*|\[\/usr\/share\/dict\]/#) {
      $0.0.hasPrefix("require") ? "" : "[\(folder)]"
    }.write(toFile: "\(folder)/policy.yaml", atomically: false, encoding: .utf8)
    let end = try Workspace.run(
      ["call", "libc.so.6", "abs", "i32(i32)", "-5", "--policy", "\(folder)/policy.yaml"])
    #expect(end.status == 0 && end.output == "5\n", "\(end.errors)")
  }
}
