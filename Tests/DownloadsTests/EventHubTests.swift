import AssetModel
import Basics
import Synchronization
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1)))
struct EventHubTests {
  private func hub() -> (EventHub, Clock) {
    let clock = Clock()
    return (EventHub(now: { clock.now.withLock { $0 } }), clock)
  }

  private final class Clock: Sendable {
    let now = Mutex(Duration.seconds(100))
    func advance(by step: Duration) { now.withLock { $0 += step } }
  }

  private static func event(_ number: Int) -> DownloadEvent { .started(JobID(Int64(number))) }

  private static func number(_ event: DownloadEvent) -> Int {
    guard case .started(let id) = event else { return -1 }
    return Int(id.number)
  }

  @Test("the first event after a quiet time is handed over at once, and what follows it waits for others")
  func waits() {
    let (hub, clock) = hub()
    #expect(hub.timeLeft == nil)
    hub.send(Self.event(1))
    #expect(hub.timeLeft == .zero)
    hub.flushIfDue()
    #expect(hub.timeLeft == nil)
    hub.send(Self.event(2))
    #expect(hub.timeLeft == EventHub.maxWait)
    clock.advance(by: .milliseconds(1))
    hub.send(Self.event(3))
    hub.flushIfDue()
    #expect(hub.timeLeft == EventHub.maxWait - .milliseconds(1))
    clock.advance(by: .milliseconds(1))
    #expect(hub.timeLeft == .zero)
    hub.flushIfDue()
    #expect(hub.timeLeft == nil)
    // A quiet time that was longer than the wait doesn't make the next one wait.
    clock.advance(by: .seconds(10))
    hub.send(Self.event(4))
    #expect(hub.timeLeft == .zero)
  }

  @Test("every listener is given every event once and in order, however they were flushed", arguments: 0..<20)
  func order(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let (hub, clock) = hub()
    var streams: [(from: Int, stream: AsyncStream<DownloadEvent>)] = [(1, hub.stream())]
    var sent = 0
    for _ in 0..<200 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6:
        sent += 1
        hub.send(Self.event(sent))
      case 6: clock.advance(by: .microseconds(Int.random(in: 1...3000, using: &random)))
      case 7: hub.flushIfDue()
      case 8:
        hub.flush()

      default:
        hub.flush()

        if streams.count < 5 { streams.append((sent + 1, hub.stream())) }
      }
    }
    hub.finish()
    for (from, stream) in streams {
      var received: [Int] = []
      for await event in stream { received.append(Self.number(event)) }
      #expect(received == Array(from..<(sent + 1)))
    }
  }

  @Test("the first listener is given the newest events of before, in order, and only it")
  func early() async {
    let (hub, _) = hub()
    for number in 1...3000 { hub.send(Self.event(number)) }
    hub.flush()
    let (first, second) = (hub.stream(), hub.stream())
    hub.send(Self.event(3001))
    hub.finish()
    var received: [Int] = []
    for await event in first { received.append(Self.number(event)) }
    #expect(received == Array((3001 - 1024)...3001))
    received = []
    for await event in second { received.append(Self.number(event)) }
    #expect(received == [3001])
  }

  @Test("a listener that lets its stream go in the middle of a batch is forgotten, and others go on")
  func letsGo() async {
    let (hub, _) = hub()
    let kept = hub.stream()
    do {
      let dropped = hub.stream()
      for number in 1...10 { hub.send(Self.event(number)) }
      hub.flush()
      for await event in dropped where Self.number(event) == 3 { break }
    }
    #expect(hub.listenerCount == 1)
    hub.finish()
    var received: [Int] = []
    for await event in kept { received.append(Self.number(event)) }
    #expect(received == Array(1...10))
  }

  @Test("a task that is cancelled while it waits for an event ends")
  func cancelled() async {
    let (hub, _) = hub()
    let stream = hub.stream()
    let task = Task {
      var count = 0
      for await _ in stream { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value == 0)
  }
}
