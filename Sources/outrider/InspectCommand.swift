internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import HostProtocol
internal import PluginHost
internal import Sandbox

struct InspectCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "inspect", abstract: "Says what an extension is: ABI, entry points, what it needs, its bundle.",
    discussion: """
      The file is read without loading it; the table of entry points is then asked for inside the walls. A name without \
      '/' is looked up as `call` does, and otherwise in the working directory. The first 64 exports are named, with \
      --json 65,536.

      EXAMPLES
        outrider inspect SessionsDownloader.appex
        outrider inspect libz.so.1 --json
      """)

  @Argument(help: "A .so, an .appex folder, or a name such as libz.so.1.", completion: .file()) var `extension`: String
  @Flag(help: "Print one JSON object on standard output.") var json = false

  struct Facts: Encodable {
    var file: String
    var sha256: String
    var bundleIdentifier: String?
    var kind: String
    var abiVersion: UInt32?
    var name: String?
    var entryPoints: [RunnerMessage.EntryPoint]
    var needed: [String]
    var neighbours: [String]
    var runpath: [String]
    /// Of so many, the first by their names.
    var exportCount: Int
    var exports: [String]
    /// Whether the file has more than are read.
    var exportsAreCut: Bool
    var problem: String?
  }

  func run() async {
    do {
      let image = try PluginImage(
        opening: `extension`, searching: PluginImage.isFoundByLoader(`extension`), readsExports: true)
      var facts = Facts(
        file: image.library.path, sha256: image.digest,
        bundleIdentifier: image.bundle == nil ? nil : image.bundleIdentifier,
        kind: "library", entryPoints: [], needed: image.elf?.needed ?? [], neighbours: image.neighbours.map(\.path),
        runpath: image.elf?.runpath ?? [], exportCount: image.elf?.exports.count ?? 0,
        exports: Array((image.elf?.exports ?? []).prefix(Self.maxInJSON)),
        exportsAreCut: image.elf?.exportsAreCut ?? false,
        problem: image.formatError.map { "\(Printable.text(image.library.path)): \($0)" })
      // Nothing is known of it but that.
      if !json, image.elf == nil { Exit.leave(Outcome.Kind.loadFailed.exitStatus, facts.problem) }
      var status: Int32 = 0
      if image.elf?.exports.contains("background_assets_extension") == true {
        facts.kind = "extension"
        status = await ask(&facts, image)
      } else if image.formatError != nil {
        status = Outcome.Kind.loadFailed.exitStatus
      }
      if json {
        try Output.json(facts)
      } else {
        show(facts)
      }
      Exit.leave(status, facts.problem)
    } catch {
      Exit.with(error)
    }
  }

  private static let maxInJSON = 65_536
  private static let maxShown = 64

  private func ask(_ facts: inout Facts, _ image: PluginImage) async -> Int32 {
    do {
      let host = try SandboxOptions.parse([]).makeHost()
      defer { host.stop() }
      var options = PluginHost.LoadOptions()
      options.isExtension = true
      let plugin = try await host.load(image.bundle?.path ?? image.library.path, options: options)
      facts.kind = plugin.image.isSwift ? "Swift extension" : "extension"
      facts.abiVersion = plugin.image.abiVersion
      facts.name = plugin.image.name
      facts.entryPoints = plugin.image.entryPoints
      _ = await plugin.end()
      return 0
    } catch let HostError.ended(report) {
      facts.problem = "\(report.outcome.kind.rawValue): \(report.outcome.detail)"
      return report.outcome.kind.exitStatus
    } catch {
      facts.problem = "\(error)"
      return 70
    }
  }

  private func show(_ facts: Facts) {
    var rows = [["file", facts.file], ["sha256", facts.sha256], ["kind", facts.kind]]
    if let identifier = facts.bundleIdentifier { rows.append(["bundle", identifier]) }
    if let name = facts.name { rows.append(["name", name]) }
    if let version = facts.abiVersion { rows.append(["ABI", "\(version)"]) }
    for entry in facts.entryPoints { rows.append(["entry point", "\(entry.name)  \(entry.signature)"]) }
    for needed in facts.needed { rows.append(["needs", needed]) }
    for path in facts.neighbours { rows.append(["beside it", path]) }
    for path in facts.runpath { rows.append(["run path", path]) }
    rows.append(["exports", "\(facts.exportCount) symbols" + (facts.exportsAreCut ? " and more" : "")])
    for name in facts.exports.prefix(Self.maxShown) { rows.append(["", name]) }
    let others = facts.exportCount - Self.maxShown
    if others > 0 {
      rows.append([
        "", "… and \(others) others" + (facts.exportCount > facts.exports.count ? "" : "; --json names them"),
      ])
    }
    for row in rows {
      Output.line(row[0].padding(toLength: 13, withPad: " ", startingAt: 0) + Printable.text(row[1], limit: 300))
    }
  }
}
