import Foundation
import ServiceClient
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct SessionTests {
  private func session(_ service: ScriptedService, _ handlers: ServiceSession.Handlers = .init()) throws
    -> ServiceSession
  {
    try ServiceSession(.connect(to: service.socketPath), handlers: handlers)
  }

  private static func line(_ text: String) -> LogLine {
    LogLine(at: "", level: "info", app: nil, event: text, detail: "")
  }

  @Test("a list that comes in parts arrives as one") func parts() async throws {
    let service = try ScriptedService { peer, id, _ in
      for name in ["a", "b"] { peer.send(.part(id: id, reply: .log([Self.line(name)]))) }
      peer.reply(id, .log([Self.line("c")]))
    }
    defer { service.stop() }
    let expected = Reply.log(["a", "b", "c"].map(Self.line))
    let session = try session(service)
    #expect(try await session.request(.log(app: nil, limit: 9)) == expected)
    #expect(try await onThread { try session.requestBlocking(.log(app: nil, limit: 9)) } == expected)
  }

  @Test("replies in any order reach the requests with their numbers") func anyOrder() async throws {
    let waiting = Mutex<[(UInt64, String)]>([])
    let service = try ScriptedService { peer, id, request in
      guard case .explain(let subject) = request else { return }
      let ready = waiting.withLock { waiting in
        waiting.append((id, subject))
        return waiting.count == 20 ? waiting.reversed() : []
      }
      for (id, subject) in ready { peer.reply(id, .log([Self.line(subject)])) }
    }
    defer { service.stop() }
    let session = try session(service)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 {
        group.addTask {
          let reply = try await session.request(.explain(subject: "\(number)"))
          #expect(reply == .log([Self.line("\(number)")]))
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("many writers' frames don't mix, and wait while the service reads nothing") func manyWriters() async throws {
    let service = try ScriptedService()
    defer { service.stop() }
    let session = try session(service)
    await service.peers.wait(for: 1)
    service.peers.all[0].stopReading()
    let long = String(repeating: "y", count: 100_000)
    let sent = Record<Int>()
    for writer in 0..<8 {
      Thread.detachNewThread {
        for number in 0..<10 {
          session.request(.explain(subject: "\(writer).\(number).\(long)")) { result in
            if case .success(.done) = result { sent.add(writer) }
          }
        }
      }
    }
    service.peers.all[0].resumeReading()
    await sent.wait(for: 80)
    let subjects = service.requests.compactMap { if case .explain(let text) = $0 { text } else { nil } }
    #expect(Set(subjects).count == 80 && subjects.allSatisfy { $0.hasSuffix(long) })
    for writer in 0..<8 {
      let own = subjects.filter { $0.hasPrefix("\(writer).") }
      #expect(own == (0..<10).map { "\(writer).\($0).\(long)" })
    }
  }

  @Test("whatever waits fails with 56 when the service goes, and the end is told once, afterwards") func end()
    async throws
  {
    let service = try ScriptedService { peer, id, request in if case .stop = request { peer.close() } }
    let order = Record<String>()
    let session = try session(service, .init(onClose: { order.add("closed: \($0.reason == .closed)") }))
    for _ in 0..<3 {
      session.request(.status) { result in
        guard case .failure(let failure) = result else { return order.add("reply") }
        order.add("\(failure.domain) \(failure.code)")
      }
    }
    let failure = await #expect(throws: ServiceFailure.self) { try await session.request(.stop) }
    #expect(failure?.code == 56 && failure?.remedy != nil)
    await order.wait(for: 4)
    #expect(order.all == Array(repeating: "BAErrorDomain 56", count: 3) + ["closed: true"])
    await #expect(throws: ServiceFailure.self) { try await session.request(.status) }
    service.stop()
  }

  @Test("a service that doesn't answer in time costs the connection, not the thread") func unanswered() async throws {
    let service = try ScriptedService { _, _, _ in }
    defer { service.stop() }
    let session = try session(service)
    let failure = await #expect(throws: ServiceFailure.self) {
      try await onThread { try session.requestBlocking(.status, within: 0) }
    }
    #expect(failure?.code == 56 && failure?.message.contains("hasn't answered") == true)
    await service.ended.wait(for: 1)
  }

  @Test("the connection ends with the last reference to its session") func lastReference() async throws {
    let service = try ScriptedService()
    defer { service.stop() }
    do {
      let session = try session(service)
      _ = try await session.request(.status)
    }
    await service.ended.wait(for: 1)
  }

  @Test("other messages come as a sequence that ends with the connection") func sequence() async throws {
    let service = try ScriptedService { peer, id, _ in
      peer.reply(id)
      for number in 0..<5 { peer.send(.event(.appRemoved(identifier: "\(number)"))) }
      peer.close()
    }
    defer { service.stop() }
    let (session, messages) = try ServiceSession.reading(.connect(to: service.socketPath))
    _ = try await session.request(.watch(app: nil))
    var seen: [String] = []
    for try await case .event(.appRemoved(let identifier)) in messages { seen.append(identifier) }
    #expect(seen == (0..<5).map { "\($0)" })
  }

  @Test("more messages than anybody reads end the connection instead of growing") func overrun() async throws {
    let service = try ScriptedService { peer, id, _ in
      peer.reply(id)
      for _ in 0..<100 { peer.send(.withdraw(call: 1)) }
    }
    defer { service.stop() }
    let (session, messages) = try ServiceSession.reading(.connect(to: service.socketPath), limit: 10)
    _ = try await session.request(.watch(app: nil))
    await service.ended.wait(for: 1)
    var count = 0
    let failure = await #expect(throws: ServiceFailure.self) { for try await _ in messages { count += 1 } }
    #expect(count == 10 && failure?.message.contains("10 messages") == true)
  }

  @Test("a list without end is cut off") func endlessParts() async throws {
    let service = try ScriptedService { peer, id, _ in
      for _ in 0..<1100 { peer.send(.part(id: id, reply: .log([]))) }
    }
    defer { service.stop() }
    let session = try session(service)
    let failure = await #expect(throws: ServiceFailure.self) { try await session.request(.status) }
    #expect(failure?.message.contains("parts") == true)
  }
}
