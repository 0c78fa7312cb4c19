import Basics
import Foundation
import Glibc
import Testing

@testable import Downloads

/// The window of background transfers against a model of a link with one queue.
@Suite(.timeLimit(.minutes(1))) struct ReceiveWindowTests {
  /// A bottleneck of some rate: what is sent ahead beyond its pipe waits in its queue.
  struct Link {
    var bytesPerSecond = 1_250_000.0
    var base = 0.020
    /// The kernel's own limit.
    var kernelWindow = 4 << 20
    var queued = 0.0
    var received = 0.0

    /// What the kernel says after so much time with so many bytes under way by us and by others.
    mutating func pass(
      _ time: Duration, _ limit: Int?, others: Double
    ) -> (sample: ReceiveWindow.Sample, rate: Double) {
      let ours = Double(min(limit ?? kernelWindow, kernelWindow))
      queued = max(0, ours + others - bytesPerSecond * base)
      let roundTrip = base + queued / bytesPerSecond
      // Tail of a finite buffer: the transfer with more under way gets more of the link.
      let share = ours / max(1, ours + others)
      let rate = min(ours / roundTrip, bytesPerSecond * (queued > 0 ? share : 1))
      received += rate * time.inSeconds
      return (.init(roundTrip: .seconds(roundTrip), receivedBytes: Int64(received)), rate)
    }
  }

  private func run(
    _ window: inout ReceiveWindow, _ link: inout Link, seconds: Double, others: Double, from: inout Duration
  )
    -> (rate: Double, queue: Double)
  {
    var last = (rate: 0.0, queue: 0.0)
    let end = from + .seconds(seconds)
    let step: Duration = max(.seconds(link.base), .milliseconds(50))
    while from < end {
      from += step
      let (sample, rate) = link.pass(step, window.limit, others: others)
      _ = window.look(sample, at: from)
      last = (rate, link.queued / link.bytesPerSecond)
    }
    return last
  }

  @Test(arguments: [0.002, 0.020, 0.200], [125_000.0, 1_250_000, 12_500_000])
  func fillsALinkAndKeepsItsQueueShort(base: Double, rate: Double) {
    var window = ReceiveWindow()
    var link = Link(bytesPerSecond: rate, base: base)
    var now: Duration = .zero
    // The first packets see an empty queue; then the sender fills it as far as the kernel's window lets it.
    _ = window.look(.init(roundTrip: .seconds(base), receivedBytes: 14_600), at: now)
    now += .seconds(1)
    let end = run(&window, &link, seconds: 60, others: 0, from: &now)
    #expect(end.rate >= rate * 0.85, "\(end)")
    if rate * (base + 0.06) < Double(link.kernelWindow) {
      #expect(end.queue <= 0.075, "\(end)")
    }
  }

  @Test func makesRoomForOthersAndComesBack() {
    var window = ReceiveWindow()
    var link = Link()
    var now: Duration = .zero
    _ = window.look(.init(roundTrip: .milliseconds(20), receivedBytes: 14_600), at: now)
    now += .seconds(1)
    _ = run(&window, &link, seconds: 20, others: 0, from: &now)
    // A transfer in the foreground fills 250 ms of queue.
    #expect(!window.isGivingWay(at: now), "it is alone")
    let beside = run(&window, &link, seconds: 20, others: 1_250_000 * 0.25, from: &now)
    #expect(window.isGivingWay(at: now))
    #expect(window.limit == ReceiveWindow.minBytes, "down to the least: \(beside)")
    let after = run(&window, &link, seconds: 30, others: 0, from: &now)
    #expect(after.rate > 1_000_000, "\(after)")
    #expect(!window.isGivingWay(at: now))
  }

  /// Its own queue isn't taken for the route, however long it lasts.
  @Test(arguments: [0.002, 0.020, 0.200]) func keepsItsQueueShortForHours(base: Double) {
    var window = ReceiveWindow()
    var link = Link(base: base)
    var now: Duration = .zero
    // The body's first packets find a queue already; the handshake didn't.
    _ = window.look(
      .init(roundTrip: .seconds(base + 0.05), shortestRoundTrip: .seconds(base), receivedBytes: 14_600), at: now)
    let start = link.received
    var longest = 0.0
    for _ in 0..<(3 * 60) {
      longest = max(longest, run(&window, &link, seconds: 59, others: 0, from: &now).queue)
      #expect(!window.isGivingWay(at: now))
    }
    #expect(longest <= 0.075, "\(longest)")
    let rate = (link.received - start) / now.inSeconds
    #expect(rate >= link.bytesPerSecond * 0.85, "\(rate)")
  }

  /// Where its receive buffer turns out too small, the kernel widens that, and the window with it.
  @Test func setsALimitAgain() {
    var window = ReceiveWindow()
    _ = window.look(.init(roundTrip: .milliseconds(20), receivedBytes: 0), at: .zero)
    let first = window.look(.init(roundTrip: .milliseconds(120), receivedBytes: 1_000_000), at: .seconds(1))
    #expect(first != nil && first == window.limit)
    // Nothing came, so that nothing is known.
    #expect(window.look(.init(roundTrip: .milliseconds(20), receivedBytes: 1_000_000), at: .seconds(2)) == first)
  }

  /// It sends what its limit allows for a second and waits: the first packet of each burst seems to have been long under way.
  @Test("a server that sends in bursts isn't slowed down", arguments: [1460, 65_483], [100, 300, 1000])
  func bursts(segment: Int, period: Int) {
    var window = ReceiveWindow()
    let rate = 300_000.0
    var received = 0.0
    for look in 1...600 {
      let now = Duration.milliseconds(look * 200)
      // Of the bursts until now, the last one.
      let bursts = Double(look * 200 / period)
      received = bursts * rate * Double(period) / 1000
      _ = window.look(
        .init(
          roundTrip: .milliseconds(period / 4), shortestRoundTrip: .milliseconds(1), receivedBytes: Int64(received),
          segmentBytes: segment), at: now)
      // What may be sent in a true round trip, and then in a second.
      if let limit = window.limit {
        #expect(limit >= 2 * segment && Double(limit) / 0.001 >= rate * 4, "\(limit) after \(look) looks")
      }
    }
  }

  @Test func sayNothingWithoutAQueue() {
    var window = ReceiveWindow()
    for second in 0..<100 {
      let received = Int64(second) << 20
      #expect(window.look(.init(roundTrip: .microseconds(30), receivedBytes: received), at: .seconds(second)) == nil)
    }
    #expect(window.look(.init(roundTrip: .zero, receivedBytes: 0), at: .seconds(200)) == nil, "no estimate yet")
  }

  @Test func neverBelowTheLeastNorAboveTheMost() {
    var window = ReceiveWindow()
    var random = SeededGenerator(seed: 7)
    for look in 0..<5000 {
      let sample = ReceiveWindow.Sample(
        roundTrip: .microseconds(Int.random(in: 0...3_000_000, using: &random)),
        shortestRoundTrip: .microseconds(Int.random(in: 0...3_000_000, using: &random)),
        receivedBytes: Int64.random(in: 0...1 << 40, using: &random))
      if let new = window.look(sample, at: .milliseconds(look * 3500)) {
        #expect((ReceiveWindow.minBytes...ReceiveWindow.maxBytes).contains(new))
      }
    }
  }

  @Test func aRouteThatBecameLongerIsTakenForLongInTheEnd() {
    var window = ReceiveWindow()
    var now: Duration = .zero
    var received: Int64 = 100_000
    _ = window.look(.init(roundTrip: .milliseconds(10), receivedBytes: received), at: now)
    // 200 ms from now on, with no queue: after ten minutes it is known that they are the route's.
    for _ in 0..<(9 * 60) {
      now += .seconds(1)
      received += 5 * Int64(window.limit ?? 100_000)
      _ = window.look(.init(roundTrip: .milliseconds(200), receivedBytes: received), at: now)
    }
    let low = window.limit ?? .max
    #expect(low == ReceiveWindow.minBytes)
    for _ in 0..<(3 * 60) {
      now += .seconds(1)
      received += 5 * Int64(window.limit ?? 0)
      _ = window.look(.init(roundTrip: .milliseconds(200), receivedBytes: received), at: now)
    }
    #expect((window.limit ?? .max) > low)
  }

  @Test func theKernelTakesIt() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(client) }
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, address, &length) == 0
          && connect(client, address, length) == 0
      }
    }
    try #require(isConnected)
    #expect(ReceiveSocket.sample(client) != nil)
    ReceiveSocket.limit(client, to: 65_536)
    var value: Int32 = 0
    var size = socklen_t(4)
    getsockopt(client, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, &size)
    #expect(value > 0 && value <= 65_536, "\(value)")
    ReceiveSocket.limit(client, to: ReceiveWindow.maxBytes)
    getsockopt(client, Int32(IPPROTO_TCP), TCP_WINDOW_CLAMP, &value, &size)
    #expect(value > 65_536, "\(value)")
    #expect(ReceiveSocket.sample(-1) == nil)
  }
}
