import DevelopmentOrigin
import Foundation
import ServiceClient
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

/// Extensions that set a delegate of their own while they run.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct ExtensionDelegateTests {
  private static let library = Result { try SwiftExtension.build(["Downloader.swift": source]) }

  private static func install(_ world: ServiceWorld) async throws {
    try world.start()
    _ = try await world.install(world.bundle(library: library.get()))
    try await world.waitUntilOpen()
  }

  private static func has(_ world: ServiceWorld, _ name: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(world.container)/\(name)")
  }

  @Test(
    "A running extension's delegate is told of what it scheduled; what it doesn't implement comes to the entry point (B31, B34)",
    arguments: ["whole", "partial"])
  func scheduled(delegate: String) async throws {
    let world = try ServiceWorld()
    world.publish([delegate: 1000])
    world.origin.set("/second", Resource(.pseudoRandom(seed: 4, count: 3 << 20)))
    try await Self.install(world)
    let place = delegate == "whole" ? "delegate-second" : "entry-second"
    try await world.wait("the file is taken") { Self.has(world, place) }
    try await world.wait("it is settled") { try await world.downloads().isEmpty }
    #expect(Self.has(world, "began-second"))
    #expect(Self.has(world, "progress-second") == (delegate == "whole"))
    #expect(!Self.has(world, delegate == "whole" ? "entry-second" : "delegate-second"), "one of them has it")
    try await world.wait("no run goes on") { try await world.runs().allSatisfy { $0.outcome.kind == "returned" } }
  }

  @Test("The app's delegate and the extension's are both told of one file, and it is settled once (B31)")
  func contested() async throws {
    let world = try ServiceWorld()
    world.publish(["whole": 1000])
    world.origin.set("/second", Resource(.pseudoRandom(seed: 4, count: 3 << 20)))
    try world.start()
    let told = Mutex<[String]>([])
    let session = Mutex<ServiceSession?>(nil)
    _ = try await world.install(world.bundle(library: Self.library.get()))
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app)) { message in
      guard case .call(let id, let event) = message else { return }
      if case .finished(let download, _) = event { told.withLock { $0.append(download.identifier) } }
      // The first file is the extension's own.
      session.withLock { $0 }?.answer(id, event.download.identifier == "whole" ? .unhandled : .handled)
    }
    session.withLock { $0 = app }
    defer {
      app.close()
      session.withLock { $0 = nil }
    }
    _ = try await app.request(.observe(isObserving: true))
    try await world.wait("the extension has it") { Self.has(world, "delegate-second") }
    try await world.wait("the app is told") { told.withLock { $0.contains("second") } }
    try await world.wait("it is settled") { try await world.downloads().isEmpty }
    #expect(told.withLock { $0.count { $0 == "second" } } == 1)
  }

  private static let source = #"""
    import BackgroundAssets

    private let group = "group.com.example.sessions"
    private let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)!

    private let place = container.appending(path: "base")

    private func note(_ text: String) { try? Data().write(to: container.appending(path: text)) }
    private func take(_ download: BADownload, _ file: URL, as kind: String) {
      try? FileManager.default.moveItem(at: file, to: container.appending(path: "\(kind)-\(download.identifier)"))
    }

    class Partial: NSObject, BADownloadManagerDelegate {
      func downloadDidBegin(_ download: BADownload) { note("began-\(download.identifier)") }
      func download(_ download: BADownload, failedWithError error: any Error) {
        note("failed-\(download.identifier) \((error as NSError).code)")
      }
    }

    final class Whole: NSObject, BADownloadManagerDelegate {
      func downloadDidBegin(_ download: BADownload) { note("began-\(download.identifier)") }
      func download(
        _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite totalExpectedBytes: Int64
      ) { if bytesWritten > 0, totalExpectedBytes == 3 << 20 { note("progress-\(download.identifier)") } }
      func download(_ download: BADownload, failedWithError error: any Error) {
        note("failed-\(download.identifier) \((error as NSError).code)")
      }
      func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
        take(download, fileURL, as: "delegate")
      }
    }

    @main
    final class Downloader: BADownloaderExtension {
      nonisolated(unsafe) var delegate: (any BADownloadManagerDelegate)?
      init() {}

      func downloads(
        for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
      ) -> Set<BADownload> {
        guard let text = try? String(contentsOf: manifestURL, encoding: .utf8) else { return [] }
        let name = text.contains("/whole") ? "whole" : "partial"
        guard let start = text.range(of: "http://"), let end = text[start.lowerBound...].range(of: "/\(name)"),
          let base = URL(string: String(text[start.lowerBound..<end.lowerBound]))
        else { return [] }
        try? base.absoluteString.write(to: place, atomically: true, encoding: .utf8)
        return [download(name, base, 1000)]
      }

      private func download(_ name: String, _ base: URL, _ size: Int) -> BAURLDownload {
        BAURLDownload(
          identifier: name, request: URLRequest(url: base.appending(path: name)), essential: false, fileSize: size,
          applicationGroupIdentifier: group, priority: .default)
      }

      func backgroundDownload(_ finished: BADownload, finishedWithFileURL fileURL: URL) {
        take(finished, fileURL, as: "entry")
        guard finished.identifier != "second", let base = try? URL(string: String(contentsOf: place, encoding: .utf8))
        else { return }
        let made: any BADownloadManagerDelegate = finished.identifier == "whole" ? Whole() : Partial()
        delegate = made
        let manager = BADownloadManager.shared
        manager.delegate = made
        do { try manager.scheduleDownload(download("second", base, 3 << 20)) } catch { note("refused \(error)") }
        // Runs on until the other one is there; its events come when this has returned.
        for _ in 0..<1000 {
          let second = try? manager.fetchCurrentDownloads().first { $0.identifier == "second" }
          if second == nil || second?.state == .finished { break }
          usleep(10_000)
        }
      }
    }
    """#
}
