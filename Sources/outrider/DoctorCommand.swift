internal import ArgumentParser
internal import Foundation
internal import PluginHost
internal import Sandbox

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Says of each wall and limit whether this machine and this user have it.",
    discussion: """
      Walls are what a run would have now. Limits are proved: a runner exceeds each on purpose, and one that doesn't bite
      is reported as not in force. Exit status 69 when a limit doesn't.

      EXAMPLE
        outrider doctor --json
      """)

  @Flag(help: "Print one JSON object on standard output.") var json = false

  struct Facts: Encodable {
    var sandbox: [String: WallState]
    var limits: [Canary.Finding]
  }

  func run() async {
    do {
      let host = try SandboxOptions.parse([]).makeHost()
      let walls = try await host.walls()
      let findings = await Canary(host: host).run()
      host.stop()
      if json {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let facts = Facts(
          sandbox: Dictionary(uniqueKeysWithValues: walls.map { ($0.key.rawValue, $0.value) }), limits: findings)
        Output.line(String(decoding: try encoder.encode(facts), as: UTF8.self))
      } else {
        Output.table(
          ["WALL", "STATE", "DETAIL"],
          Wall.allCases.map { [$0.rawValue, walls[$0]?.state.rawValue ?? "absent", walls[$0]?.detail ?? ""] })
        Output.line("")
        Output.table(
          ["LIMIT", "IN FORCE", "PROOF"], findings.map { [$0.limit, $0.isInForce ? "yes" : "NO", $0.detail] })
      }
      Exit.leave(findings.allSatisfy(\.isInForce) ? 0 : 69)
    } catch {
      Exit.with(error)
    }
  }
}
