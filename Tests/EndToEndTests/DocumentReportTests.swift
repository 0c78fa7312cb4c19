import Foundation
import TestSupport
import Testing

/// What documents show is what comes out.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct DocumentReportTests {
  /// Figures differ from run to run, and where in the library a function is, the compiler decides. What a machine or a user can't
  /// have is named.
  private static func shape(_ text: String) -> [String] {
    text.split(separator: "\n").filter { !$0.starts(with: #/wall \w+ is /#) }
      .map { String($0).replacing(#/[0-9.]+ (ms|s|KiB)/#, with: "N").replacing(#/\+0x[0-9a-f]+/#, with: "+N") }
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
      .replacingOccurrences(of: "outrider call ./evil.so", with: "'\(Workspace.outrider)' call \(folder)/evil.so")
      .replacingOccurrences(of: "-o evil.so evil.c", with: "-w -o \(folder)/evil.so \(folder)/evil.c")
    let end = try Workspace.run(["-c", script], program: "/bin/bash")
    #expect(end.status == 12)
    #expect(
      Self.shape(end.output + end.errors) == Self.shape(lines.drop { $0.hasPrefix("$ ") }.joined(separator: "\n")))
  }

  @Test("docs/terminal.svg shows the commands and the report of README.md")
  func recording() throws {
    let picture = try Documents.text("docs/terminal.svg")
    let shown = picture.split(separator: "\n").filter { $0.hasPrefix("<text") }.compactMap { line in
      line.firstMatch(of: #/>(.*)<\/text>/#).map { String($0.1) }
    }.map { $0.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&") }
    let report = try Documents.block("console", containing: "evil.so")
    // What was called before it is the recording's own.
    let first = try #require(report.split(separator: "\n").first)
    #expect(
      Self.shape(shown.drop { $0 != first }.joined(separator: "\n")) == Self.shape(report),
      "Examples/record-terminal makes it anew")
    #expect(picture.utf8.count < 8192 && picture.contains("prefers-color-scheme: dark"))
  }

  @Test("docs/debugging.md shows what its commands print")
  func debugging() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Documents.block("c", containing: "faulty.c").write(
      toFile: "\(folder)/faulty.c", atomically: false, encoding: .utf8)
    let page = try Documents.blocks("console").filter { $0.document == "docs/debugging.md" }
    #expect(page.count == 4)
    for (_, block) in page {
      let lines = block.split(separator: "\n").map(String.init)
      let script = lines.filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) }.joined(separator: "\n")
      let end = try Workspace.run(
        ["-c", "exec 2>&1; cd '\(folder)'; outrider() { '\(Workspace.outrider)' \"$@\"; }\n\(script)"],
        program: "/bin/bash")
      // Both streams go one way, each in its order.
      func report(_ lines: [String]) -> [String] {
        Self.shape(lines.joined(separator: "\n")).sorted()
      }
      let printed = report(end.output.split(separator: "\n").map(String.init))
      #expect(printed == report(lines.filter { !$0.hasPrefix("$ ") }))
    }
  }

  @Test("the policy in docs/policies.md is one")
  func policy() throws {
    // Not below /tmp, in whose place a plugin has a folder of its own.
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    for name in ["dict", "codecs", "data"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Whatever this machine has, and not every one has each wall.
    try Documents.block("yaml", containing: "extends: downloader").replacing(#/(?m)^require:.*$/#, with: "")
      .replacing(#/\/usr\/share\/dict|\/opt\/codecs|\/srv\/data(?=\])/#) { match in
        "\(folder)/\(match.0.split(separator: "/").last ?? "")"
      }.write(toFile: "\(folder)/policy.yaml", atomically: false, encoding: .utf8)
    let end = try Workspace.run(
      ["call", "libc.so.6", "abs", "i32(i32)", "-5", "--policy", "\(folder)/policy.yaml"])
    #expect(end.status == 0 && end.output == "5\n", "\(end.errors)")
  }
}
