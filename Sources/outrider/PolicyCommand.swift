internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox
internal import StrictYAML

struct PolicyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "policy", abstract: "Checks, explains, compares, records and tests what plugins may do.",
    discussion: """
      EXAMPLES
        outrider policy check policy.yaml
        outrider policy show policy.yaml
        outrider policy diff old.yaml new.yaml
        outrider policy residual computation
        outrider policy schema > policy.schema.json
        outrider policy record --output policy.yaml zlib.test.yaml
        outrider policy compare old/libz.so.1 new/libz.so.1 zlib.test.yaml
        outrider policy test tests.yaml --format junit --output results.xml
      """,
    subcommands: [
      PolicyCheckCommand.self, PolicyShowCommand.self, PolicyDiffCommand.self,
      PolicyRecordCommand.self, PolicyTestCommand.self, PolicyCompareCommand.self, PolicyResidualCommand.self,
      PolicySchemaCommand.self,
    ])
}

/// Policies by their paths or, where they are shipped, by their names; errors as commands end with them.
enum PolicyInput {
  static func policy(at path: String) throws -> Policy { try file(at: path).policy }

  /// A file of the same name is `./downloader`.
  static func isShipped(_ name: String) -> Bool { ShippedPolicy(rawValue: name) != nil }

  static func file(at path: String) throws -> PolicyFile {
    let text = try source(of: path)
    do throws(YAMLFileError) {
      return try PolicyFile(parsing: text, file: path) { (parent) throws(PolicyFile.Unreadable) in
        do throws(SystemCallError) {
          let content = try Files.content(of: parent, limit: 1 << 20)
          if let text = String(validating: content, as: UTF8.self) { return text }
        } catch {
          throw PolicyFile.Unreadable(reason: SystemCallError.message(error.code))
        }
        throw PolicyFile.Unreadable(reason: notText)
      }
    } catch {
      throw Failure(64, error.description)
    }
  }

  /// Its text, as it is.
  static func source(of path: String) throws -> String {
    if let shipped = ShippedPolicy(rawValue: path) { return shipped.text }
    if !path.hasSlash, !path.isEmpty, isAbsent(path) {
      let names = ShippedPolicy.allCases.map(\.rawValue).joined(separator: ", ")
      throw Failure(66, "\(path): is neither a file here nor a shipped policy (\(names))")
    }
    return try text(of: path)
  }

  private static func isAbsent(_ path: String) -> Bool {
    do throws(SystemCallError) {
      _ = try Files.identity(of: path)
      return false
    } catch {
      return error.code == ENOENT
    }
  }

  static func text(of path: String, limit: Int = 1 << 20) throws -> String {
    let content = try InputFile.content(of: path, limit: limit)
    guard let text = String(validating: content, as: UTF8.self) else {
      throw Failure(64, "\(Printable.text(path)): \(notText)")
    }
    return text
  }

  private static let notText = "isn't text in UTF-8"
}

struct PolicyCheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Says whether files are policies, and what in them is probably not meant.",
    discussion: """
      Each error and warning names file, line and column where there is one. The exit status is 0 where all files are \
      policies, 64 where one isn't, 65 with --strict where there are warnings, 66 where one can't be read.

      EXAMPLES
        outrider policy check policy.yaml
        outrider policy check --strict policies/*.yaml
      """)
  @Argument(help: "Policies.", completion: .file(extensions: ["yaml", "yml"])) var files: [String]
  @Flag(help: "Warnings are errors.") var strict = false
  @Flag(help: "Print one JSON object on standard output.") var json = false

  private struct Row: Encodable {
    var file: String
    var error: String?
    var warnings: [Warning] = []
  }

  private struct Warning: Encodable {
    /// File, line and column; nil: the file as a whole.
    var place: String?
    var message: String

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(place.map { "\($0): \(message)" } ?? message)
    }
  }

  func run() async {
    do {
      var status: Int32 = 0
      var rows: [Row] = []
      for file in files {
        do {
          let found = try PolicyInput.file(at: file)
          // What shipped policies allow beyond each other is meant.
          let placed = (PolicyInput.isShipped(file) ? [] : found.warnings).map {
            Warning(place: "\($0.file):\($0.line):\($0.column)", message: $0.message)
          }
          let general = PolicyWarnings.find(found.policy).map { warning in
            Warning(place: warning.path.flatMap { found.places[$0] }?.description, message: warning.message)
          }
          rows.append(Row(file: file, warnings: placed + general))
          if strict, rows.last?.warnings.isEmpty == false { status = max(status, 65) }
        } catch let failure as Failure {
          rows.append(Row(file: file, error: failure.message))
          status = status == 64 ? 64 : failure.status
        }
      }
      if json {
        try Output.json(["files": rows])
      } else {
        for row in rows {
          let name = Printable.text(row.file, limit: 400)
          Output.line(row.error.map { Printable.text($0, limit: 1000) } ?? "\(name): a policy")
          for warning in row.warnings {
            let place = warning.place.map { Printable.text($0, limit: 440) } ?? name
            Output.line("\(place): warning: \(Printable.text(warning.message, limit: 1000))")
          }
        }
      }
      Exit.leave(status)
    } catch {
      Exit.with(error)
    }
  }
}

