import AssetModel
import Basics
import TestSupport
import Testing

@testable import ServiceMachines

/// Calls, engine events and crashes against a registry, its journal of rows, and an engine.
private struct RegistryWorld {
  var registry = DownloadRegistry()
  var rows: [String: DownloadRegistry.Entry] = [:]
  /// What the engine has, and how urgent it takes it to be.
  var engine: [String: DownloadRegistry.Urgency] = [:]
  var paused: Set<String> = []
  /// How often each was added and settled.
  var added: [String: Int] = [:]
  var settled: [String: Int] = [:]
  var random: SeededGenerator
  var call: UInt64 = 0
  var generation = 1

  mutating func download(essential: Bool = false) -> PlannedDownload {
    let name = random.below(25)
    return PlannedDownload(
      uniqueIdentifier: randomUnique(name), identifier: "\(name)", isEssential: essential, size: 10)
  }

  mutating func randomUnique(_ name: Int) -> String { "u\(name)-\(random.below(40))" }

  /// One of them; to sort a thousand for each event would take longer than all else.
  mutating func known<Value>(in names: [String: Value]) -> String? {
    for _ in 0..<20 {
      let name = randomUnique(random.below(25))
      if names[name] != nil { return name }
    }
    return names.keys.min()
  }

  mutating func caller() -> DownloadRegistry.Caller {
    switch random.below(6) {
    case 0: .extension(run: 1, isAnswering: random.chance(3))
    case 1: .operator
    default: .app(connection: Int64(random.below(4)), isActive: !random.chance(5))
    }
  }

  mutating func next() -> DownloadRegistry.Event {
    call += 1
    let known = self.known(in: registry.entries) ?? "u0"
    let entry = registry.entries[known]
    switch random.below(16) {
    case 0, 1, 2: return .schedule(call: call, download: download(), caller: caller())
    case 3: return .startForeground(call: call, download: download(), state: .created, caller: caller())
    case 4, 5:
      var copy = entry?.download ?? download()
      copy.isEssential = false
      return .startForeground(call: call, download: copy, state: entry?.state ?? .waiting, caller: caller())
    case 6:
      return .cancel(
        call: call, identifier: "", uniqueIdentifier: known, state: entry?.state ?? .created, caller: caller())
    case 7:
      return random.chance(2)
        ? .pause(call: call, uniqueIdentifier: known) : .resume(call: call, uniqueIdentifier: known)
    case 8:
      generation += 1
      let essential = random.chance(2)
      if random.chance(9) {
        return .plannedManifest(
          download(essential: essential), generation: generation, isAwaited: essential || random.chance(2))
      }
      return .planned(downloads: [download(essential: essential), download()], generation: generation)
    case 9:
      let some = max(1, generation - random.below(5))
      return [
        .pauseGeneration(some), .resumeGeneration(some), .cancelGeneration(random.chance(9) ? nil : some),
        .gateOpened(generation: some),
      ][random.below(4)]
    case 10: return .connectionLeft(Int64(random.below(4)))
    case 11: return random.chance(4) ? .restarted : .conditions(isBackgroundActivityAllowed: !random.chance(4))
    default:
      guard let job = self.known(in: engine) else {
        return .engineStarted(uniqueIdentifier: known)
      }
      return [
        .engineAdded(uniqueIdentifier: job), .engineStarted(uniqueIdentifier: job),
        .engineWaiting(uniqueIdentifier: job),
        .engineSettled(uniqueIdentifier: job, settlement: .finished(size: 10)),
        .engineSettled(uniqueIdentifier: job, settlement: .failed(AppLifecycleTests.failure)),
        .engineSettled(uniqueIdentifier: job, settlement: .cancelled),
      ][random.below(6)]
    }
  }

  mutating func take(_ event: DownloadRegistry.Event, _ effects: [DownloadRegistry.Effect]) {
    var answers = 0
    for effect in effects {
      switch effect {
      case .accept, .refuse: answers += 1
      case .store(let entry): rows[entry.download.uniqueIdentifier] = entry
      case .remove(let unique): rows[unique] = nil
      case .add(let download, let urgency, _, let isPaused):
        let unique = download.uniqueIdentifier
        if engine[unique] == nil { added[unique, default: 0] += 1 }
        engine[unique] = urgency
        if isPaused { paused.insert(unique) } else { paused.remove(unique) }
      case .setUrgency(let unique, let urgency):
        #expect(engine[unique] != nil)
        engine[unique] = urgency
      case .pause(let unique): paused.insert(unique)
      case .resume(let unique): paused.remove(unique)
      case .settled(let unique, _, _):
        settled[unique, default: 0] += 1
        engine[unique] = nil
        paused.remove(unique)
      case .cancel, .reject, .began, .paused: break
      }
    }
    switch event {
    case .schedule, .startForeground, .cancel, .pause, .resume: #expect(answers == 1, "one answer for a call")
    default: #expect(answers == 0)
    }
  }

  /// What holds after each event of the rows, the engine and every entry.
  func check(_ event: DownloadRegistry.Event) {
    #expect(rows == registry.entries, "the rows are the registry: \(event)")
    var (named, failed, isEngines) = (Set<String>(), 0, true)
    // One expectation for all: there are a thousand entries, after ten thousand events.
    var wrong: DownloadRegistry.Entry?
    for (unique, entry) in registry.entries {
      guard entry.state != .failed else {
        failed += 1
        continue
      }
      let isOnlyOne = entry.isManifest || named.insert(entry.download.identifier).inserted
      let isPausedAlike = entry.isCancelling || paused.contains(unique) == registry.isPaused(entry)
      isEngines = isEngines && engine[unique] != nil
      if !isOnlyOne || !isPausedAlike || engine[unique] != entry.urgency { wrong = entry }
    }
    #expect(wrong == nil, "one download of an identifier, with the engine's urgency and pause [B36]: \(event)")
    #expect(isEngines && engine.count == registry.entries.count - failed, "\(event)")
    #expect(failed <= DownloadRegistry.maxFailed)
  }

  func checkCounts() {
    let wrong = added.first { unique, count in count != settled[unique, default: 0] + (engine[unique] == nil ? 0 : 1) }
    #expect(wrong == nil, "settled once")
  }
}

@Suite(.timeLimit(.minutes(2))) struct DownloadRegistryPropertyTests {
  @Test(
    "Rows, engine and registry agree, calls are answered once, downloads settle once [B36, B37, B44]",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var world = RegistryWorld(random: seed.generator)
    for step in 0..<10_000 {
      let event = world.next()
      let effects =
        step % 40 == 0
        ? try world.registry.handleAsTwins(event, now: .start) : world.registry.handle(event, now: .start)
      world.take(event, effects)
      world.check(event)
      if step % 50 == 0 { world.checkCounts() }
      guard step % 500 == 0 else { continue }
      // What comes from the rows goes on like what never ended.
      var again = DownloadRegistry(entries: world.rows.values)
      _ = again.handle(.restarted, now: .start)
      var same = world.registry
      _ = same.handle(.restarted, now: .start)
      #expect(again.entries == same.entries && again.scheduled == same.scheduled)
    }
  }
}
