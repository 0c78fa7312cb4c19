import Foundation
import TestSupport
import Testing

/// `docs/cli.md` and the pages in `docs/man` are the help of every command. OUTRIDER_WRITE_DOCUMENTS=1 writes them anew.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CommandsDocumentTests {
  private static let introduction = """
    # Commands

    Every command of `outrider` with its options, as `--help` prints it. Exit statuses are those of sysexits.h where a command
    doesn't say otherwise. `--json` prints one object or array (`fetch`, and lists with `--watch`: one object a line), and an error is then `{"error": {"message", "status"}}`.

    """

  /// Writes where that is asked for, and compares what is there.
  private static func expect(_ document: String, at name: String) throws {
    let path = "\(Workspace.root)/\(name)"
    if ProcessInfo.processInfo.environment["OUTRIDER_WRITE_DOCUMENTS"] == "1" {
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try document.write(toFile: path, atomically: false, encoding: .utf8)
    }
    let written = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    // The first line that differs says more than both documents.
    let difference = zip(document.split(separator: "\n"), written.split(separator: "\n")).first { $0 != $1 }
    #expect(
      written == document,
      """
      \(name): \(difference.map { "the help says '\($0)', and the document '\($1)'" } ?? "one is longer"); \
      OUTRIDER_WRITE_DOCUMENTS=1 swift test --filter CommandsDocumentTests writes it anew
      """)
  }

  @Test("docs/cli.md has the help of every command as it is") func document() throws {
    let commands = try CommandTree.outrider().all()
    #expect(commands.count > 40 && commands.contains { $0.words == ["outrider", "service", "install"] })
    var text = Self.introduction
    for (words, _) in commands {
      let level = words.count < 3 ? "##" : "###"
      text += "\n\(level) \(words.joined(separator: " "))\n\n```text\n"
      text += try CommandTree.help(words, columns: 100) + "\n```\n"
    }
    try Self.expect(text, at: "docs/cli.md")
  }

  @Test("every command that a message names is there") func named() throws {
    let known = Set(try CommandTree.outrider().all().map { $0.words.dropFirst().joined(separator: " ") })
    let families = Set(known.filter { $0.contains(" ") }.compactMap { $0.split(separator: " ").first.map(String.init) })
    let sources = try #require(FileManager.default.enumerator(atPath: Workspace.root + "/Sources"))
    var found = 0
    for case let file as String in sources where file.hasSuffix(".swift") {
      let text = try String(contentsOfFile: "\(Workspace.root)/Sources/\(file)", encoding: .utf8)
      for match in text.matches(of: /'outrider ([a-z-]+)(?: ([a-z-]+))?/) where !match.1.hasPrefix("-") {
        let (first, second) = (String(match.1), match.2.map(String.init))
        let isInFamily = families.contains(first) && second.map { !$0.hasPrefix("-") } ?? false
        let name = isInFamily ? "\(first) \(second ?? "")" : first
        found += 1
        #expect(known.contains(name), "\(file) names 'outrider \(name)'")
      }
    }
    #expect(found > 20)
  }

  @Test("docs/man has a page for outrider, each of its commands and outriderd, and no other") func manual() throws {
    let outrider = try CommandTree.outrider()
    let names = outrider.shown.map { "outrider-" + $0.commandName }
    let pages =
      [
        ManualPage(words: ["outrider"], command: outrider, others: names + ["outriderd"], services: ["outriderd"]),
        ManualPage(
          section: 8, words: ["outriderd"], command: try CommandTree.daemon(),
          others: ["outrider", "outrider-service", "outrider-doctor"]),
      ]
      + outrider.shown.map { ManualPage(words: ["outrider", $0.commandName], command: $0, others: ["outrider"]) }
    for page in pages {
      let text = try page.text { words in
        let help = try CommandTree.help(words, columns: 400)
        return try #require(help.components(separatedBy: "USAGE: ").last?.components(separatedBy: "\n\n").first)
          .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
      }
      try Self.expect(text, at: "docs/man/\(page.file)")
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: Workspace.root + "/docs/man")
    #expect(Set(files) == Set(pages.map(\.file)))
  }

  /// groff warns of requests, characters and fonts that it doesn't know.
  @Test func theManualIsFormatted() throws {
    let folder = Workspace.root + "/docs/man"
    for file in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() {
      let end = try Workspace.run(
        ["-c", "groff -ww -man -Tutf8 '\(folder)/\(file)'"], program: "/bin/bash", environment: ["LC_ALL": "C.UTF-8"])
      #expect(end.status == 0 && end.errors.isEmpty, "\(file): \(end.errors)")
      // Bold and italics are sequences of the terminal, or letters printed over each other.
      let text = end.output.replacing(#/\u{1b}\[[0-9;]*m|.\u{08}/#, with: "")
      let missing = ["NAME", "SYNOPSIS", "SEE ALSO"].filter { !text.contains("\n\($0)\n") }
      #expect(missing.isEmpty, "\(file) lacks \(missing)")
      // An example may go on in the next line.
      #expect(!text.contains(#/\\[^\n]/#), "\(file) shows an escape")
    }
  }
}
