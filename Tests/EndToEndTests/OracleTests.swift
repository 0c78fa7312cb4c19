import Foundation
import Glibc
import LinuxSystem
import PluginHost
import PolicyLab
import Sandbox
import TestSupport
import Testing

/// strace is an oracle of what a plugin tries, which knows nothing of policies: each behaviour that may run without walls does so in
/// namespaces of its own, and again inside the walls. What worked there and fails here was refused, and has to be in the report.
@Suite(.ownThreads, .timeLimit(.minutes(10)), .enabled(if: geteuid() == 0, "strace attaches as root alone"))
struct OracleTests {
  private static let mark = "outrider-oracle-begins"
  /// Answers of limits and of the plugin's own mistakes, not of a wall.
  private static let notRefusals: Set<String> = [
    "EMFILE", "EFBIG", "EAGAIN", "ENOMEM", "ENOSPC", "EINTR", "EBADF", "ECHILD", "EEXIST", "ESRCH",
  ]
  /// What the filter answers itself and nobody records (docs/security.md): with ENOSYS, so that the C library goes another way,
  /// and the sockets that it tries before it reads files.
  private static let unrecorded: Set<String> = ["clone3", "sendfile", "splice", "tee"]
  private static let probing: Set<String> = [
    "H85 h85_socket udp-as-resolver", "H143 h85_socket udp-as-resolver", "H120 h120_asks",
  ]

  struct Figures {
    var rows = 0
    var refused = 0
    /// Refused, and not in the report.
    var missed: [String] = []
    var denials = 0
    /// In the report, and not seen by strace.
    var unconfirmed: [String] = []
  }

  private static let shares = 4

  @Test("what works without walls and fails inside them is in the report, and nothing else is", arguments: 0..<shares)
  func corpus(share: Int) async throws {
    let rows = (CorpusTests.corpus?.rows ?? []).filter { $0.hasControl && $0.symbol != nil }
    try #require(rows.count > 100)
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try Workspace.host()
    defer { host.stop() }
    var figures = Figures()
    for (index, row) in rows.enumerated() where index % Self.shares == share {
      try await Self.compare(row, host, folder, &figures)
    }
    print("oracle: \(figures.refused) of \(figures.rows) rows' calls refused, \(figures.denials) denials reported")
    #expect(figures.missed.isEmpty)
    #expect(figures.unconfirmed.isEmpty)
    #expect(figures.refused > 20 && figures.denials > 20, "the oracle sees nothing")
  }

  private static func compare(
    _ row: Corpus.Row, _ host: PluginHost, _ folder: String, _ figures: inout Figures
  ) async throws {
    let outside = try outside(row, folder)
    let (inside, report) = try await inside(row, host, folder)
    figures.rows += 1
    struct Key: Hashable { var name: String, path: String? }
    func key(_ call: StraceLog.Call) -> Key { Key(name: call.name, path: call.path) }
    let worked = Set(outside.filter { $0.error == nil }.map(key))
    let works = Set(inside.filter { $0.error == nil && $0.hasReturned }.map(key))
    let failed = Set(inside.filter { $0.error.map { !notRefusals.contains($0) } ?? false }.map(key))
    for key in failed where worked.contains(key) && !works.contains(key) {
      if unrecorded.contains(key.name) || key.name == "socket" && probing.contains(row.name) { continue }
      figures.refused += 1
      let isReported = report.denials.contains { denial in
        // Paths are named for files alone; of the runtime, which no policy lets a plugin change, the folder is.
        isOf(denial, key.name)
          && (denial.layer != "files"
            || key.path.map { denial.target.contains($0) || denial.writes && $0.hasPrefix(denial.target + "/") } ?? true)
      }
      if !isReported { figures.missed.append("\(row.name): \(key.name)(\(key.path ?? ""))") }
    }
    for denial in report.denials {
      figures.denials += 1
      let isConfirmed = inside.contains { isOf(denial, $0.name) && ($0.error != nil || !$0.hasReturned) }
      if !isConfirmed { figures.unconfirmed.append("\(row.name): \(denial.operation)(\(denial.target))") }
    }
  }

  /// The host sees the packet by which a connection begins, and not by which call it was sent.
  private static func isOf(_ denial: RunReport.Denial, _ call: String) -> Bool {
    denial.operation == call || denial.layer == "network" && call == "sendto"
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
    let text = (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)) ?? ""
    // The first process waits for the one that behaves.
    let calls = StraceLog(text, withoutFirst: true).calls
    guard let start = calls.firstIndex(where: { $0.name == "write" && $0.path == mark }) else { return [] }
    return Array(calls[calls.index(after: start)...])
  }

  private static func inside(
    _ row: Corpus.Row, _ host: PluginHost, _ folder: String
  ) async throws -> ([StraceLog.Call], RunReport) {
    var policy = row.policy(over: Policy())
    policy.observesFiles = true
    let plugin = try await host.load("\(Workspace.root)/Plugins/hostile/\(row.library)", policy: policy)
    let process = try #require(await plugin.runnerProcess())
    let log = "\(folder)/inside"
    try? FileManager.default.removeItem(atPath: log)
    let strace = TestProcess()
    strace.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
    strace.arguments = ["-f", "-s", "4096", "-o", log, "-p", "\(process)"]
    let errors = Pipe.own()
    strace.standardError = errors
    try strace.run()
    // It says so once it is attached.
    var said = Data()
    while !String(decoding: said, as: UTF8.self).contains("attached") {
      let more = errors.fileHandleForReading.availableData
      guard !more.isEmpty else { break }
      said += more
    }
    let arguments = row.arguments.map { word in Int64(word).map { CallArgument.integer($0) } ?? .text(word) }
    _ = try? await plugin.call(row.symbol ?? "", row.signature, arguments: arguments)
    let report = await plugin.end()
    _ = errors.fileHandleForReading.readDataToEndOfFile()
    strace.waitUntilExit()
    let text = (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)) ?? ""
    return (StraceLog(text).calls, report)
  }
}
