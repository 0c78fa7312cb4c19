internal import CLinux
internal import Dispatch
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// Accepts what a plugin connects to in its own network namespace, connects to the machines that its policy lists, and carries the
/// bytes; counts what it tries beside that. On a loop of its own, so that no watchdog waits for it.
///
/// @unchecked Sendable: all but `end` runs on `loop`.
final class NetworkRelay: @unchecked Sendable {
  struct Bounds {
    var admission = RelayAdmission.Bounds()
    /// Without a byte either way.
    var longestIdle = Duration.seconds(300)
    /// Resolving and connecting.
    var longestBeginning = Duration.seconds(30)
  }

  private enum Timer: UInt8, CaseIterable { case sweep, pause }

  /// Of one kind of event, before others have their turn.
  private static let portion = 64
  /// While this process has no descriptor left to accept with.
  private static let pause = Duration.milliseconds(100)

  private let loop: EventLoop
  private let timers: TimerKeys<Timer>
  private let plan: NetworkPlan
  private let bounds: Bounds
  /// The first of each kind of denial, as it happens. Any thread.
  private let tell: @Sendable (RunReport.Denial) -> Void
  private let resolver: NameResolver
  private var admission: RelayAdmission
  private var record: NetworkRecord
  private let watcher: Listener
  /// Where names are asked for; then one for each place of the plan.
  private let questions: Listener
  private var listeners: [Listener] = []
  private let names: NameServer
  private var connections: [UInt64: RelayConnection] = [:]
  private var lastConnection: UInt64 = 0

