import Foundation
import ServiceProtocol
import TestSupport
import Testing

/// Help as it is read: on terminals of several widths, and by programs.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HelpTests {
  /// No line is too long, and none ends before its paragraph does while the next word would have had room.
  @Test(arguments: [80, 115]) func everyHelpIsWrappedOnce(columns: Int) throws {
    for (words, _) in try CommandTree.outrider().all() {
      let help = try CommandTree.help(words, columns: columns)
      let name = words.joined(separator: " ")
      let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      // Some say too little for a wide terminal.
      if columns == 80 { #expect(lines.contains { $0.count > columns - 25 }, "\(name): the width is used") }
      // Examples, tables of options and the usage have an indentation.
      for (line, next) in zip(lines, lines.dropFirst()) {
        #expect(line.count <= columns, "\(name): \(line)")
        guard !line.isEmpty, !line.hasPrefix(" "), !line.hasSuffix(":"), line != line.uppercased(),
          !next.hasPrefix(" "), let word = next.split(separator: " ").first
        else { continue }
        #expect(line.count + 1 + word.count >= columns, "\(name): \(line)|\(next)")
      }
    }
  }

  /// What is indented was written so, and isn't the rest of a line that was too long. Shells and pages keep it as it is.
  @Test func everyExampleHasRoom() throws {
    for (words, command) in try CommandTree.outrider().all() {
      for line in (command.discussion ?? "").split(separator: "\n") where line.hasPrefix("  ") {
        #expect(line.count <= 79, "\(words.joined(separator: " ")): \(line)")
      }
    }
  }

  @Test(
    arguments: [
      (["call", "--json"], 64), (["fetch", "--json"], 64), (["run", "x.so", "--json", "--request", "sometimes"], 64),
      (["call", "libc.so.6", "abs", "i32(", "1", "--json"], 64), (["nonsense", "--json"], 64),
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--wall", "soon", "--json"], 64),
      (["inspect", "/nonexistent", "--json"], 66), (["explain", "--json"], 64),
      (["fetch", "not a url", "--json"], 64), (["call", "/nonexistent.so", "abs", "i32(i32)", "1", "--json"], 66),
    ] as [([String], Int32)])
  func failuresAreOneObject(_ arguments: [String], _ status: Int32) throws {
    struct Report: Decodable {
      struct Body: Decodable { var message: String, status: Int32 }
      var error: Body
    }
    let end = try Workspace.run(arguments)
    let report = try JSONDecoder().decode(Report.self, from: Data(end.output.utf8))
    #expect(end.status == status && report.error.status == status && !report.error.message.isEmpty, "\(end)")
    #expect(!end.errors.isEmpty, "people are told as well")
    // A user who doesn't ask gets none. After `--` it is an argument, here one too many.
    let isCall = arguments[0] == "call"
    let without = try Workspace.run(arguments.filter { $0 != "--json" } + (isCall ? ["--", "--json"] : []))
    #expect(without.output.isEmpty && without.status == (isCall ? 64 : status), "\(without)")
  }

  @Test(
    "a misspelt command is named, with the one that was meant",
    arguments: [
      (["feth", "https://example.com/"], "'feth' isn't a command; did you mean 'fetch'?"),
      (["dcotor"], "'dcotor' isn't a command; did you mean 'doctor'?"),
      (["polcy", "check", "x"], "'polcy' isn't a command; did you mean 'policy'?"),
      (["policy", "chek", "x"], "'policy chek' isn't a command; did you mean 'policy check'?"),
      (["help", "polcy"], "'polcy' isn't a command; did you mean 'policy'?"),
      (["help", "policy", "recrod"], "'policy recrod' isn't a command; did you mean 'policy record'?"),
      (["downloads", "promot", "x"], "'downloads promot' isn't a command; did you mean 'downloads promote'?"),
      (["nonsense"], "'nonsense' isn't a command; 'outrider --help' lists them"),
      (["policy", "nonsense"], "'policy nonsense' isn't a command; 'outrider policy --help' lists them"),
    ])
  func misspelt(arguments: [String], message: String) throws {
    let end = try Workspace.run(arguments)
    #expect(end.status == 64 && end.output.isEmpty && end.errors.contains(message), "\(end)")
  }

  @Test(arguments: [["help"], ["help", "fetch"], ["help", "policy", "record"], ["policy", "--help"]])
  func helpOfCommands(arguments: [String]) throws {
    let end = try Workspace.run(arguments)
    #expect(end.status == 0 && end.output.contains("USAGE: outrider"), "\(end)")
  }

  @Test func aReportIsTheOnlyObject() throws {
    let end = try Workspace.run(["inspect", "/etc/hostname", "--json"])
    let object = try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any])
    #expect(end.status == 10 && object["error"] == nil && object["problem"] != nil, "\(end)")
  }

  // MARK: inspect

  @Test func inspectFindsWhatCallFinds() throws {
    struct Facts: Decodable {
      var file: String
      var exportCount: Int
      var exports: [String]
    }
    let json = try Workspace.run(["inspect", "libz.so.1", "--json"])
    let facts = try JSONDecoder().decode(Facts.self, from: Data(json.output.utf8))
    #expect(json.status == 0 && facts.exports.contains("crc32") && facts.exports.count == facts.exportCount, "\(json)")
    let call = try Workspace.run(["call", "libz.so.1", "crc32", "u64(u64,bytes,u32)", "0", "hello", "5", "--json"])
    #expect(call.output.contains("\"\(facts.file)\""), "\(call.output)")
    let text = try Workspace.run(["inspect", "libz.so.1"])
    #expect(
      text.output.contains(" \(facts.exports[0])\n") && text.output.contains("--json names them"), "\(text.output)")
    let none = try Workspace.run(["inspect", "libnothing.so.9"])
    #expect(none.status == 66 && none.errors.contains("libnothing.so.9"), "\(none.errors)")
  }

  @Test func inspectFindsWhatLiesHere() throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.copyItem(atPath: Workspace.hostile + "/libhostile.so", toPath: "\(folder)/own.so")
    let end = try Workspace.run(
      ["-c", "cd '\(folder)' && exec '\(Workspace.outrider)' inspect own.so"], program: "/bin/bash")
    #expect(end.status == 0 && end.output.contains("/own.so"), "\(end)")
  }

  // MARK: Memory

  @Test func memoryNamesItsOption() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Where nothing but samples counts the memory, it has to be there for a while.
    try LibraryTests.compile(
      """
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      void *fill(unsigned n) { void *memory = memset(malloc(n), 1, n); for (;;) usleep(1000); return memory; }
      """, "-fno-builtin -o fill.so", in: folder)
    let words = ["call", "\(folder)/fill.so", "fill", "pointer(u32)", "1048576", "--memory", "512KiB"]
    let end = try Workspace.run(words)
    #expect(end.status == 14 && end.errors.contains("--memory 2MiB") && end.errors.contains("512 KiB"), "\(end.errors)")
    let json = try Workspace.run(words + ["--json"])
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    let detail = (object["outcome"] as? [String: Any])?["detail"] as? String
    #expect(detail?.contains("--memory 2MiB") == true, "\(json.output)")
  }

  @Test("both programs have the version that the service says") func versions() throws {
    for program in [Workspace.outrider, Workspace.products + "/outriderd"] {
      let end = try Workspace.run(["--version"], program: program)
      #expect(end.status == 0 && end.output == "\(ProductVersion.text)\n", "\(program): \(end)")
    }
  }

  @Test("the help of launch has the status of an app that isn't installed") func launch() throws {
    #expect(try Workspace.run(["launch", "--help"]).output.contains("\n  66   no such app is installed\n"))
  }

  @Test("help comes on a terminal of any width", arguments: ["-5", "0", "1", "20", "27"]) func narrow(columns: String)
    throws
  {
    for words in [["--help"], ["help", "call"], ["fetch", "--nothing"]] {
      let end = try Workspace.run(words, environment: ["COLUMNS": columns])
      #expect([0, 64].contains(end.status) && (end.output + end.errors).contains("outrider"), "\(words): \(end)")
    }
    let daemon = try Workspace.run(
      ["--help"], program: Workspace.products + "/outriderd", environment: ["COLUMNS": columns])
    #expect(daemon.status == 0 && daemon.output.contains("--state"), "\(daemon)")
  }
}
