import Foundation
import TestSupport
import Testing

/// `docs/commands.md` is the help of every command, one after the other. OUTRIDER_WRITE_DOCUMENTS=1 writes it anew.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CommandsDocumentTests {
  private struct Tree: Decodable {
    struct Command: Decodable {
      var commandName: String
      var shouldDisplay: Bool?
      var subcommands: [Command]?
    }
    var command: Command
  }

  private static let introduction = """
    # Commands

    Every command of `outrider` with its options, as `--help` prints it. Exit statuses are those of sysexits.h where a command
    doesn't say otherwise. `--json` prints one object or array (`fetch`, and lists with `--watch`: one object a line), and an error is then `{"error": {"message", "status"}}`.

    """

  /// The words that follow `outrider`, of every command that is shown.
  private static func commands(_ command: Tree.Command, _ words: [String] = []) -> [[String]] {
    [words]
      + (command.subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" }
      .flatMap { commands($0, words + [$0.commandName]) }
  }

  private static func document() throws -> String {
    let dump = try Workspace.run(["--experimental-dump-help"])
    let tree = try JSONDecoder().decode(Tree.self, from: Data(dump.output.utf8))
    let commands = commands(tree.command)
    #expect(commands.count > 40 && commands.contains(["service", "install"]))
    var text = introduction
    for words in commands {
      let help = try Workspace.run(words + ["--help"], environment: ["COLUMNS": "100"])
      try #require(help.status == 0, "\(help)")
      let body = help.output.trimmingCharacters(in: .whitespacesAndNewlines)
      text +=
        "\n\(words.count < 2 ? "##" : "###") \((["outrider"] + words).joined(separator: " "))\n\n```text\n\(body)\n```\n"
    }
    return text
  }

  @Test("docs/commands.md has the help of every command as it is") func isTrue() throws {
    let path = Workspace.root + "/docs/commands.md"
    let document = try Self.document()
    if ProcessInfo.processInfo.environment["OUTRIDER_WRITE_DOCUMENTS"] == "1" {
      try document.write(toFile: path, atomically: false, encoding: .utf8)
    }
    let written = try String(contentsOfFile: path, encoding: .utf8)
    // The first line that differs says more than both documents.
    let difference = zip(document.split(separator: "\n"), written.split(separator: "\n")).first { $0 != $1 }
    #expect(
      written == document,
      """
      \(difference.map { "the help says '\($0)', and the document '\($1)'" } ?? "one is longer"); \
      OUTRIDER_WRITE_DOCUMENTS=1 swift test --filter CommandsDocumentTests writes it anew
      """)
  }
}
