import Foundation
import Testing

/// What an app's sources look like, in the modes and with the settings that projects have.
@Suite(.timeLimit(.minutes(2))) struct AppCompilingTests {
  private static let modes = [
    "-swift-version 5", "-swift-version 6", "-swift-version 6 -default-isolation MainActor",
    "-swift-version 6 -enable-upcoming-feature NonisolatedNonsendingByDefault",
    "-swift-version 5 -strict-concurrency=complete",
  ]

  private func check(_ source: String, _ mode: String) throws -> [Substring] {
    try CompilingTests.compile(
      """
      swiftc -typecheck \(mode) -warnings-as-errors -Wwarning DeprecatedDeclaration -parse-as-library -module-name Client \
      -Xcc -fmodule-map-file='\(CompilingTests.products)/CExtension.build/module.modulemap' -I "$modules" *.swift
      """, ["Client.swift": source]
    )
    .filter { !$0.contains("[#DeprecatedDeclaration]") }
  }

  @Test("an app that makes every call of the framework compiles [L6, L8]", arguments: modes) func everyCall(
    mode: String
  ) throws {
    let lines = try check(Self.everyCall, mode)
    #expect(lines.isEmpty, "\(lines)")
  }

  @Test("a delegate may be of the main actor in each of the ways that Swift has", arguments: modes)
  func mainActor(mode: String) throws {
    let lines = try check(Self.delegates, mode)
    #expect(lines.isEmpty, "\(lines)")
  }

  @Test("the example in docs/apps.md compiles") func document() throws {
    let text = try String(contentsOfFile: CompilingTests.root + "/docs/apps.md", encoding: .utf8)
    let example = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
    #expect(example.count == 1)
    let lines = try check(example.joined(), "-swift-version 6")
    #expect(lines.isEmpty, "\(lines)")
  }

  private static let everyCall = """
    import BackgroundAssets

    final class Session: NSObject, BADownloadManagerDelegate, @unchecked Sendable {
      nonisolated override init() { super.init() }

      nonisolated func run(in folder: URL) async throws {
        let manager: BADownloadManager = .shared
        manager.delegate = self
        manager.delegateQueue = .main
        manager.isProcessActive = true
        let request = URLRequest(url: URL(string: "https://example.com/talk")!)
        let full = BAURLDownload(
          identifier: "a", request: request, essential: true, fileSize: 1, applicationGroupIdentifier: "g",
          priority: BADownload.Priority(5))
        let short = BAURLDownload(identifier: "b", request: request, fileSize: 1, applicationGroupIdentifier: "g")
        let old = BAURLDownload(identifier: "c", request: request, applicationGroupIdentifier: "g")
        let oldest = BAURLDownload(
          identifier: "d", request: request, applicationGroupIdentifier: "g", priority: .max)
        let all: Set<BADownload> = [full.removingEssential(), short, old, oldest]
        for download in all where download.state == .created && !download.isEssential {
          try manager.scheduleDownload(download)
          try manager.startForegroundDownload(download)
          try manager.cancel(download)
        }
        let blocking: () throws -> [BADownload] = manager.fetchCurrentDownloads
        _ = try blocking()
        for download in try await manager.currentDownloads where type(of: download) == BAURLDownload.self {
          print(download.uniqueIdentifier, download.priority.rawValue, download.copy())
        }
        manager.fetchCurrentDownloads { (downloads: [BADownload], error: Error?) in print(downloads, error as Any) }
        manager.withExclusiveControl { acquiredLock, error in print(acquiredLock, error as Any) }
        manager.withExclusiveControl(beforeDate: Date()) { (acquiredLock: Bool, error: Error?) in print(acquiredLock) }
        try await manager.withExclusiveControl { try FileManager.default.removeItem(at: folder) }
        let count: Int = try await manager.withExclusiveControl(before: .now) { 1 }
        print(count, FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "g") as Any)
        let data = try NSKeyedArchiver.archivedData(withRootObject: short, requiringSecureCoding: true)
        print(try NSKeyedUnarchiver.unarchivedObject(ofClass: BAURLDownload.self, from: data) as Any)
        do { try manager.cancel(short) } catch let error as NSError where error.domain == BAErrorDomain {
          switch BAErrorCode(rawValue: error.code) {
          case .downloadNotScheduled, .downloadDoesNotExist: break
          default: throw error
          }
        }
      }

      nonisolated func downloadDidBegin(_ download: BADownload) {}
      nonisolated func downloadDidPause(_ download: BADownload) {}
      nonisolated func download(
        _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite totalExpectedBytes: Int64
      ) {}
      nonisolated func download(
        _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
      ) { completionHandler(.performDefaultHandling, nil) }
      nonisolated func download(_ download: BADownload, failedWithError error: Error) {}
      nonisolated func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {}
    }

    @main struct App {
      static func main() async throws { try await Session().run(in: URL(fileURLWithPath: "/tmp")) }
    }
    """

  private static let delegates = """
    import BackgroundAssets

    @MainActor final class Nonisolated: NSObject, BADownloadManagerDelegate {
      private var count = 0
      nonisolated func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
        Task { @MainActor in self.count += 1 }
      }
      nonisolated func download(
        _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
      ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) { (.performDefaultHandling, nil) }
    }

    @MainActor final class Preconcurrency: NSObject, @preconcurrency BADownloadManagerDelegate {
      private var count = 0
      func downloadDidBegin(_ download: BADownload) { count += 1 }
      func download(_ download: BADownload, finishedWithFileURL fileURL: URL) { count += 1 }
      func download(
        _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
      ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        count += 1
        return (.performDefaultHandling, nil)
      }
    }

    @MainActor final class Isolated: NSObject, @MainActor BADownloadManagerDelegate {
      private var count = 0
      func download(_ download: BADownload, failedWithError error: Error) { count += 1 }
    }

    @MainActor func set(_ delegates: (Nonisolated, Preconcurrency, Isolated)) {
      BADownloadManager.shared.delegate = delegates.0
      BADownloadManager.shared.delegate = delegates.1
      BADownloadManager.shared.delegate = delegates.2
    }
    """
}
