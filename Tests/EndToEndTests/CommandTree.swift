import Foundation

/// A command of `outrider`, or `outriderd`, as `--experimental-dump-help` describes it.
struct CommandTree: Decodable {
  struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }
    var abstract: String?
    var allValues: [String]?
    var defaultValue: String?
    var isOptional: Bool
    var isRepeating: Bool
    var kind: String
    var names: [Name]?
    var shouldDisplay: Bool
    var valueName: String?
  }

  var abstract: String?
  var arguments: [Argument]?
  var commandName: String
  var discussion: String?
  var shouldDisplay: Bool?
  var subcommands: [CommandTree]?

  /// That are shown; `help` is the parser's own.
  var shown: [CommandTree] { (subcommands ?? []).filter { $0.shouldDisplay != false && $0.commandName != "help" } }

  /// This command and all below it, each with the words that call it.
  func all(_ words: [String] = ["outrider"]) -> [(words: [String], command: CommandTree)] {
    [(words, self)] + shown.flatMap { $0.all(words + [$0.commandName]) }
  }

  static func outrider() throws -> CommandTree { try read(Workspace.outrider) }

  static func daemon() throws -> CommandTree { try read(Workspace.products + "/outriderd") }

  private static func read(_ program: String) throws -> CommandTree {
    struct Dump: Decodable { var command: CommandTree }
    let dump = try Workspace.run(["--experimental-dump-help"], program: program)
    return try JSONDecoder().decode(Dump.self, from: Data(dump.output.utf8)).command
  }

  /// The help of a command on a terminal of so many columns. The first word is the program's name.
  static func help(_ words: [String], columns: Int) throws -> String {
    let end = try Workspace.run(
      Array(words.dropFirst()) + ["--help"], program: "\(Workspace.products)/\(words[0])",
      environment: ["COLUMNS": "\(columns)"])
    guard end.status == 0 else { throw HelpFailure(description: "\(words) --help: \(end)") }
    return end.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

struct HelpFailure: Error, CustomStringConvertible {
  let description: String
}
