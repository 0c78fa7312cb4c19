import Foundation
import Glibc
import HostProtocol
import LinuxSystem
import PluginHost
import PolicyLab
import Sandbox
import TestSupport
import Testing

/// Each behaviour of the corpus that may run without walls does so in namespaces of its own, and again inside the walls.
@Suite(.ownThreads, .timeLimit(.minutes(10)), .enabled(if: geteuid() == 0, "strace attaches as root alone"))
struct OracleTests {
  private static let mark = "outrider-oracle-begins"
  /// The sockets that the C library tries before it reads files: the filter answers those itself.
  private static let probing: Set<String> = [
    "H85 h85_socket udp-as-resolver", "H143 h85_socket udp-as-resolver", "H120 h120_asks",
  ]

  private static let shares = 4
  private static let sum = Oracle.Sum("corpus", parts: shares)

  @Test("what works without walls and fails inside them is in the report, and nothing else is", arguments: 0..<shares)
  func corpus(share: Int) async throws {
    let rows = (CorpusTests.corpus?.rows ?? []).filter { $0.hasControl && $0.symbol != nil }
    try #require(rows.count > 100)
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try Workspace.host()
    defer { host.stop() }
    var figures = Oracle.Figures()
    for (index, row) in rows.enumerated() where index % Self.shares == share {
      let outside = try Self.outside(row, folder)
      let (inside, denials) = try await Self.inside(row, host, folder)
      figures += Oracle.compare(
        row.name, outside: outside, inside: inside, denials: denials,
        ignoring: Self.probing.contains(row.name) ? ["socket"] : [])
    }
    if let sum = Self.sum.add(figures) { #expect(sum.refused > 100 && sum.denials > 100, "the oracle sees nothing") }
    #expect(figures.missed.isEmpty)
    #expect(figures.unconfirmed.isEmpty)
  }

  /// As control-check runs it: in an empty folder, as root of namespaces of its own, with three seconds.
  private static func outside(_ row: Corpus.Row, _ folder: String) throws -> [StraceLog.Call] {
    let log = "\(folder)/outside"
    try? FileManager.default.removeItem(atPath: log)
    let words = [row.symbol ?? "", row.signature] + row.arguments
    let command = """
      rm -rf '\(folder)/home' '\(folder)/build'; mkdir '\(folder)/build'; find '\(Workspace.hostile)' -maxdepth 1 -type f -exec cp -t '\(folder)/build' {} +
      mkdir '\(folder)/home' '\(folder)/home/tmp'; cp '\(folder)/build/good.so' '\(folder)/home/stand-in'; cd '\(folder)/home'
      export HOME='\(folder)/home' TMPDIR='\(folder)/home/tmp' HOSTILE_CANARY=token HOSTILE_STAND_IN='\(folder)/home/stand-in'
      timeout -k 1 3 unshare --mount --uts --ipc --net --pid --fork --mount-proc sh -c 'sleep 4 >/dev/null 2>&1 & "$@"' sh \\
        env CONTROL_MARK=\(mark) strace -f -s 4096 -o '\(log)' '\(folder)/build/standalone' '\(folder)/\(row.library)' "$@"
      """
    _ = try Workspace.run(["-c", command, "sh"] + words, program: "/bin/sh")
    // The first process waits for the one that behaves. What the plugin has elsewhere inside is named as there.
    let calls = StraceLog(
      Oracle.text(of: log),
      renamed: [
        "\(folder)/home/stand-in": "\(RunnerView.bundle)/libhostile.so", "\(folder)/home/tmp": "/tmp",
        "\(folder)/home": RunnerView.container,
      ], withoutFirst: true
    ).calls
    guard let start = calls.firstIndex(where: { $0.name == "write" && $0.path == mark }) else { return [] }
    return Array(calls[calls.index(after: start)...])
  }

  private static func inside(
    _ row: Corpus.Row, _ host: PluginHost, _ folder: String
  ) async throws -> ([StraceLog.Call], [Observed.Denial]) {
    var policy = row.policy(over: Policy())
    policy.observesFiles = true
    let plugin = try await host.load("\(Workspace.root)/Plugins/hostile/\(row.library)", policy: policy)
    let strace = try Oracle.Attached(to: try #require(await plugin.runnerProcess()), log: "\(folder)/inside")
    strace.waitUntilAttached()
    let arguments = row.arguments.map { word in Int64(word).map { CallArgument.integer($0) } ?? .text(word) }
    _ = try? await plugin.call(row.symbol ?? "", row.signature, arguments: arguments)
    let report = await plugin.end()
    return (strace.calls(), Observed(report, nil as RunnerMessage.CallResult?).denials)
  }
}
