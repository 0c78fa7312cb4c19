import Dispatch
import Foundation
import ServiceProtocol
import Synchronization
import Testing

@testable import BackgroundAssets

@Suite(.timeLimit(.minutes(2))) struct DelegateTests {
  private static let challenge = ChallengeValue(
    host: "e.com", port: 443, scheme: "https", realm: "r", authenticationMethod: NSURLAuthenticationMethodHTTPBasic,
    previousFailureCount: 1)
  private static let failure = ServiceFailure(domain: NSURLErrorDomain, code: -1001, message: "too slow")

  @Test("the service knows of the delegate before the next request, and that it left") func announced() async throws {
    let app = try App()
    defer { app.service.stop() }
    let recorder = Recorder()
    let download = App.download()
    app.manager.delegate = recorder
    try app.manager.startForegroundDownload(download)
    app.manager.delegate = nil
    try app.manager.scheduleDownload(App.download("b"))
    let kinds = app.service.requests.map { if case .observe(let is_) = $0 { "observe \(is_)" } else { "call" } }
    #expect(kinds == ["observe true", "call", "observe false", "call"])
  }

  @Test("each event calls its method, and each call is answered as handled (B28)") func everyMethod() async throws {
    let app = try App()
    defer { app.service.stop() }
    let recorder = Recorder()
    let peer = await app.observe(recorder)
    let value = App.value()
    peer.send(.notify(event: .began(value)))
    peer.send(.notify(event: .progress(value, totalWritten: 3, totalExpected: 5)))
    await recorder.told.wait(for: 2)
    peer.send(.notify(event: .progress(value, totalWritten: 5, totalExpected: 5)))
    await recorder.told.wait(for: 3)
    peer.send(.notify(event: .paused(value)))
    peer.send(.call(id: 1, event: .challenge(value, Self.challenge)))
    await recorder.told.wait(for: 5)
    peer.send(.call(id: 2, event: .failed(value, Self.failure)))
    peer.send(.call(id: 3, event: .finished(value, path: "/file")))
    await app.waitForAnswers(3)
    #expect(
      recorder.told.all == [
        "began talk downloading", "progress 3 3 5", "progress 2 5 5", "paused talk", "challenge e.com",
        "failed NSURLErrorDomain -1001 failed", "finished /file finished",
      ])
    let objects = recorder.downloads.all
    #expect(objects.allSatisfy { $0 === objects[0] } && objects[0].state == .finished)
    let answers = app.service.received.all.filter { if case .answer = $0 { true } else { false } }
    #expect(
      Set(answers.map { "\($0)" })
        == Set(
          [
            .answer(call: 1, answer: .challenge(ChallengeReply(disposition: 0, user: "me", password: "secret"))),
            .answer(call: 2, answer: .handled), .answer(call: 3, answer: .handled),
          ].map { (message: ClientMessage) in "\(message)" }))
  }

  @Test("what a delegate doesn't implement is answered as unhandled, so that the extension is woken (B29)")
  func unhandled() async throws {
    let app = try App()
    defer { app.service.stop() }
    let indifferent = Indifferent()
    let peer = await app.observe(indifferent)
    peer.send(.call(id: 1, event: .challenge(App.value(), Self.challenge)))
    peer.send(.call(id: 2, event: .failed(App.value(), Self.failure)))
    peer.send(.call(id: 3, event: .finished(App.value(), path: "/file")))
    await app.waitForAnswers(3)
    #expect(app.service.answers == [.unhandled, .unhandled, .unhandled])
  }

  @Test("the closure spelling of a challenge answers as well") func closureForm() async throws {
    let app = try App()
    defer { app.service.stop() }
    let delegate = ClosureForm()
    let peer = await app.observe(delegate)
    peer.send(.call(id: 1, event: .challenge(App.value(), Self.challenge)))
    await app.waitForAnswers(1)
    #expect(app.service.answers == [.challenge(ChallengeReply(disposition: 3))])
    withExtendedLifetime(delegate) {}
  }

  @Test("the answer is sent when the method has returned, also when the delegate left meanwhile")
  func answeredAfterwards()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    let manager = app.manager
    let service = app.service
    let answersDuring = Mutex(-1)
    let recorder = Recorder {
      manager.delegate = nil
      // A round trip: an answer that had been sent already would have arrived before it.
      _ = try? manager.scheduleDownload(App.download("b"))
      answersDuring.withLock { $0 = service.answers.count }
    }
    let peer = await app.observe(recorder)
    peer.send(.call(id: 1, event: .finished(App.value(), path: "/file")))
    await app.waitForAnswers(1)
    #expect(app.service.answers == [.handled] && answersDuring.withLock { $0 } == 0)
    peer.send(.call(id: 2, event: .finished(App.value("c"), path: "/file")))
    await app.waitForAnswers(2)
    #expect(app.service.answers == [.handled, .unhandled])
  }

  @Test("a delegate that is gone is noticed with the next event, and the service is told") func deallocated()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    var recorder: Recorder? = Recorder()
    let peer = await app.observe(recorder!)
    recorder = nil
    #expect(app.manager.delegate == nil)
    peer.send(.call(id: 1, event: .finished(App.value(), path: "/file")))
    await app.service.received.wait { $0.contains { $0.question == .observe(isObserving: false) } }
    await app.waitForAnswers(1)
    #expect(app.service.answers == [.unhandled])
  }

  @Test("events go to the delegate of the moment") func twoDelegates() async throws {
    let app = try App()
    defer { app.service.stop() }
    let (first, second) = (Recorder(), Recorder())
    let peer = await app.observe(first)
    peer.send(.notify(event: .began(App.value("a"))))
    await first.told.wait(for: 1)
    app.manager.delegate = second
    peer.send(.notify(event: .began(App.value("b"))))
    await second.told.wait(for: 1)
    #expect(first.told.all == ["began a downloading"] && second.told.all == ["began b downloading"])
    #expect(app.service.requests.filter { $0 == .observe(isObserving: true) }.count == 1)
  }

  @Test("a flood of progress is one call once the delegate has time, and nothing is left out of the sums") func flood()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    let mayGoOn = DispatchSemaphore(value: 0)
    let recorder = Recorder { mayGoOn.wait() }
    let peer = await app.observe(recorder)
    peer.send(.call(id: 1, event: .failed(App.value("blocker"), Self.failure)))
    for total in 1...5000 {
      peer.send(.notify(event: .progress(App.value(), totalWritten: Int64(total), totalExpected: 5000)))
    }
    peer.send(.call(id: 2, event: .failed(App.value("last"), Self.failure)))
    // A reply after all that: it has been read by now.
    try app.manager.cancel(App.download())
    #expect(app.link.delivery.waitingCount <= 3)
    mayGoOn.signal()
    mayGoOn.signal()
    await app.waitForAnswers(2)
    #expect(recorder.told.all.filter { $0.hasPrefix("progress") } == ["progress 5000 5000 5000"])
  }

  @Test("calls come on the chosen queue, one at a time even if it is concurrent") func chosenQueue() async throws {
    let app = try App()
    defer { app.service.stop() }
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    queue.setSpecific(key: key, value: true)
    let inside = Mutex(0)
    let isWrong = Mutex(false)
    let recorder = Recorder {
      let others = inside.withLock { count in
        defer { count += 1 }
        return count
      }
      if others > 0 || DispatchQueue.getSpecific(key: key) != true { isWrong.withLock { $0 = true } }
      inside.withLock { $0 -= 1 }
    }
    app.manager.delegateQueue = queue
    let peer = await app.observe(recorder)
    for number in 0..<200 { peer.send(.call(id: UInt64(number), event: .failed(App.value("\(number)"), Self.failure))) }
    await app.waitForAnswers(200)
    #expect(!isWrong.withLock { $0 })
    #expect(
      app.service.received.all.compactMap { if case .answer(let call, _) = $0 { call } else { nil } }
        == Array(UInt64(0)..<200))
  }

  @Test("a delegate of the main actor is called there once the main queue is chosen (X15)") func mainActor()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    app.manager.delegateQueue = .main
    let delegate = await OnMainActor()
    let peer = await app.observe(delegate)
    peer.send(.call(id: 1, event: .challenge(App.value(), Self.challenge)))
    peer.send(.call(id: 2, event: .failed(App.value(), Self.failure)))
    await app.waitForAnswers(2)
    #expect(await delegate.count == 2)
  }

  @Test("a withdrawn call isn't told any more, and a challenge under way is cancelled and not answered")
  func withdrawn()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    let patient = Patient()
    let peer = await app.observe(patient)
    peer.send(.call(id: 1, event: .challenge(App.value(), Self.challenge)))
    await patient.events.wait(for: 1)
    peer.send(.withdraw(call: 1))
    await patient.events.wait(for: 2)
    peer.send(.call(id: 2, event: .failed(App.value(), Self.failure)))
    await app.waitForAnswers(1)
    #expect(patient.events.all == ["asked", "cancelled: true"])
    #expect(
      app.service.received.all.compactMap { if case .answer(let call, _) = $0 { call } else { nil } } == [UInt64(2)])
  }

  @Test("after a restart of the service the delegate is registered again by itself, and events go on") func reconnects()
    async throws
  {
    let app = try App()
    let recorder = Recorder()
    _ = await app.observe(recorder)
    for round in 1...3 {
      app.service.stop()
      try app.service.start()
      await app.service.received.wait {
        $0.filter { $0.question == .observe(isObserving: true) }.count == 1 + round
      }
      app.service.peers.all.last!.send(.notify(event: .began(App.value("\(round)"))))
      await recorder.told.wait(for: round)
    }
    app.service.stop()
    #expect(recorder.told.all == (1...3).map { "began \($0) downloading" })
  }

  @Test("an app that the service doesn't know isn't connected again and again for its delegate's sake")
  func unknown() async throws {
    let app = App(of: try ScriptedService(greeting: .framework(55, "process 1 belongs to no installed app")))
    defer { app.service.stop() }
    let recorder = Recorder()
    app.manager.delegate = recorder
    await app.service.ended.wait(for: 1)
    for call in 1...20 {
      #expect(App.error { _ = try app.manager.fetchCurrentDownloads() }?.code == 55)
      await app.service.ended.wait(for: 1 + call)
    }
    #expect(app.service.peers.all.count == 21, "one for the delegate, and one for each call")
  }

  @Test("a file that was taken, and whose answer got lost, isn't handed over a second time") func lostAnswer()
    async throws
  {
    let app = try App()
    defer { app.service.stop() }
    let file = app.service.folder.appendingPathComponent("file")
    try Data("x".utf8).write(to: file)
    let service = app.service
    let recorder = Recorder {
      try? FileManager.default.removeItem(at: file)
      service.peers.all.last?.close()
    }
    let peer = await app.observe(recorder)
    peer.send(.call(id: 1, event: .finished(App.value(), path: file.path)))
    await app.service.peers.wait(for: 2)
    await app.service.received.wait { $0.filter { $0.question == .observe(isObserving: true) }.count == 2 }
    app.service.peers.all[1].send(.call(id: 1, event: .finished(App.value(), path: file.path)))
    await app.waitForAnswers(1)
    #expect(app.service.answers == [.handled])
    #expect(recorder.told.all.count == 1)
  }

  @Test("a failure, or a file that was left, of which the answer got lost isn't told of a second time")
  func lostAnswers() async throws {
    let app = try App()
    defer { app.service.stop() }
    let file = app.service.folder.appendingPathComponent("file")
    try Data("x".utf8).write(to: file)
    let recorder = Recorder()
    let events: [ServiceProtocol.DelegateEvent] = [
      .failed(App.value("a"), Self.failure), .finished(App.value("b"), path: file.path),
    ]
    var peer = await app.observe(recorder)
    for connection in 2...3 {
      for (number, event) in events.enumerated() { peer.send(.call(id: UInt64(number), event: event)) }
      await recorder.told.wait(for: 2)
      await app.waitForAnswers(2 * (connection - 1))
      peer.close()
      await app.service.received.wait { $0.filter { $0.question == .observe(isObserving: true) }.count == connection }
      peer = app.service.peers.all.last!
    }
    #expect(app.service.answers == Array(repeating: .handled, count: 4))
    #expect(recorder.told.all.count == 2)
    // What has begun anew may fail anew.
    peer.send(.notify(event: .began(App.value("a"))))
    peer.send(.call(id: 9, event: events[0]))
    await app.waitForAnswers(5)
    #expect(recorder.told.all.count == 4)
  }
}

@MainActor final class OnMainActor: NSObject, @preconcurrency BADownloadManagerDelegate {
  private(set) var count = 0

  func download(_ download: BADownload, failedWithError error: any Error) { count += 1 }
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    count += 1
    return (.performDefaultHandling, nil)
  }
}

/// Takes its time over a challenge.
private final class Patient: NSObject, BADownloadManagerDelegate {
  let events = Record<String>()

  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    events.add("asked")
    try? await Task.sleep(for: .seconds(1000))
    events.add("cancelled: \(Task.isCancelled)")
    return (.performDefaultHandling, nil)
  }

  func download(_ download: BADownload, failedWithError error: any Error) {}
}
