import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// F-66 to F-70: allowances to the last byte, restarts, scarce descriptors and memory, and what is private.
@Suite(.serialized, .timeLimit(.minutes(2))) struct FaultsDServiceTests {
  typealias Bench = FaultsDNumbersTests.Bench

  // MARK: F-66

  private static let manifestPath = "/manifest"
  private static let manifest = Content.pseudoRandom(seed: 2, count: 100_000)

  private static func bench(
    allows bytes: Int64, clock: TestClock = TestClock(jumpsWhenIdle: false),
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in nil }
  ) throws -> Bench {
    let bench = try Bench(clock: clock, reply: reply)
    bench.origin.set(manifestPath, Resource(manifest))
    try bench.store.setBudget("app", allows: bytes)
    return bench
  }

  private static func manifest(_ bench: Bench, _ name: String = "manifest", path: String = manifestPath)
    -> DownloadSpecification
  {
    var specification = bench.harness.specification(bench.origin.url(path), name: name, .essential)
    specification.budget = "app"
    specification.isManifest = true
    return specification
  }

  @Test("F-66 the manifest always has its 1 MiB, whatever the others used") func manifestPart() async throws {
    let bench = try Self.bench(allows: (1 << 20) + 200)
    let events = bench.harness.engine.events
    var greedy = bench.specification("greedy", .essential)
    greedy.declaredSize = 200
    greedy.budget = "app"
    var late = greedy
    late.identifier = "late"
    let results = try await bench.harness.engine.add([greedy, late, Self.manifest(bench)])
    #expect(results[1] == .allowance(missing: 200), "not a byte of the manifest's part is for others")
    let id = try #require(results[2].job)
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
    let budget = try #require(try bench.store.budget("app"))
    #expect(budget.manifestCharged > 100_000 && budget.manifestCharged < 110_000, "body and head: \(budget)")
    // The allowance is gone altogether: the next manifest comes nevertheless.
    try bench.store.setBudget("app", allows: 0)
    let later = bench.harness.engine.events
    let second = try #require(try await bench.harness.engine.add([Self.manifest(bench, "second")])[0].job)
    #expect(try await bench.harness.end(of: second, in: later).isFinished)
    #expect(bench.harness.contents("second") == Data(Self.manifest.bytes))
    try await bench.close()
    #expect(try bench.store.budget("app")?.manifestReserved == 0)
  }

  @Test("F-66 a manifest that is larger than its part waits where nothing else is left") func largeManifest()
    async throws
  {
    let bench = try Self.bench(allows: 0)
    let events = bench.harness.engine.events
    let id = try #require(
      try await bench.harness.engine.add([Self.manifest(bench, path: Trial.path)])[0].job)
    #expect(try await events.waiting(id).code == .allowance)
    #expect(try #require(try bench.store.budget("app")).manifestCharged <= 1 << 20)
    try bench.store.setBudget("app", allows: 8 << 20)
    bench.harness.engine.allowancesChanged()
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
    #expect(bench.harness.contents("manifest") == Trial.bytes)
    try await bench.close()
  }

  private static func redirect(body count: Int) -> Reply {
    .raw(
      "HTTP/1.1 302 Found\r\nLocation: \(Trial.path)?there\r\nContent-Length: \(count)\r\n\r\n"
        + String(repeating: "x", count: count))
  }

  @Test("F-66 the bodies of redirects are charged") func redirects() async throws {
    let bench = try Self.bench(allows: 8 << 20) { request, _ in
      request.query == nil ? Self.redirect(body: 50_000) : nil
    }
    let events = bench.harness.engine.events
    var specification = bench.specification()
    specification.budget = "app"
    let id = try #require(try await bench.harness.engine.add([specification])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
    try await bench.close()
    let budget = try #require(try bench.store.budget("app"))
    #expect(budget.charged >= Int64(Trial.size) + 50_000 && budget.reserved == 0, "\(budget)")
  }

  @Test("F-66 what was received when the service stops stays charged", arguments: [false, true])
  func restarted(inBody: Bool) async throws {
    let bench = try Self.bench(allows: 16 << 20) { request, nth in
      if request.query == nil, !inBody { return Self.redirect(body: 50_000) }
      // Nothing of the file comes, or some of it.
      return nth <= 2
        ? (inBody ? .cut(after: .byte(2 << 20), .silence) : .with { $0.timing.beforeStatus = .seconds(3600) }) : nil
    }
    var specification = bench.specification()
    specification.budget = "app"
    let id = try #require(try await bench.harness.engine.add([specification])[0].job)
    if inBody {
      try await bench.harness.engine.received(id, 2 << 20)
    } else {
      #expect(await bench.origin.requests(count: 2, within: .seconds(60)).count == 2)
    }
    try await bench.close()
    let charged = try #require(try bench.store.budget("app")).charged
    #expect(charged >= (inBody ? 2 << 20 : 50_000), "\(charged)")
    try bench.store.close()
    let again = try AssetStore(opening: bench.state)
    #expect(try again.budget("app")?.charged == charged)
    #expect(try again.job(id)?.receivedBytes == charged)
    try again.close()
  }

  // MARK: F-67

  @Test("F-67 a service that starts takes up what waits for another attempt or is paused, and knows why") func takenUp()
    async throws
  {
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    let origin = try Origin { $0.handler = { _, _ in .status(503) } }
    defer { origin.stop() }
    let clock = TestClock(jumpsWhenIdle: false)
    let store = try AssetStore(opening: state)
    let harness = try Harness(clock: clock, store: store)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url("/a"), .visible)])[0].job)
    #expect(try await events.waiting(id).code == .retrying)
    let paused = try #require(
      try await harness.engine.add([harness.specification(origin.url("/b"), name: "b", .visible)])[0].job)
    harness.engine.pause(paused)
    while try store.job(paused)?.state != .paused { await Task.yield() }
    await harness.engine.close()
    try store.close()

    let again = try AssetStore(opening: state)
    let second = try Harness(folder: harness.folder, clock: clock, store: again)
    let explanation = try await second.engine.events.waiting(id)
    #expect(explanation.code == .retrying && explanation.data["attempt"] == "1", "\(explanation)")
    #expect(explanation.data["lastError"]?.contains("503") == true, "\(explanation)")
    #expect(await second.engine.explain(paused)?.code == .paused)
    await second.engine.close()
    try again.close()
  }

  @Test("F-67 the service is restarted in mid-transfer, again and again: every byte is fetched once [B43]")
  func restart()
    async throws
  {
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth <= 3 ? .cut(after: .byte(1 << 20), .silence) : nil }
    }
    defer { origin.stop() }
    // The folder goes with the first that goes.
    var all: [Harness] = []
    for round in 1...4 {
      let store = try AssetStore(opening: state)
      let harness = try Harness(
        folder: all.first?.folder, clock: TestClock(boot: "boot \(round / 3)", jumpsWhenIdle: false), store: store
      ) { $0.takesUpOpenJobs = false }
      all.append(harness)
      let events = harness.engine.events
      let specification = harness.specification(origin.url(Trial.path), .visible, digest: Trial.digest)
      let id = JobID(1)
      let result = try await harness.engine.add([specification])[0]
      #expect(result == (round == 1 ? .added(id, generation: 1) : .alreadyScheduled(id)))
      harness.engine.resume(id)
      if round < 4 {
        try await harness.engine.received(id, Int64(round) << 20)
      } else {
        #expect(try await harness.end(of: id, in: events).isFinished)
        #expect(harness.contents() == Trial.bytes)
      }
      await harness.engine.close()
      #expect(try store.job(id)?.history.fruitlessAttempts == 0)
      #expect(try store.deliveries().count == (round == 4 ? 1 : 0))
      try store.close()
    }
    #expect(
      origin.requests.map { $0.header("Range") } == [nil] + (1...3).map { "bytes=\($0 << 20)-" })
  }

  // MARK: F-68

  @Test("F-68 no file is opened per buffer") func opens() async throws {
    var counts: [Int] = []
    for count in [100_000, (24 << 20) + 1] {
      let content = Content.pseudoRandom(seed: 4, count: count)
      let files = FaultyFiles { _, _ in nil }
      let trial = try await Trial.run(
        digest: Trial.digest(content, count: count), content: content, files: files
      ) { _, _ in nil }
      #expect(trial.isFinished && files.count(.write) >= count >> 20)
      counts.append(files.count(.open))
    }
    #expect(counts[0] == counts[1] && counts[0] <= 4, "\(counts)")
  }

  @Test("F-68 the fourth file can't be opened: no attempt failed, and it goes on when there are descriptors")
  func injected() async throws {
    for nth in 1...3 {
      let clock = TestClock()
      let trial = try await Trial.run(digest: Trial.digest, clock: clock, files: FaultyFiles(.open, nth, EMFILE)) {
        _, nth in nth == 1 ? .half : nil
      }
      #expect(trial.isFinished && trial.record.history.fruitlessAttempts <= 1, "open \(nth): \(trial.end)")
    }
  }

  @Test("F-68 descriptors run out for real, and come back: everything is fetched, nothing failed") func starved() throws
  {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-starved-")
    defer { Files.removeTree(folder) }
    try Files.makeDirectories("\(folder)/state", mode: 0o700)
    try Files.makeDirectories("\(folder)/files", mode: 0o700)
    let origins = try (0..<3).map { _ in try Origin { $0.resources[Trial.path] = Resource(Trial.content) } }
    defer { for origin in origins { origin.stop() } }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "starved-fetch")
    process.arguments = [folder] + (0..<12).map { origins[$0 % 3].url(Trial.path) }
    let output = Pipe.own()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && process.terminationReason == .exit, "\(text)")
    for number in 0..<12 {
      #expect(FileManager.default.contents(atPath: "\(folder)/files/\(number)") == Trial.bytes, "\(number)")
    }
  }

  @Test("F-68 sixteen transfers and a disk that stands still: memory stays within its budget") func memory()
    async throws
  {
    let count = 6 << 20
    let latch = Latch()
    let files = FaultyFiles { kind, _ in
      if kind == .write { latch.wait() }
      return nil
    }
    let content = Content.pseudoRandom(seed: 6, count: count)
    let origins = try (0..<3).map { _ in try Origin { $0.resources[Trial.path] = Resource(content) } }
    defer { for origin in origins { origin.stop() } }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let ids = try await harness.engine.add(
      (0..<16).map {
        // Large ones leave a slot to one that says it is small.
        harness.specification(origins[$0 % 3].url(Trial.path), name: "\($0)", size: $0 == 0 ? 1 : Int64(count))
      }
    ).compactMap(\.job)
    func received() async -> [Int64] {
      var all: [Int64] = []
      for id in ids { all.append(await harness.engine.progress(of: id)?.received ?? 0) }
      return all
    }
    // Everyone has a buffer that can't be written; then nothing moves for a long while.
    var before: [Int64] = []
    var calm = 0
    while calm < 200 {
      let now = await received()
      calm = now == before && now.allSatisfy { $0 >= Int64(BufferPool.bufferSize) } ? calm + 1 : 0
      before = now
      try await Task.sleep(for: .milliseconds(2))
    }
    let held = before.reduce(0, +)
    // One buffer more for each that holds none was let in, and what the socket gave with it.
    #expect(held <= Int64(BufferPool.budget) + 16 * Int64(BufferPool.bufferSize + (64 << 10)), "\(held)")
    latch.open()
    var finished = 0
    for await event in events {
      if case .failed(_, let failure) = event { Issue.record("\(failure)") }
      if case .finished = event { finished += 1 }
      if finished == 16 { break }
    }
    for number in 0..<16 { #expect(harness.contents("\(number)") == Data(content.bytes), "\(number)") }
    await harness.engine.close()
  }

  // MARK: F-70

  private static func mode(_ path: String) throws -> UInt32 { try Files.identity(of: path).mode & 0o7777 }

  @Test("F-70 partial files lie in a private directory for each app, under names that say nothing") func privacy()
    async throws
  {
    let old = umask(0)
    defer { umask(old) }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .cut(after: .byte(2 << 20), .silence) }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    // Parts that run together to the same text.
    let specifications = [("app", "file"), ("appf", "ile"), ("app", "other")].map { app, identifier in
      var specification = harness.specification(origin.url(Trial.path), name: identifier, .foreground)
      specification.app = app
      return specification
    }
    let ids = try await harness.engine.add(specifications).compactMap(\.job)
    for id in ids {
      try await harness.engine.received(id, 2 << 20)
      harness.engine.pause(id)
    }
    for id in ids { try await harness.engine.isHeld(id, by: .paused) }
    let base = "\(harness.folder)/.outrider"
    #expect(try Self.mode(base) == 0o700)
    let apps = try Files.names(in: base)
    #expect(apps.count == 2)
    var names: [String] = []
    for app in apps {
      #expect(try Self.mode("\(base)/\(app)") == 0o700)
      for name in try Files.names(in: "\(base)/\(app)") {
        #expect(try Self.mode("\(base)/\(app)/\(name)") == 0o600)
        names.append(name)
      }
    }
    #expect(Set(names).count == 3)
    #expect((apps + names).allSatisfy { $0.allSatisfy(\.isHexDigit) && $0.count >= 32 })
    await harness.engine.close()
  }

  enum Foreign: String, CaseIterable, Sendable { case owner, groupMayRead, othersMayEnter, appOwner, appMode }

  @Test(
    "F-70 a staging directory that others may look into isn't used",
    arguments: [Foreign.groupMayRead, .othersMayEnter, .appMode])
  func openToOthers(kind: Foreign) async throws { try await isNotUsed(kind) }

  @Test(
    "F-70 a staging directory of somebody else isn't used",
    .enabled(if: geteuid() == 0, "only root can give a directory away"), arguments: [Foreign.owner, .appOwner])
  func foreign(kind: Foreign) async throws { try await isNotUsed(kind) }

  private func isNotUsed(_ kind: Foreign) async throws {
    let folder = try Harness.folderWithStaging()
    let base = "\(folder)/.outrider"
    let app = "\(base)/\(Destination.digest(["app"], length: 16))"
    switch kind {
    case .owner: #expect(chown(base, 65534, 65534) == 0)
    case .groupMayRead: #expect(chmod(base, 0o740) == 0)
    case .othersMayEnter: #expect(chmod(base, 0o701) == 0)
    case .appOwner: #expect(chown(app, 65534, 65534) == 0)
    case .appMode: #expect(chmod(app, 0o750) == 0)
    }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(folder: folder)
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path)))
    if kind == .owner {
      #expect(end.isFinished, "there is one of our own beside it: \(end)")
    } else {
      #expect(end.reason == .volume && end.failure?.errno == EPERM, "\(end)")
      #expect(origin.requests.isEmpty && harness.contents() == nil)
    }
    #expect(try Files.names(in: app).isEmpty, "nothing was put there")
    await harness.engine.close()
  }
}