  /// What the runner sent.
  private final class Listener {
    var descriptor: DescriptorSlot
    var key: UInt64?

    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = DescriptorSlot(descriptor) }
  }

  /// `descriptors`: as the runner sent them, and the relay's from now on, also where this throws.
  init(
    _ plan: NetworkPlan, descriptors: [Int32], bounds: Bounds = Bounds(),
    tell: @escaping @Sendable (RunReport.Denial) -> Void
  ) throws(SystemCallError) {
    let owned = descriptors.map { Listener(OwnedDescriptor(taking: $0)) }
    guard owned.count == plan.places.count + 2 else {
      throw SystemCallError("recvmsg", code: EPROTO, subject: "the listeners of a run's network")
    }
    (watcher, questions) = (owned[0], owned[1])
    listeners = Array(owned[2...])
    self.plan = plan
    self.bounds = bounds
    self.tell = tell
    record = NetworkRecord(plan)
    admission = RelayAdmission(bounds.admission)
    loop = try EventLoop("outrider-net")
    timers = loop.newTimers()
    resolver = NameResolver(loop)
    names = NameServer(plan, loop)
    loop.submit { [self] in begin() }
  }

  /// Closes everything, and waits for it: no connection outlives its run. What was tried until now is in the record.
  func end() -> NetworkRecord {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var last: NetworkRecord?
    loop.submit { [self] in
      finish()
      record.end(asked: names.asked)
      last = record
      done.signal()
    }
    loop.shutDown()
    done.wait()
    return last ?? NetworkRecord(plan)
  }

  private func begin() {
    do {
      watcher.key = try loop.watch(watcher.descriptor.number) { [unowned self] in see() }
      questions.key = try loop.watch(questions.descriptor.number) { [unowned self] in
        accept(questions) { names.take($0) }
      }
      for (index, listener) in listeners.enumerated() {
        listener.key = try loop.watch(listener.descriptor.number) { [unowned self] in
          accept(listener) { admit($0, index) }
        }
      }
    } catch {
      // Without a watch nothing is answered, which the plugin sees as a host that doesn't answer.
      finish()
    }
  }

  private func finish() {
    while see() {}
    for timer in Timer.allCases { loop.setTimer(timers[timer], at: nil) }
    resolver.cancel()
    for id in connections.keys { close(id, resets: true) }
    names.end()
    for listener in listeners + [watcher, questions] {
      if let key = listener.key { loop.stop(key) }
      listener.descriptor.empty()
    }
    listeners = []
  }

  // MARK: What is tried

  /// Whether there may be more.
  @discardableResult
  private func see() -> Bool {
    guard !watcher.descriptor.isEmpty else { return false }
    for _ in 0..<Self.portion {
      var count = 0
      let code = loop.buffer.withUnsafeMutableBytes { raw in
        raw.baseAddress.map { ol_read_some(watcher.descriptor.number, $0, raw.count, &count) } ?? EINVAL
      }
      guard code == 0 else {
        var missed: UInt32 = 0
        if ol_missed_connections(watcher.descriptor.number, &missed) == 0, missed > 0 { record.missed(Int(missed)) }
        return false
      }
      guard let attempt = ConnectionAttempt(packet: loop.buffer[..<count]) else { continue }
      if plan.place(of: attempt.address, port: attempt.port) != nil
        || NetworkPlan.isOwn(attempt.address, port: attempt.port)
      {
        continue
      }
      let asked = names.name(of: attempt.address)
      if let asked { record.connected(asked) }
      deny("network", plan.text(of: attempt.address, port: attempt.port, asked: asked))
    }
    return true
  }

  private func deny(_ wall: String, _ target: String) {
    if let first = record.denied(wall: wall, target: target) { tell(first) }
  }

  private func accept(_ listener: Listener, _ take: (consuming OwnedDescriptor) -> Void) {
    for _ in 0..<Self.portion where !listener.descriptor.isEmpty {
      var made: Int32 = -1
      switch ol_accept(listener.descriptor.number, &made) {
      case 0: take(OwnedDescriptor(taking: made))
      case ECONNABORTED, EINTR: continue
      case let code where OpenFiles.isExhausted(code): return pauseAccepting()
      default: return
      }
    }
  }

  private func admit(_ inner: consuming OwnedDescriptor, _ index: Int) {
    if let refusal = admission.admit(at: BootClock.now) {
      _ = ol_reset_at_close(inner.number)
      return deny("limits", "\(plan.places[index].endpoint.text): \(refusal.words)")
    }
    lastConnection += 1
    let id = lastConnection
    record.opened(index)
    connections[id] = RelayConnection(inner, place: index, due: BootClock.now + bounds.longestBeginning)
    sweepLater()
    resolver.resolve(plan.places[index].endpoint.host) { [unowned self] answer in
      guard let connection = connections[id] else { return }
      switch answer {
      case .success(let addresses): go(id, connection.begin(addresses, port: port(of: connection)))
      case .failure(let failure): fail(id, failure.words)
      }
    }
  }

  /// Level-triggered, they would be reported again and again.
  private func pauseAccepting() {
    for listener in listeners + [questions] { if let key = listener.key { try? loop.change(key, to: []) } }
    loop.setTimer(timers[.pause], at: BootClock.now + Self.pause) { [unowned self] in
      for listener in listeners + [questions] { if let key = listener.key { try? loop.change(key, to: .reading) } }
    }
  }

  // MARK: Connections

  private func port(of connection: RelayConnection) -> UInt16 { plan.places[connection.place].endpoint.port }

  private func ready(_ id: UInt64) {
    guard let connection = connections[id] else { return }
    switch connection.phase {
    case .resolving: break
    case .connecting:
      connection.unwatchOuter(on: loop)
      go(id, connection.connected(port: port(of: connection)))
    case .open: move(id, connection)
    }
  }

  private func move(_ id: UInt64, _ connection: RelayConnection) {
    let (step, sent, received) = connection.move(&loop.buffer)
    record.moved(connection.place, sent: sent, received: received)
    if sent + received > 0 { connection.due = BootClock.now + bounds.longestIdle }
    // A plugin or a machine that takes a connection back has said what it wants: that is no failure of the host's.
    if case .failed = step { return close(id, resets: true) }
    go(id, step)
  }

  private func go(_ id: UInt64, _ step: RelayConnection.Step) {
    guard let connection = connections[id] else { return }
    switch step {
    case .over: return close(id, resets: false)
    case .failed(let code): return fail(id, SystemCallError.message(code))
    case .waiting, .again: break
    }
    do throws(SystemCallError) {
      try connection.watch(on: loop) { [unowned self] in ready(id) }
    } catch {
      fail(id, error.description)
    }
  }

  private func fail(_ id: UInt64, _ reason: String) {
    guard let connection = connections[id] else { return }
    record.failed(connection.place, reason)
    close(id, resets: true)
  }

  private func close(_ id: UInt64, resets: Bool) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    connection.close(on: loop, resets: resets)
    admission.ended()
  }

  // MARK: Time

  private func sweepLater() {
    let step = min(bounds.longestIdle, bounds.longestBeginning) / 4
    loop.setTimer(timers[.sweep], at: BootClock.now + step) { [unowned self] in sweep() }
  }

  private func sweep() {
    let now = BootClock.now
    for (id, connection) in connections where connection.due <= now {
      fail(id, connection.phase == .open ? "nothing was sent for too long" : "no answer in time")
    }
    if !connections.isEmpty { sweepLater() }
  }
}
