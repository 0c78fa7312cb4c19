import Basics
import TestSupport
import Testing

@testable import ServiceMachines

/// Ledger and router together, with apps and extensions that crash, and a service that is killed.
private struct DeliveryWorld {
  var ledger = DeliveryLedger()
  var router = EventRouter()
  var now = Instant.start
  var random: SeededGenerator
  var nextNumber: Int64 = 0
  var nextPeer: Int64 = 0
  var staged = 0
  var events = 0
  /// Files that a recipient has moved, by how many did.
  var moves: [String: Int] = [:]
  /// Callbacks that returned, with the service alive to hear it.
  var acknowledged: [String: Int] = [:]
  var closed: [String: Int] = [:]
  /// Calls that a recipient is in.
  var calls: [(Recipient, EventRouter.Occurrence)] = []
  var isWakeAsked = false
  var canWake = true

  init(_ seed: Seed) { random = seed.generator }

  mutating func ledger(_ event: DeliveryLedger.Event) throws {
    events += 1
    // JSON is what takes the time here.
    for effect in events % 4 == 0 ? try ledger.handleAsTwins(event, now: now) : ledger.handle(event, now: now) {
      switch effect {
      case .offer(let names):
        #expect(!ledger.isGateClosed, "behind the gate nothing is offered [B14]")
        for name in names {
          nextNumber += 1
          let isFile = ledger.entries[name]?.hasFile == true
          try router(
            .occurred(.init(number: nextNumber, uniqueIdentifier: name, kind: isFile ? .finished : .failed)))
        }
      case .close(let name, _): closed[name, default: 0] += 1
      case .inspect(let name):
        try ledger(.inspected(uniqueIdentifier: name, isMoved: moves[name] != nil))
      case .deleteFile(let name): #expect(moves[name] == nil)
      }
    }
  }

  mutating func router(_ event: EventRouter.Event) throws {
    events += 1
    for effect in events % 4 == 0 ? try router.handleAsTwins(event, now: now) : router.handle(event, now: now) {
      switch effect {
      case .notify: break
      case .call(let recipient, let occurrence):
        calls.append((recipient, occurrence))
        try ledger(.offered(uniqueIdentifier: occurrence.uniqueIdentifier, recipient: recipient))
      case .withdraw(let recipient, let number): calls.removeAll { $0.0 == recipient && $0.1.number == number }
      case .wakeExtension: isWakeAsked = true
      case .resolved(let occurrence, .handled):
        try ledger(
          .acknowledged(
            uniqueIdentifier: occurrence.uniqueIdentifier, isMoved: moves[occurrence.uniqueIdentifier] != nil))
        acknowledged[occurrence.uniqueIdentifier, default: 0] += 1
      case .resolved(let occurrence, .recipientGone):
        try ledger(
          .recipientGone(
            uniqueIdentifier: occurrence.uniqueIdentifier, isMoved: moves[occurrence.uniqueIdentifier] != nil))
      case .resolved: break
      }
    }
  }

  mutating func answerWake() throws {
    isWakeAsked = false
    guard canWake else { return try router(.wakeRefused) }
    nextPeer += 1
    try router(.wakeGranted(run: nextPeer))
    if random.chance(8) { return try leave(.entryPoint(run: nextPeer)) }
    try router(.extensionReady(run: nextPeer))
  }

  mutating func answerCall() throws {
    guard !calls.isEmpty else { return }
    let (recipient, occurrence) = calls.remove(at: random.below(calls.count))
    let isHandled = !random.chance(4)
    // A file can be moved once only: the second one finds it gone.
    let name = occurrence.uniqueIdentifier
    if isHandled, occurrence.kind == .finished, moves[name] == nil, !random.chance(4) { moves[name] = 1 }
    if random.chance(6) { return try leave(recipient) }
    try router(.answered(number: occurrence.number, recipient: recipient, isHandled: isHandled))
  }

  mutating func leave(_ recipient: Recipient) throws {
    calls.removeAll { $0.0 == recipient }
    try router(.left(recipient: recipient))
  }

  /// A run that is told to end before it was called.
  mutating func endUncalled(_ run: Int64) throws {
    try router(.extensionEnding(run: run))
    for recipient in [Recipient.entryPoint(run: run), .delegate(run: run)] {
      for (_, occurrence) in calls.filter({ $0.0 == recipient }) {
        calls.removeAll { $0 == (recipient, occurrence) }
        try router(.notCalled(number: occurrence.number, recipient: recipient))
      }
      try leave(recipient)
    }
  }

  mutating func step() throws {
    now = now + .seconds(random.below(60))
    switch random.below(15) {
    case 0, 1, 2:
      guard ledger.entries.count < 30 else { return }
      staged += 1
      try ledger(.staged(uniqueIdentifier: "d\(staged)", hasFile: !random.chance(4)))
    case 3:
      nextPeer += 1
      let peer: Recipient = random.chance(3) ? .delegate(run: nextPeer) : .connection(nextPeer)
      if router.observers.count < 3 { try router(.observing(recipient: peer, isObserving: true)) }
    case 4: if let peer = router.observers.randomElement(using: &random) { try leave(peer) }
    case 5: try ledger(random.chance(2) ? .gateClosed : .gateOpened)
    case 6: try router(.tick)
    case 7: if let run = router.readyRun { try leave(.entryPoint(run: run)) }
    case 8:
      canWake = !random.chance(3)
      if canWake { try router(.wakePossible) }
    case 9: if random.chance(6) { try restart() }
    case 10:
      let runs = calls.compactMap { call -> Int64? in
        switch call.0 {
        case .entryPoint(let run), .delegate(let run): run
        case .connection: nil
        }
      }
      if let run = runs.randomElement(using: &random) { try endUncalled(run) }
    default: if isWakeAsked, random.chance(2) { try answerWake() } else { try answerCall() }
    }
  }

  /// `kill -9`: connections, runs and what they were called for are gone.
  mutating func restart() throws {
    calls.removeAll()
    isWakeAsked = false
    try router(.restarted(isAppRunning: random.chance(2)))
    try ledger(.restarted)
  }
}

@Suite(.timeLimit(.minutes(2))) struct DeliveryPropertyTests {
  @Test(
    "Every file and every failure is delivered or given up exactly once, over crashes of app, extension and service [B14, B55]",
    arguments: [Seed.current])
  func exactlyOnce(seed: Seed) throws {
    var world = DeliveryWorld(seed)
    for _ in 0..<10_000 { try world.step() }
    // From here on every recipient behaves.
    world.canWake = true
    world.now = world.now + EventRouter.reconnectionTimeout
    try world.ledger(.gateOpened)
    try world.router(.wakePossible)
    for _ in 0..<200_000 where !world.ledger.entries.isEmpty {
      if world.isWakeAsked { try world.answerWake() }
      guard !world.calls.isEmpty else {
        if world.isWakeAsked { continue }
        break
      }
      let (recipient, occurrence) = world.calls.removeFirst()
      try world.router(.answered(number: occurrence.number, recipient: recipient, isHandled: true))
    }
    #expect(world.ledger.entries.isEmpty, "nothing is lost")
    #expect(world.closed.count == world.staged && world.closed.values.allSatisfy { $0 == 1 })
    #expect(world.acknowledged.values.allSatisfy { $0 == 1 }, "no recipient was told twice by a service that knew it")
  }
}
