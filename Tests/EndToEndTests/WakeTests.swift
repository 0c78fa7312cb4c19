import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What Apple's runtime does for an extension between its entry points and its end.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct WakeTests {
  private static let library = Result {
    try SwiftExtension.build([
      "Downloader.swift": """
      import BackgroundAssets
      import Foundation
      import OSLog

      private let log = Logger(subsystem: "sample", category: "x")

      @main
      struct Downloader: BADownloaderExtension {
        nonisolated init() {}
        nonisolated func downloads(
          for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
        ) -> Set<BADownload> {
          let (own, shared) = (UserDefaults.standard, UserDefaults(suiteName: "group.sample")!)
          log.log("defaults \\(own.integer(forKey: "n")) \\(shared.integer(forKey: "n"))")
          own.set(own.integer(forKey: "n") + 1, forKey: "n")
          shared.set(shared.integer(forKey: "n") + 2, forKey: "n")
          return Set(["a", "b"].map { download($0) } + [download("a", "https://e.example.com/twice")])
        }

        nonisolated func backgroundDownload(_ finished: BADownload, finishedWithFileURL fileURL: URL) {
          let name = finished.identifier
          if name == "endless" { Task { while !Task.isCancelled {} } }
          Task {
            let count = try await BADownloadManager.shared.withExclusiveControl {
              try BADownloadManager.shared.fetchCurrentDownloads().count
            }
            log.log("control \\(name, privacy: .public) \\(count)")
            await MainActor.run { log.log("main \\(name, privacy: .public)") }
            let current = try await BADownloadManager.shared.currentDownloads
            log.log("later \\(name, privacy: .public) \\(current.count)")
          }
        }

        nonisolated func backgroundDownload(_ failed: BADownload, failedWithError error: any Error) {
          let (name, error) = (failed.identifier, error as NSError)
          log.log("failed \\(name, privacy: .public) \\(error.domain, privacy: .public) \\(error.code)")
          try? BADownloadManager.shared.scheduleDownload(failed)
          let states = (try? BADownloadManager.shared.fetchCurrentDownloads()) ?? []
          log.log("current \\(states.map { "\\($0.identifier)=\\($0.state.rawValue)" }.sorted().joined(separator: ","), privacy: .public)")
          Task(priority: .background) { log.log("task \\(name, privacy: .public)") }
          BADownloadManager.shared.withExclusiveControl { _, _ in UserDefaults.standard.set(40, forKey: "n") }
        }

        nonisolated func extensionWillTerminate() { log.log("will terminate") }

        private nonisolated func download(_ name: String, _ url: String = "https://e.example.com/") -> BADownload {
          var request = URLRequest(url: URL(string: url)!)
          request.httpBody = Data([0xff, 0xfe, 0, 0x80])
          return BAURLDownload(
            identifier: name, request: request, essential: false, fileSize: 12,
            applicationGroupIdentifier: "group.sample", priority: .default)
        }
      }
      """,
      "Store.swift": """
      import Foundation

      @_cdecl("replaces") public func replaces() -> Int32 {
        let folder = FileManager.default.temporaryDirectory
        let (old, new) = (folder.appendingPathComponent("old"), folder.appendingPathComponent("new"))
        do {
          try Data("old".utf8).write(to: old)
          try Data("new".utf8).write(to: new)
          _ = try FileManager.default.replaceItemAt(old, withItemAt: new)
          return try String(contentsOf: old, encoding: .utf8) == "new" ? 1 : 0
        } catch {
          return -1
        }
      }
      """,
    ])
  }

  private struct Scene {
    let folder = NSTemporaryDirectory() + "outrider-wake-\(UUID().uuidString)"
    let host: PluginHost
    var options = PluginHost.LoadOptions()

    init() throws {
      try FileManager.default.createDirectory(atPath: folder + "/container", withIntermediateDirectories: true)
      try "12345".write(toFile: folder + "/file", atomically: false, encoding: .utf8)
      host = try Workspace.host()
      options.container = folder + "/container"
      options.manifest = folder + "/file"
      options.isExtension = true
    }

    func load(_ limits: Limits = Limits()) async throws -> Plugin {
      try await host.load(WakeTests.library.get(), policy: Policy(limits: limits), options: options)
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
  }

  private static func messages(_ report: RunReport) -> [String] { report.log.map(\.message) }

  @Test func bodiesAreBytes() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let plugin = try await scene.load()
    let verdict = try await plugin.contentRequest(.periodic)
    #expect(!verdict.accepted.isEmpty && verdict.accepted.allSatisfy { $0.body == [0xff, 0xfe, 0, 0x80] })
    _ = await plugin.end()
  }

  @Test func theEndIsAnnounced() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let plugin = try await scene.load()
    try await plugin.willTerminate()
    let report = await plugin.end()
    #expect(Self.messages(report).last == "will terminate" && report.outcome.kind == .returned, "\(report)")
  }

  @Test func tasksOfAnEntryPointComeToRest() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    for round in 1...5 {
      let plugin = try await scene.load()
      let verdict = try await plugin.contentRequest(.periodic)
      for download in verdict.accepted {
        try await plugin.downloadFinished(download, file: scene.folder + "/file")
      }
      try await plugin.downloadFailed(
        verdict.accepted[0], error: .init(domain: "NSURLErrorDomain", code: -1, description: ""))
      let report = await plugin.end()
      let messages = Self.messages(report)
      for message in ["control a 0", "main a", "later a 0", "control b 0", "main b", "later b 0", "task a"] {
        #expect(messages.contains(message), "round \(round): \(messages) \(report.outcome)")
      }
    }
  }

  @Test func aTaskThatNeverEndsIsEndedByTheClock() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let plugin = try await scene.load(Limits(wallTime: .milliseconds(500)))
    var download = try #require(try await plugin.contentRequest(.periodic).accepted.first)
    download.identifier = "endless"
    await #expect(throws: HostError.self) {
      try await plugin.downloadFinished(download, file: scene.folder + "/file")
    }
    #expect(await plugin.end().outcome.kind == .wallTimeExceeded)
  }

  /// Though every wake ends with a kill.
  @Test func defaultsAreKept() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    for expected in ["defaults 0 0", "defaults 1 2", "defaults 2 4"] {
      let plugin = try await scene.load()
      _ = try await plugin.contentRequest(.periodic)
      #expect(Self.messages(await plugin.end()).contains(expected))
    }
    let plugin = try await scene.load()
    let download = try #require(try await plugin.contentRequest(.periodic).accepted.first)
    try await plugin.downloadFailed(download, error: .init(domain: "NSURLErrorDomain", code: -1, description: ""))
    _ = await plugin.end()
    let last = try await scene.load()
    _ = try await last.contentRequest(.periodic)
    #expect(Self.messages(await last.end()).contains("defaults 40 8"))
  }

  /// In a source that imports Foundation and nothing else.
  @Test func replacingAFileKeepsTheNewVersion() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let plugin = try await scene.load()
    #expect(try await plugin.call("replaces", "i32()").value == .signed(1))
    _ = await plugin.end()
  }

  /// What the content request answered goes on in the rest of the run, and what was rejected is told.
  @Test func theCommandKeepsWhatWasAnswered() throws {
    let scene = try Scene()
    defer { scene.remove() }
    let finished = try Workspace.run([
      "run", try Self.library.get(), "--request", "periodic", "--manifest", scene.folder + "/file", "--json",
      "--container", scene.folder + "/container", "--finished", "b=" + scene.folder + "/file", "--failed", "a=-1001",
    ])
    #expect(finished.status == 0, "\(finished.errors)")
    let object = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
    let log = (object?["log"] as? [[String: Any]] ?? []).compactMap { $0["message"] as? String }
    // The rejected one isn't scheduled again: its name is that of one that is.
    #expect(log.filter { $0.hasPrefix("failed") } == ["failed a BAErrorDomain 100", "failed a NSURLErrorDomain -1001"])
    #expect(log.filter { $0.hasPrefix("current") } == ["current a=1,b=1", "current a=1"])
    #expect(log.contains("control b 1"))
    let scheduled = object?["scheduled"] as? [[String: Any]]
    #expect(scheduled?.map { $0["identifier"] as? String } == ["a"])
  }
}
