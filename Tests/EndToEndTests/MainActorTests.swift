import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What an entry point leaves for the main actor has been done when it has returned.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct MainActorTests {
  private static let library = Result {
    try SwiftExtension.build([
      "Downloader.swift": """
      import BackgroundAssets
      import Foundation
      import os

      private let log = Logger(subsystem: "sample", category: "x")

      @MainActor final class Library {
        static let shared = Library()
        private(set) var assets: [String: URL] = [:]

        func install(_ name: String, from staged: URL) async throws {
          let folder = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.sample")!
          let destination = folder.appendingPathComponent(name)
          try? FileManager.default.removeItem(at: destination)
          try await Task.detached { try FileManager.default.moveItem(at: staged, to: destination) }.value
          assets[name] = destination
          log.log("install done")
        }

        var isAlone: Bool { Thread.isMainThread }
        func loiter() { usleep(200) }
      }

      @main
      struct Downloader: BADownloaderExtension {
        nonisolated init() {}
        nonisolated func downloads(
          for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
        ) -> Set<BADownload> {
          if request == .update {
            log.log("request done")
            while open("/dev/null", O_RDONLY) >= 0 {}
            return []
          }
          Task { @MainActor in log.log("request done") }
          return [
            BAURLDownload(
              identifier: "install", request: URLRequest(url: URL(string: "https://e.example.com/")!), essential: false,
              fileSize: 12, applicationGroupIdentifier: "group.sample", priority: .default)
          ]
        }

        nonisolated func backgroundDownload(_ finished: BADownload, finishedWithFileURL fileURL: URL) {
          switch finished.identifier {
          case "install":
            let staged = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
            guard (try? FileManager.default.moveItem(at: fileURL, to: staged)) != nil else { return }
            Task { try await Library.shared.install("install", from: staged) }
          case "hops":
            Task {
              for _ in 0..<20 {
                await Library.shared.loiter()
                usleep(200)
                await withTaskGroup { group in for _ in 0..<3 { group.addTask { await Library.shared.loiter() } } }
                await Task.yield()
              }
              log.log("hops done")
            }
          case "queue":
            DispatchQueue.main.async {
              Task { @MainActor in
                DispatchQueue.main.async {
                  MainActor.assumeIsolated { log.log("queue \\(Library.shared.isAlone ? "done" : "", privacy: .public)") }
                }
              }
            }
          case "isolated":
            Task { @MainActor in
              MainActor.preconditionIsolated()
              Self.inner()
              await Task.yield()
              let stream = AsyncStream { continuation in
                Task.detached { for number in 0..<3 { continuation.yield(number) }; continuation.finish() }
              }
              var sum = 0
              for await number in stream { sum += number }
              log.log("isolated \\(sum == 3 && Library.shared.isAlone ? "done" : "", privacy: .public)")
            }
          default:
            Task { @MainActor in while !Task.isCancelled { await Task.yield() } }
          }
        }

        private nonisolated static func inner() { MainActor.assumeIsolated { Library.shared.loiter() } }
      }
      """
    ])
  }

  /// What new projects of Xcode 26 are set to.
  private static let mainByDefault = Result {
    try SwiftExtension.build(
      [
        "Downloader.swift": """
        import BackgroundAssets
        import ExtensionFoundation
        import os

        let log = Logger(subsystem: "sample", category: "x")

        @main
        struct Downloader: BADownloaderExtension {
          nonisolated func downloads(
            for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
          ) -> Set<BADownload> {
            Task { await self.note("request") }
            return [
              BAURLDownload(
                identifier: "one", request: URLRequest(url: URL(string: "https://e.example.com/")!), essential: false,
                fileSize: 12, applicationGroupIdentifier: "group.sample", priority: .default)
            ]
          }

          nonisolated func backgroundDownload(_ finished: BADownload, finishedWithFileURL fileURL: URL) {
            Task { @MainActor in
              try await BADownloadManager.shared.withExclusiveControl { @Sendable in }
              self.note("one")
            }
          }

          func note(_ name: String) { log.log("\\(name, privacy: .public) done") }
        }
        """
      ], options: "-default-isolation MainActor -enable-upcoming-feature NonisolatedNonsendingByDefault")
  }

  private static func options(in folder: String) throws -> PluginHost.LoadOptions {
    try FileManager.default.createDirectory(atPath: folder + "/container", withIntermediateDirectories: true)
    var options = PluginHost.LoadOptions()
    options.container = folder + "/container"
    options.manifest = folder + "/manifest"
    options.isExtension = true
    try "{}".write(toFile: folder + "/manifest", atomically: false, encoding: .utf8)
    return options
  }

  private static func rounds(
    _ library: String, _ names: [String], within limit: Duration? = nil
  ) async throws -> [RunReport] {
    let folder = NSTemporaryDirectory() + "outrider-main-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try Workspace.host()
    let options = try options(in: folder)
    var reports: [RunReport] = []
    for _ in 0..<(Int(ProcessInfo.processInfo.environment["ROUNDS"] ?? "") ?? 10) {
      let plugin = try await host.load(
        library, policy: Policy(limits: Limits(wallTime: .seconds(20))), options: options)
      var download = try #require(try await plugin.contentRequest(.periodic).accepted.first)
      for name in names {
        download.identifier = name
        try "12345".write(toFile: folder + "/file", atomically: false, encoding: .utf8)
        try? await plugin.downloadFinished(download, file: folder + "/file", within: limit)
      }
      reports.append(await plugin.end())
    }
    return reports
  }

  @Test(arguments: ["install", "hops", "queue", "isolated"]) func isDone(_ name: String) async throws {
    for report in try await Self.rounds(Self.library.get(), [name]) {
      let messages = report.log.map(\.message)
      #expect(messages == ["request done", "\(name) done"], "\(report.outcome)")
    }
  }

  @Test func isDoneWhereAllIsTheMainActors() async throws {
    for report in try await Self.rounds(Self.mainByDefault.get(), ["one"]) {
      #expect(report.log.map(\.message) == ["request done", "one done"], "\(report.outcome)")
    }
  }

  /// The main queue's descriptor is there before the extension takes all.
  @Test func usedUpDescriptorsEndNothing() async throws {
    let folder = NSTemporaryDirectory() + "outrider-main-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let host = try Workspace.host()
    let plugin = try await host.load(Self.library.get(), options: try Self.options(in: folder))
    #expect(try await plugin.contentRequest(.update).accepted.isEmpty)
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned && report.log.map(\.message) == ["request done"])
  }

  /// The limit is the call's own: to load the extension may take as long on a machine that does other work.
  @Test func endsByTheClockWhenItNeverComesToRest() async throws {
    for report in try await Self.rounds(Self.library.get(), ["endless"], within: .milliseconds(300)) {
      #expect(report.outcome.kind == .wallTimeExceeded)
    }
  }
}
