import AssetModel
import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What the extensions' header promises, as an extension in C sees it (`Plugins/hostile/contract.c`).
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ContractTests {
  static let library = Workspace.hostile + "/contract.so"

  private static func load(_ host: PluginHost, _ manifest: String) async throws -> Plugin {
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = true
    return try await host.load(library, options: options)
  }

  private func wake(
    _ body: (Plugin, DownloadRules.Verdict, String) async throws -> Void
  ) async throws -> (verdict: DownloadRules.Verdict, report: RunReport) {
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    let host = try Workspace.host()
    let plugin = try await Self.load(host, manifest)
    let verdict = try await plugin.contentRequest(.install)
    try await body(plugin, verdict, manifest)
    return (verdict, await plugin.end())
  }

  private static let error = ErrorDescription(domain: "NSURLErrorDomain", code: -1001, description: "timed out")

  /// A body is bytes, not text: it arrives, and comes back, as it was.
  @Test func bodiesAreBytes() async throws {
    let (verdict, report) = try await wake { plugin, verdict, file in
      let download = try #require(verdict.accepted.first { $0.identifier == "bytes" })
      #expect(download.body == [0xff, 0xfe, 0, 0x80])
      try await plugin.downloadFinished(download, file: file)
    }
    #expect(verdict.accepted.first { $0.identifier == "most-bytes" }?.body == Array(repeating: 0xfe, count: 65_536))
    let rejected = try #require(verdict.rejected.first { $0.identifier == "too-many-bytes" })
    #expect(rejected.code == 102 && rejected.reason.contains("HTTP body"), "\(rejected)")
    #expect(report.log.contains { $0.message == "body ff fe 00 80" }, "\(report.log)")
  }

  @Test func headersAreNotDropped() async throws {
    let (verdict, _) = try await wake { _, _, _ in }
    #expect(verdict.accepted.first { $0.identifier == "most-headers" }?.headers.count == 64)
    let rejected = try #require(verdict.rejected.first { $0.identifier == "too-many-headers" })
    #expect(rejected.code == 102 && rejected.reason.contains("headers"), "\(rejected)")
  }

  @Test func theRoomThatIsNeededIsEnough() async throws {
    let (_, report) = try await wake { _, _, _ in }
    #expect(report.log.contains { $0.message == "container 1" }, "\(report.log)")
  }

  /// The content request is over once it has returned, though what it began goes on.
  @Test func whatGoesOnMaySchedule() async throws {
    let (_, report) = try await wake { _, _, _ in }
    #expect(report.log.contains { $0.message == "schedule 0" }, "\(report.log)")
    #expect(report.scheduled.map(\.identifier) == ["later"])
  }

  @Test func jumpsOutOfVisitorsHarmNoLaterCall() async throws {
    let (verdict, report) = try await wake { plugin, verdict, _ in
      plugin.adopt(verdict.accepted)
      for _ in 1...2 { try await plugin.downloadFailed(verdict.accepted[0], error: Self.error) }
    }
    // Beside those that were answered, the one that was scheduled.
    #expect(
      report.log.map(\.message).filter { $0.hasPrefix("current") }
        == Array(repeating: "current \(verdict.accepted.count + 1)", count: 2))
  }

  @Test("The end of a run is announced to its extension [B11]") func theEndIsAnnounced() async throws {
    let (_, report) = try await wake { plugin, _, _ in try await plugin.willTerminate() }
    #expect(report.log.last?.message == "will terminate", "\(report.log)")
    #expect(report.outcome.kind == .returned)
  }

  /// By the command line too, after everything else.
  @Test func runAnnouncesTheEnd() throws {
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    let end = try Workspace.run([
      "run", Self.library, "--request", "install", "--manifest", manifest, "--finished", "bytes=\(manifest)",
    ])
    #expect(end.status == 0, "\(end)")
    let body = try #require(end.errors.range(of: "body ff fe 00 80"), "\(end)")
    #expect(end.errors[body.upperBound...].contains("will terminate"), "\(end)")
  }

  /// A file for a download that wasn't asked for is nothing that a host would hand over.
  @Test(arguments: ["--finished", "--failed"]) func runKnowsWhatWasAskedFor(option: String) throws {
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    let end = try Workspace.run([
      "run", Self.library, "--request", "install", "--manifest", manifest, "--json", option,
      "stranger=\(option == "--failed" ? "-1001" : manifest)",
    ])
    #expect(end.status == 64, "\(end)")
    #expect(end.errors.contains("\(option) stranger: the extension didn't ask for it; it asked for "), "\(end.errors)")
    #expect(end.errors.contains("bytes") && !end.errors.contains("body ff"), "those that it knows: \(end.errors)")
    // What it answered isn't lost, and is the only object.
    let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    #expect((object?["downloads"] as? [Any])?.isEmpty == false)
  }

  @Test(
    "a download that both came and failed, or failed with no error, is none",
    arguments: [
      (["--finished", "bytes=MANIFEST", "--failed", "bytes=-1"], "contradict each other for bytes"),
      (["--failed", "bytes=0"], "0 is no failure"),
    ])
  func runRefusesContradictions(options: [String], sentence: String) throws {
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    let end = try Workspace.run(
      ["run", Self.library, "--request", "install", "--manifest", manifest]
        + options.map { $0.replacing("MANIFEST", with: manifest) })
    #expect(end.status == 64 && end.output.isEmpty && end.errors.contains(sentence), "\(end)")
  }

  /// As a shell hands over what another command prints, and as a named pipe.
  @Test(arguments: ["<(cat MANIFEST)", "PIPE", "/dev/stdin < <(cat MANIFEST)"])
  func aManifestMayBeAPipe(form: String) throws {
    let manifest = try Workspace.temporaryFile(Workspace.manifest)
    let pipe = manifest + ".pipe"
    let scratch = manifest + ".scratch"
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    defer { for path in [manifest, pipe, scratch] { try? FileManager.default.removeItem(atPath: path) } }
    let words = form.replacing("MANIFEST", with: manifest).replacing("PIPE", with: pipe)
    let end = try Workspace.run(
      [
        "-c",
        "mkfifo '\(pipe)'; cat '\(manifest)' > '\(pipe)' & feeder=$!; "
          + "TMPDIR='\(scratch)' '\(Workspace.outrider)' run '\(Self.library)' --request install --manifest \(words); "
          + "status=$?; kill -9 $feeder 2>/dev/null; exit $status",
      ], program: "/bin/bash")
    #expect(end.status == 0 && end.output.contains("downloads"), "\(end)")
    let left = try FileManager.default.contentsOfDirectory(atPath: scratch)
    #expect(left.isEmpty, "\(left)")
  }

  @Test func aPipeInAPluginsFolderIsNotWaitedFor() throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(mkfifo("\(folder)/m", 0o600) == 0)
    let end = try Workspace.run([
      "run", Self.library, "--request", "install", "--manifest", "\(folder)/m", "--container", folder,
    ])
    #expect(end.status == 66 && end.errors.contains("plugins may write to"), "\(end)")
  }

  @Test func aManifestWithoutEndIsNotRead() throws {
    let end = try Workspace.run(
      ["-c", "exec '\(Workspace.outrider)' run '\(Self.library)' --request install --manifest <(cat /dev/zero)"],
      program: "/bin/bash")
    #expect(end.status == 64 && end.errors.contains("more than 64 MiB"), "\(end)")
  }
}
