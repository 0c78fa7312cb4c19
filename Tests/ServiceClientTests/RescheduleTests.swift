import Foundation
import ServiceProtocol
import TestSupport
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
    async let call: Void = onThread { try manager.scheduleDownload(download) }
    await held.wait(for: 1)
    let (peer, id, value) = held.all[0]
    peer.send(.call(id: 1, event: .failed(value, Self.failure)))
    await app.waitForAnswers(1)
    peer.reply(id)
    try await call
    #expect(download.state == .failed)
  }

  @Test("what the service schedules under another name is cancelled and promoted by that (B37, B44, X7)")
  func renamedByService() async throws {
    let names = (1...9).map { "00000000-0000-4000-8000-00000000000\($0)" }
    let count = Record<Int>()
    let app = try App { peer, id, request in
      guard case .schedule(var value) = request else { return peer.reply(id) }
      count.add(0)
      value.uniqueIdentifier = names[count.all.count - 1]
      peer.reply(id, count.all.count == 1 ? .done : .downloads([value]))
    }
    defer { app.service.stop() }
    let download = App.download()
    // Nobody tells this process how the first one ends.
    try app.manager.scheduleDownload(download)
    for name in names[1...2] {
      try app.manager.scheduleDownload(download)
      #expect(download.state == .waiting)
      try app.manager.cancel(download)
      #expect(app.service.requests.last == .cancel(identifier: "talk", uniqueIdentifier: name))
      try app.manager.startForegroundDownload(download)
      guard case .startForeground(let value)? = app.service.requests.last else { throw CocoaError(.coderInvalidValue) }
      #expect(value.uniqueIdentifier == name && value.state == 1)
    }
    let recorder = Recorder()
    let peer = await app.observe(recorder)
    var value = try #require(Self.scheduled(app).last)
    value.uniqueIdentifier = names[2]
    peer.send(.notify(event: .began(value)))
    await recorder.told.wait(for: 1)
    #expect(recorder.downloads.all.last === download && download.state == .downloading)
  }

  @Test("an event under the new name that overtakes the reply isn't undone by it") func renamedAndOvertaken()
    async throws
  {
    let held = Record<(ScriptedService.Peer, UInt64, DownloadValue)>()
    let app = try App { peer, id, request in
      guard case .schedule(var value) = request else { return peer.reply(id) }
      value.uniqueIdentifier = "00000000-0000-4000-8000-000000000001"
      held.add((peer, id, value))
    }
    defer { app.service.stop() }
    let recorder = Recorder()
    _ = await app.observe(recorder)
    let download = App.download()
    let manager = app.manager
    async let call: Void = onThread { try manager.scheduleDownload(download) }
    await held.wait(for: 1)
    let (peer, id, value) = held.all[0]
    peer.send(.notify(event: .began(value)))
    await recorder.told.wait(for: 1)
    peer.reply(id, .downloads([value]))
    try await call
    #expect(download.state == .downloading)
    try manager.cancel(download)
    #expect(app.service.requests.last == .cancel(identifier: "talk", uniqueIdentifier: value.uniqueIdentifier))
  }

  @Test("a copy and an archive of what was scheduled again mean the same download as it does") func copies()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    let recorder = Recorder()
    let peer = await app.observe(recorder)
    let download = App.download()
    try app.manager.scheduleDownload(download)
    peer.send(.call(id: 1, event: .failed(try #require(Self.scheduled(app).first), Self.failure)))
    await app.waitForAnswers(1)
    try app.manager.scheduleDownload(download)
    let second = try #require(Self.scheduled(app).last).uniqueIdentifier
    #expect(second != download.uniqueIdentifier)
    let data = try NSKeyedArchiver.archivedData(withRootObject: download, requiringSecureCoding: true)
    let copies = [
      try #require(download.copy() as? BAURLDownload),
      try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: BAURLDownload.self, from: data)),
    ]
    for copy in copies {
      #expect(copy == download)
      try app.manager.cancel(copy)
      #expect(app.service.requests.last == .cancel(identifier: "talk", uniqueIdentifier: second))
    }
    // It is another one.
    try app.manager.cancel(download.removingEssential())
    guard case .cancel(_, let other)? = app.service.requests.last else { throw CocoaError(.coderInvalidValue) }
    #expect(other != second && other != download.uniqueIdentifier)
  }

  @Test("who promotes all that is there promotes the manifest of an installation, too (B33, B37)") func manifest()
    throws
  {
    var value = App.value("manifest", isManifest: true)
    value.isEssential = true
    let app = try App { [value] peer, id, request in
      peer.reply(id, request == .currentDownloads ? .downloads([value]) : .done)
    }
    defer { app.service.stop() }
    let download = try #require(try app.manager.fetchCurrentDownloads().first)
    try app.manager.startForegroundDownload(download)
    #expect(app.service.requests.last == .startForeground(download: value))
    #expect(App.error { try app.manager.startForegroundDownload(App.download(essential: true)) }?.code == 109)
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
