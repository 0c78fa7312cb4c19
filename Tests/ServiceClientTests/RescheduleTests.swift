import Foundation
import ServiceProtocol
import Testing

@testable import BackgroundAssets

/// Downloads that end, and are scheduled again.
@Suite(.timeLimit(.minutes(2))) struct RescheduleTests {
  private static let failure = ServiceFailure(domain: NSURLErrorDomain, code: -1100, message: "not there")

  private static func scheduled(_ app: App) -> [DownloadValue] {
    app.service.requests.compactMap { if case .schedule(let value) = $0 { value } else { nil } }
  }

  @Test("a failed download is scheduled again as another one, and stays the object that the app has (B47)")
  func again() async throws {
    let app = try App()
    defer { app.service.stop() }
    let recorder = Recorder()
    let peer = await app.observe(recorder)
    let download = App.download()
    let unique = download.uniqueIdentifier
    try app.manager.scheduleDownload(download)
    let first = try #require(Self.scheduled(app).first)
    peer.send(.call(id: 1, event: .failed(first, Self.failure)))
    await app.waitForAnswers(1)
    #expect(download.state == .failed)
    try app.manager.scheduleDownload(download)
    let second = try #require(Self.scheduled(app).last)
    #expect(first.uniqueIdentifier == unique && second.uniqueIdentifier != unique && second.state == 0)
    #expect(download.uniqueIdentifier == unique && download.state == .waiting)
    // What is still said of the first attempt isn't about this one, and was told already.
    peer.send(.call(id: 2, event: .failed(first, Self.failure)))
    await app.waitForAnswers(2)
    #expect(download.state == .waiting)
    peer.send(.notify(event: .began(second)))
    await recorder.told.wait(for: 2)
    #expect(recorder.downloads.all.last === download && download.state == .downloading)
    try app.manager.cancel(download)
    #expect(
      app.service.requests.last == .cancel(identifier: "talk", uniqueIdentifier: second.uniqueIdentifier))
  }

  @Test("one that can't be scheduled again stays as it was") func refused() async throws {
    let app = try App { peer, id, request in
      if case .schedule(let value) = request, value.state == 0, value.identifier == "no" {
        peer.send(.failure(id: id, failure: .framework(100, "already scheduled")))
      } else {
        peer.reply(id)
      }
    }
    defer { app.service.stop() }
    let recorder = Recorder()
    let peer = await app.observe(recorder)
    let download = App.download("no")
    #expect(App.error { try app.manager.scheduleDownload(download) }?.code == 100)
    #expect(download.state == .created)
    try app.manager.startForegroundDownload(download)
    let request = app.service.requests.last
    guard case .startForeground(let value) = request else { return #expect(Bool(false), "\(request as Any)") }
    peer.send(.call(id: 1, event: .failed(value, Self.failure)))
    await app.waitForAnswers(1)
    #expect(App.error { try app.manager.scheduleDownload(download) }?.code == 100)
    #expect(download.state == .failed)
  }

  @Test("a failure that overtakes the reply isn't overwritten by it") func overtaken() async throws {
    let held = Record<(ScriptedService.Peer, UInt64, DownloadValue)>()
    let app = try App { peer, id, request in
      if case .schedule(let value) = request { held.add((peer, id, value)) } else { peer.reply(id) }
    }
    defer { app.service.stop() }
    _ = await app.observe(Recorder.kept)
    let download = App.download()
    let manager = app.manager
    let call = Task.detached { try manager.scheduleDownload(download) }
    await held.wait(for: 1)
    let (peer, id, value) = held.all[0]
    peer.send(.call(id: 1, event: .failed(value, Self.failure)))
    await app.waitForAnswers(1)
    peer.reply(id)
    try await call.value
    #expect(download.state == .failed)
  }

  @Test("progress that says nothing new isn't told") func nothingNew() async throws {
    let app = try App()
    defer { app.service.stop() }
    let recorder = Recorder()
    let peer = await app.observe(recorder)
    let value = App.value()
    peer.send(.notify(event: .progress(value, totalWritten: 5, totalExpected: 5)))
    await recorder.told.wait(for: 1)
    peer.send(.notify(event: .progress(value, totalWritten: 5, totalExpected: 5)))
    peer.send(.notify(event: .paused(value)))
    await recorder.told.wait(for: 2)
    #expect(recorder.told.all == ["progress 5 5 5", "paused talk"])
  }
}

extension Recorder { fileprivate static let kept = Recorder() }
