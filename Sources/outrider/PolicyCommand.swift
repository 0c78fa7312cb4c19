internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import LinuxSystem
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
        outrider policy record --output policy.yaml zlib.test.yaml
        outrider policy compare old/libz.so.1 new/libz.so.1 zlib.test.yaml
        outrider policy test tests.yaml --format junit --output results.xml
      """,
    subcommands: [
      PolicyCheckCommand.self, PolicyShowCommand.self, PolicyDiffCommand.self,
      PolicyRecordCommand.self, PolicyTestCommand.self, PolicyCompareCommand.self,
    ])
}

/// Policies by their paths; errors as commands end with them.
enum PolicyInput {
  static func policy(at path: String) throws -> Policy {
    let text = try text(of: path)
    do throws(YAMLFileError) {
      return try Policy(parsing: text, file: path)
    } catch {
      throw Failure(64, error.description)
    }
  }

  static func text(of path: String, limit: Int = 1 << 20) throws -> String {
    String(decoding: try InputFile.content(of: path, limit: limit), as: UTF8.self)
  }
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
    var warnings: [String]
  }

  func run() async {
    do {
      var status: Int32 = 0
      var rows: [Row] = []
      for file in files {
        do {
          let policy = try PolicyInput.policy(at: file)
          rows.append(Row(file: file, error: nil, warnings: PolicyWarnings.find(policy) { Files.exists($0) }))
          if strict, rows.last?.warnings.isEmpty == false { status = max(status, 65) }
        } catch let failure as Failure {
          rows.append(Row(file: file, error: failure.message, warnings: []))
          status = status == 64 ? 64 : failure.status
        }
      }
      if json {
        try Output.json(["files": rows])
      } else {
        for row in rows {
          let name = Printable.text(row.file, limit: 400)
          Output.line(row.error.map { Printable.text($0, limit: 1000) } ?? "\(name): a policy")
          for warning in row.warnings { Output.line("\(name): warning: \(Printable.text(warning, limit: 1000))") }
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
      """)
  @Argument(help: "A policy.", completion: .file(extensions: ["yaml", "yml"])) var file: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let description = PolicyDescription(try file.map(PolicyInput.policy) ?? Policy())
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
}

struct PolicyDiffCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Says what one policy allows that another doesn't.",
    discussion: """
      '+' is what NEW allows beyond OLD, '-' what it no longer does. The exit status is 1 where NEW is wider in \
      anything, and 0 otherwise.

      EXAMPLES
        outrider policy diff main/policy.yaml policy.yaml
      """)
  @Argument(help: "A policy.", completion: .file(extensions: ["yaml", "yml"])) var old: String
  @Argument(help: "The policy that is compared with it.", completion: .file(extensions: ["yaml", "yml"])) var new:
    String
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let difference = PolicyDifference(from: try PolicyInput.policy(at: old), to: try PolicyInput.policy(at: new))
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
