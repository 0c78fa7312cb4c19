package import AssetModel
internal import HeapModule
internal import LinuxSystem

/// Who goes next. A value without clocks or effects: jobs and what they received go in, decisions come out.
///
/// Between the apps of a class the one that received least goes first, in steps of a quantum (deficit round robin by
/// bytes with equal weights); within an app priority decides, then the fewest remaining bytes, then age.
package struct Scheduler {
  var limits: Limits
  private var queues: [AppClass: AppQueue] = [:]
  private var waiting: [JobID: Waiting] = [:]
  private(set) var running: [JobID: Running] = [:]
  /// Bytes that each app of a class received since it was last idle.
  private var served: [AppClass: Int64] = [:]
  private var turn: UInt64 = 0
  private var serial: UInt64 = 0
  private var lastTurn: [AppClass: UInt64] = [:]
  /// Prefetches that wait, those first that will first have waited long enough to count as more.
  private var promotions = Heap<Promotion>()
  /// Origins that asked for fewer requests, and by what their limits are divided.
  private var divisors: [UInt32: Int] = [:]

  package init(limits: Limits = Limits()) { self.limits = limits }

  private struct AppClass: Hashable {
    var app: UInt32
    var transferClass: TransferClass
  }

  private struct Waiting {
    var key: AppClass
    var serial: UInt64
  }

  /// What was removed stays in its heap until it comes to the top.
  private struct AppQueue {
    var byOrigin: [UInt32: Heap<Entry>] = [:]
    var count = 0
  }

  var waitingCount: Int { waiting.count }
  /// What is kept of prefetches that wait, or waited, to be promoted.
  var keptPromotions: Int { promotions.count }

  /// Of jobs that wait or run.
  var origins: Set<UInt32> {
    var all = Set(running.values.map(\.entry.origin))
    for queue in queues.values {
      for (origin, heap) in queue.byOrigin where heap.unordered.contains(where: { !isStale($0) }) { all.insert(origin) }
    }
    return all
  }

  func isWaiting(_ id: JobID) -> Bool { waiting[id] != nil }

  private func isStale(_ entry: Entry) -> Bool { waiting[entry.id]?.serial != entry.serial }

  /// Adds a job that could run now. `now` is boot time.
  package mutating func enqueue(_ entry: Entry, now: Duration) {
    var entry = entry
    if entry.transferClass == .prefetch, now - entry.since >= limits.promotion { entry.transferClass = .background }
    entry.rank = Int64(entry.priority) - Int64(entry.since / limits.agingStep)
    let key = AppClass(app: entry.app, transferClass: entry.transferClass)
    guard waiting[entry.id] == nil, running[entry.id] == nil else { return }
    serial += 1
    entry.serial = serial
    entry.enqueuedAt = now
    waiting[entry.id] = Waiting(key: key, serial: serial)
    if entry.transferClass == .prefetch { awaitPromotion(of: entry) }
    if queues[key] == nil,
      !running.values.contains(where: { $0.entry.app == key.app && $0.entry.transferClass == key.transferClass })
    {
      // An app that was idle has no claim to what it didn't ask for.
      let busy = Set(running.values.map { AppClass(app: $0.entry.app, transferClass: $0.entry.transferClass) })
      let others = served.filter {
        $0.key.transferClass == key.transferClass && (queues[$0.key] != nil || busy.contains($0.key))
      }.map(\.value)
      served[key] = max(served[key] ?? 0, others.min() ?? 0)
    }
    queues[key, default: AppQueue()].byOrigin[entry.origin, default: Heap()].insert(entry)
    queues[key]?.count += 1
  }

  /// Forgets a waiting or running job.
  package mutating func remove(_ id: JobID) {
    running[id] = nil
    guard let key = waiting.removeValue(forKey: id)?.key else { return }
    queues[key]?.count -= 1
    if queues[key]?.count == 0 { queues[key] = nil }
  }

  mutating func received(_ bytes: Int64, by id: JobID) {
    guard let entry = running[id]?.entry else { return }
    running[id]?.received += bytes
    served[AppClass(app: entry.app, transferClass: entry.transferClass), default: 0] += bytes
  }

  mutating func setConnections(_ count: Int, of id: JobID) { running[id]?.connections = count }

  /// Whether a running job may open one more connection.
  func permitsConnection(of id: JobID) -> Bool {
    guard let job = running[id] else { return false }
    let (origin, transferClass) = (job.entry.origin, job.entry.transferClass)
    // One connection less than would keep others from beginning, where others wait; and never the last slot.
    let isAwaited = queues.values.contains { queue in
      queue.byOrigin[origin]?.unordered.contains { !isStale($0) } ?? false
    }
    let maxConnections =
      transferClass == .foreground && !isAwaited
      ? limits.perOriginSegmented / divisor(origin) : originLimit(origin, transferClass) - (isAwaited ? 1 : 0)
    return connections(nil) < limits.transfers - 1 && connections(origin) < maxConnections
  }

  private func connections(_ origin: UInt32?) -> Int {
    running.values.reduce(0) { origin == nil || $1.entry.origin == origin ? $0 + $1.connections : $0 }
  }

  /// The next thing to do, or nil. `isBlocked` says of a class whether a gate holds it, of an origin whether it is to be
  /// left alone.
  package mutating func next(
    now: Duration, isClassBlocked: (TransferClass) -> Bool, isOriginBlocked: (UInt32, TransferClass) -> Bool
  ) -> Decision? {
    promote(now)
    for transferClass in TransferClass.allCases where !isClassBlocked(transferClass) {
      let candidates = queues.keys.filter { $0.transferClass == transferClass }
      guard !candidates.isEmpty else { continue }
      switch room(for: transferClass) {
      case .none:
        if let victim = victim(for: transferClass, now: now) { return yield(victim) }
      case .small, .any:
        let onlySmall = room(for: transferClass) == .small
        // Checked once each: hundreds of apps may wait for one origin.
        var free: [UInt32: Bool] = [:]
        for key in candidates {
          guard let byOrigin = queues[key]?.byOrigin else { continue }
          for origin in byOrigin.keys where free[origin] == nil {
            free[origin] =
              connections(origin) < originLimit(origin, transferClass) && !isOriginBlocked(origin, transferClass)
          }
        }
        let mayStart = free.values.contains(true)
        let mayTake = running.values.contains { $0.entry.transferClass > transferClass || isOver($0, now) }
        guard mayStart || mayTake else { continue }
        // Looked up once each, too: sorting would look them up thousands of times.
        let order = candidates.map { (claim: claim($0), key: $0) }.sorted { $0.claim < $1.claim }.map(\.key)
        for key in order where mayStart {
          if let entry = take(from: key, onlySmall: onlySmall, { free[$0] == true }) {
            turn += 1
            lastTurn[key] = turn
            running[entry.id] = Running(entry: entry, started: now)
            return .start(entry)
          }
        }
        // There are slots, but not for what waits: at its origin, or for large ones.
        if mayTake, let victim = blocker(of: transferClass, order, now: now, isOriginBlocked) { return yield(victim) }
      }
    }
    return nil
  }

  private mutating func promote(_ now: Duration) {
    while var entry = promotions.min?.entry, entry.since + limits.promotion <= now {
      promotions.removeMin()
      if isStale(entry) { continue }
      entry.idle += max(.zero, now - entry.enqueuedAt)
      remove(entry.id)
      enqueue(entry, now: now)
    }
  }

  /// Those that left the queue stay in the heap until their day is over: with many, it is made anew.
  private mutating func awaitPromotion(of entry: Entry) {
    promotions.insert(Promotion(entry: entry))
    guard promotions.count > 2 * waiting.count + 64 else { return }
    promotions = Heap(promotions.unordered.filter { !isStale($0.entry) })
  }

  private mutating func yield(_ victim: JobID) -> Decision {
    running[victim]?.isYielding = true
    return .yield(victim)
  }

  /// A job that was to make room has nothing left to transfer: another one is chosen.
  mutating func keepsSlot(_ id: JobID) {
    running[id]?.isYielding = false
    running[id]?.keepsSlot = true
  }

  /// It transfers again.
  mutating func transfers(_ id: JobID) { if running[id]?.keepsSlot == true { running[id]?.keepsSlot = false } }

  /// Who has to make room so that the first of those that wait can start although there are slots: a job of a lower class
  /// at its origin, where that has as many as it may; or a large one in the background, where the last slot is kept for
  /// small ones. Of its own class only one whose turn is over and whose app received more: a slot that came back to the
  /// same job would have been given up for nothing.
  private func blocker(
    of transferClass: TransferClass, _ keys: [AppClass], now: Duration,
    _ isOriginBlocked: (UInt32, TransferClass) -> Bool
  ) -> JobID? {
    let isCramped = room(for: transferClass) == .small
    for key in keys {
      for (origin, heap) in queues[key]?.byOrigin ?? [:] {
        guard let top = heap.min, !isStale(top), !isOriginBlocked(origin, transferClass) else { continue }
        let isFull = connections(origin) >= originLimit(origin, transferClass)
        guard isFull || isCramped && top.remaining > limits.small else { continue }
        let found = victim(for: transferClass, now: now) { entry in
          let owner = AppClass(app: entry.app, transferClass: entry.transferClass)
          guard entry.transferClass > transferClass || quanta(key) < quanta(owner) else { return false }
          return isFull ? entry.origin == origin : entry.transferClass.isBackground && entry.remaining > limits.small
        }
        if let found { return found }
      }
    }
    return nil
  }

  private func isOver(_ job: Running, _ now: Duration) -> Bool {
    job.entry.transferClass.isBackground && (job.received >= limits.turn || now - job.started >= limits.turnTime)
  }

  private func claim(_ key: AppClass) -> (Int64, UInt64, UInt32) {
    (quanta(key), lastTurn[key] ?? 0, key.app)
  }

  private func quanta(_ key: AppClass) -> Int64 { (served[key] ?? 0) / limits.quantum }

  private enum Room { case none, small, any }

  private func room(for transferClass: TransferClass) -> Room {
    let all = connections(nil)
    guard all < limits.transfers else { return .none }
    guard transferClass.isBackground else {
      let large = running.values.reduce(0) { $1.entry.remaining > limits.small ? $0 + $1.connections : $0 }
      return large < limits.transfers - 1 ? .any : .small
    }
    let background = running.values.filter { $0.entry.transferClass.isBackground }
    guard background.count < limits.background else { return .none }
    let large = background.filter { $0.entry.remaining > limits.small }.count
    return large < limits.background - 1 ? .any : .small
  }

  /// A job of a lower class, or a large one whose turn is over while others of its class wait.
  private func victim(
    for transferClass: TransferClass, now: Duration, among isCandidate: (Entry) -> Bool = { _ in true }
  ) -> JobID? {
    // One at a time: its slot isn't free before its checkpoint.
    if running.values.contains(where: \.isYielding) { return nil }
    let candidates = running.values.filter { !$0.keepsSlot && isCandidate($0.entry) }
    let lower = candidates.filter { $0.entry.transferClass > transferClass }
    if let victim = lower.max(by: { ($0.entry.transferClass, $0.started) < ($1.entry.transferClass, $1.started) }) {
      return victim.entry.id
    }
    guard transferClass.isBackground else { return nil }
    return candidates.filter { $0.entry.transferClass == transferClass && isOver($0, now) }
      .max { ($0.received, $0.entry.id) < ($1.received, $1.entry.id) }?.entry.id
  }

  private func originLimit(_ origin: UInt32, _ transferClass: TransferClass) -> Int {
    let hasForeground =
      transferClass == .foreground
      || running.values.contains { $0.entry.origin == origin && $0.entry.transferClass == .foreground }
    return max(1, (hasForeground ? limits.perOriginWithForeground : limits.perOrigin) / divisor(origin))
  }

  private func divisor(_ origin: UInt32) -> Int { divisors[origin] ?? 1 }

  /// The origin asked for fewer requests: half as many at once as before, at least one.
  mutating func halve(_ origin: UInt32) { divisors[origin] = min(divisor(origin) * 2, limits.perOriginSegmented) }

  /// As many at once as from any other.
  mutating func restore(_ origin: UInt32) { divisors[origin] = nil }

  private mutating func take(from key: AppClass, onlySmall: Bool, _ isFree: (UInt32) -> Bool) -> Entry? {
    guard var queue = queues[key] else { return nil }
    defer { if queues[key] != nil { queues[key] = queue } }
    // Taken out so that changing it doesn't copy it.
    queues[key] = AppQueue()
    var best: (origin: UInt32, entry: Entry)?
    for origin in Array(queue.byOrigin.keys) {
      while let top = queue.byOrigin[origin]?.min, isStale(top) { queue.byOrigin[origin]?.removeMin() }
      guard let top = queue.byOrigin[origin]?.min else {
        queue.byOrigin[origin] = nil
        continue
      }
      if onlySmall, top.remaining > limits.small { continue }
      if let found = best, !(top < found.entry) { continue }
      if !isFree(origin) { continue }
      best = (origin, top)
    }
    guard let best else { return nil }
    queue.byOrigin[best.origin]?.removeMin()
    queue.count -= 1
    waiting[best.entry.id] = nil
    if queue.count == 0 { queues[key] = nil }
    return best.entry
  }

  /// Jobs of the same queue that go after `entry` unless others come, the first first.
  func upcoming(like entry: Entry, atMost count: Int) -> [JobID] {
    let key = AppClass(app: entry.app, transferClass: entry.transferClass)
    guard let heap = queues[key]?.byOrigin[entry.origin] else { return [] }
    return heap.next(count) { !isStale($0) }.map(\.id)
  }

  /// The waiting jobs of a class, and since when each is in the queue.
  func waiting(in transferClass: TransferClass) -> [(id: JobID, since: Duration)] {
    queues.filter { $0.key.transferClass == transferClass }.flatMap { $0.value.byOrigin.values.flatMap(\.unordered) }
      .filter { !isStale($0) }.map { ($0.id, $0.enqueuedAt) }
  }

  /// A waiting job's place within its app, from 1, and how many wait in its class; for `explain`.
  func place(of id: JobID) -> (entry: Entry, place: Int, waiting: Int)? {
    guard let key = waiting[id]?.key, let queue = queues[key] else { return nil }
    let entries = queue.byOrigin.values.flatMap(\.unordered).filter { !isStale($0) }
    guard let own = entries.first(where: { $0.id == id }) else { return nil }
    let all = queues.filter { $0.key.transferClass == key.transferClass }.reduce(0) { $0 + $1.value.count }
    return (own, 1 + entries.count { $0 < own }, all)
  }
}
