import Foundation
import ServiceProtocol

@testable import BackgroundAssets

/// An app's manager, connected to a scripted service.
struct App {
  let service: ScriptedService
  let link: ServiceLink
  let manager: BADownloadManager

  init(script: @escaping ScriptedService.Script = { peer, id, _ in peer.reply(id) }) throws {
    let service = try ScriptedService(script: script)
    self.init(of: service)
  }

  init(of service: ScriptedService, environment: [String: String] = [:]) {
    self.service = service
    let all = service.environment.merging(environment) { $1 }
    link = ServiceLink(dial: ServiceDial { all })
    manager = BADownloadManager(link: link)
  }

  static func download(
    _ name: String = "talk", essential: Bool = false, size: Int = 5, priority: Int = 0
  ) -> BAURLDownload {
    BAURLDownload(
      identifier: name, request: URLRequest(url: URL(string: "https://e.com/\(name)")!), essential: essential,
      fileSize: size, applicationGroupIdentifier: "group.com.example", priority: .init(priority))
  }

  static func value(_ name: String = "talk", state: Int = 2, isManifest: Bool = false) -> DownloadValue {
    DownloadValue(
      identifier: name, uniqueIdentifier: "unique-\(name)", url: "https://e.com/\(name)",
      applicationGroupIdentifier: "group.com.example", fileSize: 5, isManifest: isManifest, state: state)
  }

  static func error(_ body: () throws -> Void) -> NSError? {
    do { try body() } catch { return error as NSError }
    return nil
  }

  /// Sets a delegate and waits until the service knows of it.
  func observe(_ delegate: any BADownloadManagerDelegate) async -> ScriptedService.Peer {
    manager.delegate = delegate
    await service.received.wait { $0.contains { $0.question == .observe(isObserving: true) } }
    return service.peers.all.last!
  }

  func waitForAnswers(_ count: Int) async {
    await service.received.wait { $0.count { if case .answer = $0 { true } else { false } } >= count }
  }
}

/// Implements every method, and writes down what it is told.
final class Recorder: NSObject, BADownloadManagerDelegate, @unchecked Sendable {
  let told = Record<String>()
  let downloads = Record<BADownload>()
  /// Called within `failedWithError` and `finishedWithFileURL`.
  let during: @Sendable () -> Void

  init(during: @escaping @Sendable () -> Void = {}) { self.during = during }

  private func tell(_ what: String, _ download: BADownload) {
    downloads.add(download)
    told.add(what)
  }

  func downloadDidBegin(_ download: BADownload) { tell("began \(download.identifier) \(download.state)", download) }
  func downloadDidPause(_ download: BADownload) { tell("paused \(download.identifier)", download) }
  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) { tell("progress \(bytesWritten) \(totalBytesWritten) \(totalExpectedBytes)", download) }
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    tell("challenge \(challenge.protectionSpace.host)", download)
    return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .none))
  }
  func download(_ download: BADownload, failedWithError error: any Error) {
    during()
    tell("failed \((error as NSError).domain) \((error as NSError).code) \(download.state)", download)
  }
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    during()
    tell("finished \(fileURL.path) \(download.state)", download)
  }
}

/// Implements nothing.
final class Indifferent: NSObject, BADownloadManagerDelegate {}

/// Answers challenges by the closure form.
final class ClosureForm: NSObject, BADownloadManagerDelegate {
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) { completionHandler(.rejectProtectionSpace, nil) }
}
