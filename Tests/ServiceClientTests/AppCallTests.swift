import Foundation
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

@testable import BackgroundAssets

@Suite(.timeLimit(.minutes(2))) struct AppCallTests {
  @Test("an app connects with its first call and says hello as an app") func hello() throws {
    let app = try App()
    defer { app.service.stop() }
    #expect(app.service.peers.all.isEmpty)
    try app.manager.scheduleDownload(App.download())
    #expect(app.service.received.all.first == .request(id: 1, request: .hello(Hello(role: .app))))
    try app.manager.cancel(App.download())
    #expect(app.service.peers.all.count == 1)
  }

  @Test("a connection that ends before its greeting is answered is made again, three times at most")
  func greetsAgain() throws {
    let ending = try ScriptedService(unanswered: 3)
    defer { ending.stop() }
    try App(of: ending).manager.scheduleDownload(App.download())
    #expect(ending.peers.all.count == 4)
    #expect(ending.requests.count == 1)
    let silent = try ScriptedService(unanswered: .max)
    defer { silent.stop() }
    let manager = App(of: silent).manager
    #expect(App.error { try manager.scheduleDownload(App.download()) }?.code == 56)
    #expect(silent.peers.all.count == 4)
    #expect(silent.requests.isEmpty)
  }

  @Test("the current downloads come in all three forms, manifest and state included") func currentDownloads()
    async throws
  {
    let app = try App { peer, id, request in
      #expect(request == .currentDownloads)
      peer.send(.part(id: id, reply: .downloads([App.value("a", state: 1)])))
      peer.reply(id, .downloads([App.value("manifest", isManifest: true), App.value("b", state: -1)]))
    }
    defer { app.service.stop() }
    let fetched = try app.manager.fetchCurrentDownloads()
    #expect(fetched.map(\.identifier) == ["a", "manifest", "b"])
    #expect(fetched.map(\.state) == [.waiting, .downloading, .failed])
    #expect(fetched.map { type(of: $0) == BAURLDownload.self } == [true, false, true])
    #expect(fetched.allSatisfy { $0 is BAURLDownload })
    #expect(try await app.manager.currentDownloads == fetched)
    let manager = app.manager
    let third = await withCheckedContinuation { continuation in
      manager.fetchCurrentDownloads { downloads, error in
        continuation.resume(returning: error == nil ? downloads : [])
      }
    }
    #expect(third == fetched)
    // The objects that the app has are the ones it gets again.
    #expect(zip(third, fetched).allSatisfy { $0 === $1 })
  }

  @Test("a scheduled download crosses whole, waits then, and is the object that is fetched later") func schedule()
    throws
  {
    let scheduled = Mutex<DownloadValue?>(nil)
    let app = try App { peer, id, request in
      switch request {
      case .schedule(let value):
        scheduled.withLock { $0 = value }
        peer.reply(id)
      default:
        var value = scheduled.withLock { $0! }
        value.state = 2
        peer.reply(id, .downloads([value]))
      }
    }
    defer { app.service.stop() }
    var request = URLRequest(url: URL(string: "https://e.com/talk?q=1")!)
    request.httpMethod = "POST"
    request.httpBody = Data([1, 0, 255])
    request.setValue("x", forHTTPHeaderField: "X-Name")
    let download = BAURLDownload(
      identifier: "talk", request: request, essential: false, fileSize: 77, applicationGroupIdentifier: "g",
      priority: .max)
    try app.manager.scheduleDownload(download)
    #expect(download.state == .waiting)
    #expect(
      scheduled.withLock { $0 }
        == DownloadValue(
          identifier: "talk", uniqueIdentifier: download.uniqueIdentifier, url: "https://e.com/talk?q=1",
          httpMethod: "POST", httpHeaders: ["X-Name": "x"], httpBody: Data([1, 0, 255]),
          applicationGroupIdentifier: "g", fileSize: 77, priority: 100))
    let fetched = try app.manager.fetchCurrentDownloads()
    #expect(fetched.first === download && download.state == .downloading)
    let legacy = BADownload.State.created
    #expect(App.download().state == legacy)
  }

  @Test("a refusal of the service arrives with domain, code, description, remedy and what lies under it") func refusal()
    throws
  {
    let app = try App { peer, id, _ in
      peer.send(
        .failure(
          id: id,
          failure: ServiceFailure(
            domain: "BAErrorDomain", code: 102, message: "The download 'talk' can't start", remedy: "mend the URL",
            underlyingDomain: NSURLErrorDomain, underlyingCode: -1002)))
    }
    defer { app.service.stop() }
    let download = App.download()
    let error = App.error { try app.manager.startForegroundDownload(download) }
    #expect(error?.domain == BAErrorDomain && error?.code == 102)
    #expect(error?.localizedDescription == "The download 'talk' can't start; mend the URL")
    #expect(error?.userInfo[NSLocalizedRecoverySuggestionErrorKey] as? String == "mend the URL")
    #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == -1002)
    #expect(download.state == .created)
  }

  @Test("an app that the service doesn't know gets 55 from each call, as the service says it") func unknownApp()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    let stranger = try ScriptedService(greeting: .framework(55, "no app", remedy: "install it"))
    defer { stranger.stop() }
    let manager = App(of: stranger).manager
    #expect(App.error { try manager.scheduleDownload(App.download()) }?.code == 55)
    let error = App.error { _ = try manager.fetchCurrentDownloads() }
    #expect(error?.domain == BAErrorDomain && error?.code == 55)
    #expect(error?.localizedDescription.contains("install it") == true)
    let thrown = await #expect(throws: NSError.self) { try await manager.withExclusiveControl {} }
    #expect(thrown?.code == 55)
  }

  @Test("without a service every call throws 56 and says which, at which socket, and what to do") func noService()
    async throws
  {
    let app = try App()
    app.service.stop()
    let download = App.download()
    let calls: [(String, () throws -> Void)] = [
      ("Scheduling the download 'talk'", { try app.manager.scheduleDownload(download) }),
      ("Starting the download 'talk'", { try app.manager.startForegroundDownload(download) }),
      ("Cancelling the download 'talk'", { try app.manager.cancel(download) }),
      ("fetchCurrentDownloads", { _ = try app.manager.fetchCurrentDownloads() }),
    ]
    for (name, call) in calls {
      let error = App.error(call)
      #expect(error?.domain == BAErrorDomain && error?.code == 56)
      let text = error?.localizedDescription ?? ""
      #expect(text.hasPrefix(name) && text.contains("service isn't running") && text.contains(app.service.socketPath))
      #expect(text.contains("outrider service run"))
    }
    let thrown = await #expect(throws: NSError.self) { try await app.manager.withExclusiveControl { 1 } }
    #expect(thrown?.code == 56)
    await #expect(throws: NSError.self) { try await app.manager.currentDownloads }
    #expect(app.link.container(of: "group.com.example") == nil)
    #expect(download.state == .created)
  }

  @Test("misuse is refused here, with the value in its description, and the service isn't asked [B75, L3]")
  func misuse() throws {
    let app = try App()
    defer { app.service.stop() }
    for call in [app.manager.scheduleDownload, app.manager.startForegroundDownload] {
      let essential = App.error { try call(App.download(essential: true)) }
      #expect(essential?.code == 109 && essential?.localizedDescription.contains("'talk'") == true)
      #expect(App.error { try call(App.download(size: -3)) }?.localizedDescription.contains("-3") == true)
      #expect(App.error { try call(App.download(priority: 101)) }?.code == 102)
    }
    #expect(app.service.peers.all.isEmpty)
  }

  @Test("an app that says it is inactive may not start foreground downloads: 51") func inactive() async throws {
    let app = try App()
    defer { app.service.stop() }
    #expect(app.manager.isProcessActive)
    app.manager.isProcessActive = false
    #expect(App.error { try app.manager.startForegroundDownload(App.download()) }?.code == 51)
    try app.manager.scheduleDownload(App.download())
    app.manager.isProcessActive = true
    try app.manager.startForegroundDownload(App.download("b"))
    let kinds = app.service.requests.map { if case .activate(let is_) = $0 { "active \(is_)" } else { "call" } }
    #expect(kinds == ["active false", "call", "active true", "call"])
  }

  @Test("the container of a group is what the service said") func container() throws {
    let app = try App()
    defer { app.service.stop() }
    #expect(app.link.container(of: "group.com.example") == app.service.folder.path)
    #expect(app.link.container(of: "group.other") == nil)
    #expect(app.service.peers.all.count == 1)
  }

  @Test("the connection that was handed down is used once, and the socket after it") func handedDown() async throws {
    let service = try ScriptedService()
    defer { service.stop() }
    let descriptor = try service.connectedDescriptor()
    let app = App(of: service, environment: [ServicePaths.connectionVariable: "\(descriptor)"])
    try app.manager.scheduleDownload(App.download())
    #expect(service.peers.all.count == 1)
    service.peers.all[0].close()
    await service.ended.wait(for: 1)
    await untilSucceeds { try app.manager.scheduleDownload(App.download()) }
    #expect(service.peers.all.count == 2)
  }

  @Test("a number in the environment that isn't a connection is passed over", arguments: ["", "x", "-1", "99999"])
  func wrongDescriptor(number: String) throws {
    let service = try ScriptedService()
    defer { service.stop() }
    let app = App(of: service, environment: [ServicePaths.connectionVariable: number])
    try app.manager.scheduleDownload(App.download())
    #expect(service.peers.all.count == 1)
  }

  @Test("a call under way when the service goes throws 56, and the next one reaches the service that came back")
  func restart() async throws {
    let isOld = Mutex(true)
    let app = try App { peer, id, _ in
      if isOld.withLock({ $0 }) { peer.close() } else { peer.reply(id) }
    }
    let error = App.error { try app.manager.scheduleDownload(App.download()) }
    #expect(error?.code == 56 && error?.localizedDescription.contains("closed the connection") == true)
    app.service.stop()
    #expect(App.error { try app.manager.scheduleDownload(App.download()) }?.code == 56)
    isOld.withLock { $0 = false }
    try app.service.start()
    try app.manager.scheduleDownload(App.download())
    app.service.stop()
  }

  @Test("calls from many threads share one connection") func manyThreads() async throws {
    let app = try App()
    defer { app.service.stop() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<32 {
        group.addTask { try await onThread { try app.manager.scheduleDownload(App.download("\(number)")) } }
      }
      try await group.waitForAll()
    }
    #expect(app.service.peers.all.count == 1 && app.service.requests.count == 32)
  }
}

/// The end of a connection is noticed by another thread: until then a call may meet the old one.
func untilSucceeds(_ body: () throws -> Void) async {
  while true {
    do { return try body() } catch { await Task.yield() }
  }
}