struct PolicyShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Says in plain words what a policy comes to; without a file, what holds by default.",
    discussion: """
      EXAMPLES
        outrider policy show
        outrider policy show policy.yaml --json
        outrider policy show computation --source
        outrider policy show --groups
      """)
  @Argument(
    help: "A policy: a file, or a shipped one by name (downloader, computation, codec, interpreter, developer).",
    completion: .file(extensions: ["yaml", "yml"])) var file: String?
  @Flag(help: "Print the file itself, with its comments, as YAML.") var source = false
  @Flag(help: "List the groups of system calls that policies may name; it takes no policy.") var groups = false
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func validate() throws {
    if source, json { throw ValidationError("--source and --json contradict each other.") }
    if source, groups { throw ValidationError("--source and --groups contradict each other.") }
    if groups, file != nil { throw ValidationError("--groups lists what any policy may name; leave the file out.") }
  }

  func run() async {
    do {
      if groups { try showGroups() }
      if source {
        guard let file else { throw Failure(64, "--source needs a policy, for example 'downloader'") }
        Output.line(
          try PolicyInput.source(of: file).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map {
            Printable.text(String($0), limit: 4200)
          }.joined(separator: "\n"))
        Exit.leave(0)
      }
      let found = try file.map(PolicyInput.file)
      let description = PolicyDescription(found?.policy ?? Policy(), extends: found?.parents ?? [])
      if json {
        try Output.json(description)
      } else {
        for line in description.lines { Output.line(Printable.text(line, limit: 4200)) }
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private func showGroups() throws {
    if json {
      try Output.json(["groups": Dictionary(uniqueKeysWithValues: SystemCallGroup.all.map { ($0.name, $0.calls) })])
    } else {
      for group in SystemCallGroup.all {
        Output.line("\(group.name): \(group.purpose)")
        for line in Wrapped.lines(group.calls, width: 78) { Output.line("  \(line)") }
      }
    }
    Exit.leave(0)
  }
}

/// Words in lines of no more than a width.
enum Wrapped {
  static func lines(_ words: [String], width: Int) -> [String] {
    words.reduce(into: [String]()) { lines, word in
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(word)
      }
    }
  }
}

struct PolicySchemaCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema", abstract: "Prints the form of policies as a JSON schema, for editors.",
    discussion: """
      Editors that read JSON schemas (draft 7) complete keys, explain them and mark what is none. A file that begins \
      with the second line below is checked by the YAML server of most editors. 'outrider policy check' says more: \
      contradictions, and what this machine hasn't.

      EXAMPLES
        outrider policy schema > policy.schema.json
        # yaml-language-server: $schema=policy.schema.json
      """)

  func run() async {
    do {
      Output.line(try PolicySchema.text())
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

struct PolicyDiffCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Says what one policy allows that another doesn't.",
    discussion: """
      '+' is what NEW allows beyond OLD, '-' what it no longer does. The exit status is 1 where NEW is wider in \
      anything, and 0 otherwise.

      EXAMPLES
        outrider policy diff main/policy.yaml policy.yaml
        outrider policy diff computation policy.yaml
      """)
  @Argument(help: "A policy.", completion: .file(extensions: ["yaml", "yml"])) var old: String
  @Argument(help: "The policy that is compared with it.", completion: .file(extensions: ["yaml", "yml"])) var new:
    String
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let difference = PolicyDifference(
        from: try PolicyInput.policy(at: old), to: try PolicyInput.policy(at: new),
        real: { (try? Files.real($0)) ?? $0 }, resolve: { (try? PatternExpansion.resolved($0)) ?? $0 })
      if json {
        try Output.json(difference)
      } else {
        for change in difference.changes {
          Output.line("\(change.isWider ? "+" : "-") \(Printable.text(change.text, limit: 4200))")
        }
        if difference.changes.isEmpty { Output.note("they allow the same") }
      }
      Exit.leave(difference.isWider ? 1 : 0)
    } catch {
      Exit.with(error)
    }
  }
}
