import DevelopmentOrigin
import Foundation
import ServiceClient
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServiceProgressTests {
  @Test("A delegate is told of progress at most ten times a second for each download [B41]")
  func pace() async throws {
    // Slow enough that there is a second of each, in parts as small as those of a socket.
    let world = try ServiceWorld {
      $0.handler = { request, _ in
        guard request.path != "/manifest.json" else { return nil }
        var reply = Reply()
        reply.timing.slice = .init(size: 4 << 10, pause: .milliseconds(10))
        return reply
      }
    }
    world.publish([:])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    struct Told {
      var progress: [String: [ContinuousClock.Instant]] = [:]
      var finished: Set<String> = []
    }
    let told = Mutex(Told())
    let session = Mutex<ServiceSession?>(nil)
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app)) { message in
      switch message {
      case .notify(.progress(let download, _, _)):
        told.withLock { $0.progress[download.identifier, default: []].append(.now) }
      case .call(let id, .finished(let download, _)):
        told.withLock { _ = $0.finished.insert(download.identifier) }
        session.withLock { $0 }?.answer(id, .handled)
      default: break
      }
    }
    session.withLock { $0 = app }
    _ = try await app.request(.observe(isObserving: true))
    let size = 512 << 10
    let begin = ContinuousClock.now
    for name in ["one", "two"] {
      world.origin.set("/\(name)", Resource(.pseudoRandom(seed: 3, count: size)))
      let download = DownloadValue(
        identifier: name, uniqueIdentifier: UUID().uuidString, url: world.origin.url("/\(name)"),
        applicationGroupIdentifier: ServiceWorld.group, fileSize: Int64(size))
      _ = try await app.request(.startForeground(download: download))
    }
    try await world.wait("both are finished") { told.withLock { $0.finished.count } == 2 }
    let seconds = (ContinuousClock.now - begin) / .seconds(1)
    let progress = told.withLock { $0.progress }
    #expect(Set(progress.keys) == ["one", "two"])
    for (name, moments) in progress {
      // The last one comes with the end, whenever that is.
      #expect(
        moments.count >= 2 && Double(moments.count) <= 10 * seconds + 1, "\(name): \(moments.count) in \(seconds) s")
    }
    app.close()
    session.withLock { $0 = nil }
  }
}
