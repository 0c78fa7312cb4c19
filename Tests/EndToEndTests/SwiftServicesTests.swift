import AssetModel
import Foundation
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

/// The same as an extension in Swift sees it.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct SwiftServicesTests {
  private static let library = Result {
    try SwiftExtension.build([
      "Downloader.swift": """
      import BackgroundAssets
      import OSLog

      private let log = Logger(subsystem: "sample", category: "x")

      @main
      struct Downloader: BADownloaderExtension {
        nonisolated init() {}

        nonisolated func downloads(
          for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
        ) -> Set<BADownload> {
          for group in ["group.one", "group.two", "group.foreign"] {
            let url = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
            log.log("\\(group, privacy: .public) \\(url?.path ?? "nil", privacy: .public)")
          }
          let (rest, essential) = (
            extensionInfo.restrictedDownloadSizeRemaining, extensionInfo.restrictedEssentialDownloadSizeRemaining)
          log.log("left \\(rest ?? -1) \\(essential ?? -1)")
          return []
        }

        nonisolated func backgroundDownload(_ finished: BADownload, finishedWithFileURL fileURL: URL) {
          let fileManager = FileManager.default
          do {
            let container = fileManager.containerURL(forSecurityApplicationGroupIdentifier: "group.two")!
            let place = try fileManager.url(
              for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: container, create: true)
            let moved = place.appendingPathComponent("file")
            try fileManager.moveItem(at: fileURL, to: moved)
            // Once control is given back, nothing keeps the extension running.
            Task {
              try await BADownloadManager.shared.withExclusiveControl {
                do {
                  try fileManager.moveItem(at: moved, to: container.appendingPathComponent("taken"))
                  try BADownloadManager.shared.scheduleDownload(
                    BAURLDownload(
                      identifier: "next", request: URLRequest(url: URL(string: "https://e.example.com/")!),
                      essential: false, fileSize: 1, applicationGroupIdentifier: "group.two", priority: .default))
                } catch {
                  log.log("then \\((error as NSError).domain, privacy: .public) \\((error as NSError).code)")
                }
              }
            }
          } catch {
            log.log("failed \\("\\(error)", privacy: .public)")
          }
        }

        nonisolated func backgroundDownload(
          _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
          await Task.yield()
          let user = download.identifier == "long" ? String(repeating: "é", count: 128) : "user of \\(challenge.protectionSpace.host)"
          return (.useCredential, URLCredential(user: user, password: "s3cret", persistence: .none))
        }
      }
      """
    ])
  }

  private func load(_ scene: ExtensionScene) async throws -> Plugin {
    try await scene.host.load(Self.library.get(), policy: Policy(limits: scene.limits), options: scene.options)
  }

  @Test("B64, L16: containers and what is left, in Swift") func seesItsGroups() async throws {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let plugin = try await load(scene)
    _ = try await plugin.contentRequest(
      .install, remaining: 5, essentialRemaining: nil, rules: DownloadRules(request: .install))
    let places = ["one", "two"].compactMap { plugin.view(of: "\(scene.folder)/\($0)") }
    let expected = ["group.one \(places[0])", "group.two \(places[1])", "group.foreign nil", "left 5 -1"]
    #expect(await plugin.end().messages == expected)
  }

  @Test("B58, B69: a file moved to the replacement directory is taken under exclusive control, however long that takes")
  func takesUnderControl() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let desk = ExtensionDesk(
      schedule: { 112 },
      acquire: { _ in
        for await _ in gate { break }
        return 0
      })
    var scene = try ExtensionScene(desk)
    defer { scene.remove() }
    scene.limits.wallTime = .seconds(2)
    let path = scene.folder + "/lease/file"
    try Data("content".utf8).write(to: URL(fileURLWithPath: path))
    let inode = try Files.identity(of: path).inode
    let plugin = try await load(scene)
    async let handover = plugin.downloadFinished(ExtensionScene.download("a", group: "group.two"), moving: path)
    await desk.until("acquire forever")
    let begun = BootClock.now
    while BootClock.now - begun < .seconds(4) { try await Task.sleep(for: .milliseconds(50)) }
    open.yield()
    #expect(try await handover.file == .moved)
    let report = await plugin.end()
    #expect(report.messages == ["then BAErrorDomain 112"] && report.outcome.kind == .returned, "\(report.messages)")
    #expect(try Files.identity(of: scene.folder + "/two/taken").inode == inode)
    await desk.until("ended")
    #expect(desk.events.count { $0 == "release" } == 1)
  }

  @Test("B71: a credential comes back, and one that is too long cancels") func answersChallenges() async throws {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let plugin = try await load(scene)
    let question = ChallengeDescription(
      host: "e.example.com", port: 443, protocolName: "https", realm: "films",
      authenticationMethod: "NSURLAuthenticationMethodHTTPBasic", previousFailureCount: 0)
    let decision = try await plugin.authenticationChallenge(ExtensionScene.download("short"), question)
    #expect(decision.credential == .init(user: "user of e.example.com", password: "s3cret"))
    let long = try await plugin.authenticationChallenge(ExtensionScene.download("long"), question)
    #expect(long == ChallengeDecision(.cancel))
    let report = await plugin.end()
    #expect(report.statuses.map(\.status) == [0, -1])
    #expect(!report.messages.contains { $0.contains("s3cret") || $0.contains("éé") }, "\(report.messages)")
  }
}
