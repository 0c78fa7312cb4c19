import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import Downloads

/// F-56 and F-57: the same identifier twice, and requests with numbers that can't be meant.
@Suite(.serialized, .timeLimit(.minutes(2))) struct LargeNumberFaultTests {
  /// A store on the disk and an engine on it.
  final class Bench: Sendable {
    let state: String
    let store: AssetStore
    let origin: Origin
    let harness: Harness

    init(
      clock: TestClock = TestClock(), files: any FileOperations = SystemFiles(),
      options: ((inout EngineOptions) -> Void)? = nil,
      reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in nil }
    ) throws {
      state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
      store = try AssetStore(opening: state)
      origin = try Origin {
        $0.resources[Trial.path] = Resource(Trial.content)
        $0.handler = reply
      }
      harness = try Harness(clock: clock, files: files, store: store) { options?(&$0) }
    }

    deinit { Files.removeTree(state) }

    func specification(_ name: String = "file", _ transferClass: TransferClass = .background) -> DownloadSpecification {
      harness.specification(origin.url(Trial.path), name: name, transferClass)
    }

    func close() async throws {
      await harness.engine.close()
      origin.stop()
    }
  }

  @Test("F-56 the same identifier from sixteen tasks at once: one download, one request, one file")
  func tasks() async throws {
    let bench = try Bench()
    let events = bench.harness.engine.events
    let specification = bench.specification()
    let results = try await withThrowingTaskGroup(of: AddResult.self) { group in
      for _ in 0..<16 { group.addTask { try await bench.harness.engine.add([specification])[0] } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let id = try #require(results.compactMap(\.job).first)
    #expect(results.count { $0.job != nil } == 1)
    #expect(results.count { $0 == .alreadyScheduled(id) } == 15)
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
    try await bench.close()
    #expect(bench.origin.requests.count == 1, "never two writers")
    #expect(bench.harness.contents() == Trial.bytes)
    #expect(try bench.store.deliveries.pending().count == 1)
  }

  @Test("F-56 twice in one set, while it runs, more urgently, and with another URL") func again() async throws {
    let bench = try Bench(
      clock: TestClock(jumpsWhenIdle: false),
      reply: { _, nth in nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil })
    let engine = bench.harness.engine
    let events = engine.events
    let specification = bench.specification()
    var other = specification
    other.url += "?2"
    var urgent = specification
    urgent.transferClass = .foreground
    urgent.priority = 100
    let results = try await engine.add([specification, specification, other])
    let id = try #require(results[0].job)
    #expect(results == [.added(id, generation: 1), .alreadyScheduled(id), .conflict(id)])
    try await engine.received(id, 1 << 20)
    #expect(
      try await engine.add([other, specification, urgent]) == [
        .conflict(id), .alreadyScheduled(id), .alreadyScheduled(id),
      ])
    #expect(bench.origin.requests.count == 1)
    // Cancelled first, the other one may have the name.
    engine.cancel(id)
    #expect(try await bench.harness.end(of: id, in: events) == .cancelled)
    let later = engine.events
    let next = try #require(try await engine.add([other])[0].job)
    #expect(try await bench.harness.end(of: next, in: later).isFinished)
    #expect(bench.origin.requests.map(\.target) == [Trial.path, Trial.path + "?2"])
    try await bench.close()
    #expect(bench.harness.contents() == Trial.bytes)
  }

  @Test("F-57 100,000 downloads: as many as an app may have, and each of the others is told so") func flood()
    async throws
  {
    let bench = try Bench()
    var offline = MachineConditions()
    offline.isOnline = false
    bench.harness.engine.setConditions(offline)
    let results = try await bench.harness.engine.add((0..<100_000).map { bench.specification("\($0)", .prefetch) })
    #expect(results.count == 100_000)
    #expect(results.prefix(1000).allSatisfy { $0.job != nil })
    #expect(results.dropFirst(1000).allSatisfy { $0 == .tooMany(limit: 1000) })
    // Another app isn't harmed.
    var other = bench.specification("other")
    other.app = "another app"
    #expect(try await bench.harness.engine.add([other])[0].job != nil)
    try await bench.close()
    #expect(bench.origin.requests.isEmpty)
  }

  @Test("F-57 an answer of 100,000 items is checked item by item") func checked() {
    let good = Download(
      identifier: "", url: "https://a.example/f", applicationGroupIdentifier: "group", fileSize: 1)
    let answer = (0..<100_000).map { number in
      var item = good
      item.identifier = "\(number)"
      switch number % 8 {
      case 0: item.fileSize = -1
      case 1: item.fileSize = .min
      case 2: item.url = "http://a.example/f"
      case 3: item.applicationGroupIdentifier = "foreign"
      case 4: item.isEssential = true
      case 5: item.identifier = "same"
      case 6: item.priority = .max
      default: item.fileSize = .max
      }
      return item
    }
    let verdict = DownloadRules(applicationGroups: ["group"], request: .periodic).validate(answer)
    // Those with the largest size, and the first of those that have the same name.
    #expect(verdict.accepted.count == 12_501 && verdict.rejected.count == 87_499)
    #expect(Set(verdict.rejected.map(\.code)) == [55, 100, 102, 109])
    #expect(verdict.rejected.allSatisfy { !$0.reason.isEmpty })
  }

  @Test(
    "F-57 sizes and priorities that can't be meant are refused, one by one",
    arguments: [Int64.min, -1, DownloadSpecification.largestSize + 1, .max])
  func impossible(number: Int64) async throws {
    let bench = try Bench(options: { $0.freeSpace = FreeSpacePolicy(minimum: 1 << 20, percent: 1) })
    let events = bench.harness.engine.events
    try bench.store.budgets.set("app", allows: .max)
    let (good, size, exact, urgent) = (
      bench.specification("good"), bench.specification("size"), bench.specification("exact"),
      bench.specification("urgent")
    )
    var specifications = [size, exact, urgent, good].map { specification in
      var specification = specification
      specification.budget = "app"
      return specification
    }
    specifications[0].declaredSize = number
    specifications[1].declaredSize = number
    specifications[1].isEssential = true
    specifications[2].priority = number == -1 ? -101 : Int(number)
    let results = try await bench.harness.engine.add(specifications)
    for result in results.prefix(3) {
      guard case .invalid(let why) = result else { throw Unexpected("\(result)") }
      #expect(why.contains(number == -1 ? "-1" : "\(number)"))
    }
    let id = try #require(results[3].job, "the others aren't harmed")
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
    #expect(try bench.store.budgets.budget("app")?.reserved == 0)
    try await bench.close()
  }

  @Test("F-57 the largest sizes that are possible: sums stay numbers") func largest() async throws {
    let files = FaultyFiles { _, _ in nil }
    files.left.withLock { $0 = VolumeSpace(free: .max, total: .max, freeInodes: nil) }
    let bench = try Bench(
      files: files, options: { $0.freeSpace = FreeSpacePolicy() },
      reply: { _, _ in .with { $0.timing.beforeStatus = .seconds(3600) } })
    try bench.store.budgets.set("app", allows: .max)
    let results = try await bench.harness.engine.add(
      (0..<1000).map { number in
        var specification = bench.specification("\(number)", .foreground)
        specification.declaredSize = DownloadSpecification.largestSize
        specification.isEssential = true
        specification.budget = number % 2 == 0 ? "app" : "unknown"
        specification.priority = number % 3 == 0 ? -100 : 100
        return specification
      })
    #expect(results.allSatisfy { $0.job != nil })
    #expect(await bench.origin.requests(count: 2, within: .seconds(60)).count >= 2)
    for result in results.compactMap(\.job) { #expect(await bench.harness.engine.explain(result) != nil) }
    // A budget that comes later sums up what was reserved before.
    try bench.store.budgets.set("unknown", allows: .max)
    #expect(try bench.store.budgets.budget("unknown")?.reserved == 500 * DownloadSpecification.largestSize)
    let device = try Files.identity(of: bench.harness.folder).device
    #expect(try bench.store.disk.reservation(device: device).bytes == 1000 * DownloadSpecification.largestSize)
    try await bench.close()
  }

  @Test(
    "F-57 lengths that a server makes up never end the service",
    arguments: [
      "Content-Length: 9223372036854775807", "Content-Length: 9223372036854775806",
      "Content-Length: 99999999999999999999999", "Content-Length: -1", "Content-Length: 1125899906842625",
      "Transfer-Encoding: chunked",
    ], [false, true])
  func madeUpLengths(field: String, declared: Bool) async throws {
    let files = FaultyFiles { _, _ in nil }
    files.left.withLock { $0 = VolumeSpace(free: 50 << 30, total: 100 << 30, freeInodes: 1000) }
    let body = String(repeating: "x", count: 70_000)
    let trial = try await Trial.run(
      declares: declared ? 1 << 30 : nil, files: files,
      options: { $0.freeSpace = FreeSpacePolicy() },
      reply: { _, nth in
        nth == 1 ? .raw("HTTP/1.1 200 OK\r\nETag: \"x\"\r\n\(field)\r\n\r\n\(body)") : nil
      })
    #expect(trial.isFinished || trial.failure != nil, "\(trial.end)")
  }

  @Test(
    "F-57 ranges that a server makes up never end the service",
    arguments: [
      "bytes 2097152-9223372036854775806/9223372036854775807", "bytes 2097152-9223372036854775807/*",
      "bytes 2097152-2097152/9223372036854775807", "bytes */9223372036854775807",
      "bytes 9223372036854775806-9223372036854775806/9223372036854775807",
    ])
  func madeUpRanges(range: String) async throws {
    let policy = FreeSpacePolicy(minimum: 1 << 20, percent: 0)
    let status = range.hasPrefix("bytes *") ? "416 Range Not Satisfiable" : "206 Partial Content"
    let answer = "HTTP/1.1 \(status)\r\nContent-Range: \(range)\r\nContent-Length: 3\r\n\r\nabc"
    let trial = try await Trial.run(
      options: { $0.freeSpace = policy },
      reply: { _, nth in
        switch nth {
        case 1: .half
        case 2: .raw(answer)
        default: nil
        }
      })
    #expect(trial.isFinished, "\(trial.end)")
  }

  @Test("F-57 plain http and foreign directories: each told by itself, no server is asked") func elsewhere()
    async throws
  {
    let bench = try Bench()
    let events = bench.harness.engine.events
    var specifications = ["http", "relative", "nul", "proc"].map { bench.specification($0) }
    specifications[0].url = "http://www.example.com/file"
    specifications[1].directory = "files"
    specifications[2].directory = "/tmp/\0"
    specifications[3].directory = "/proc/self"
    let ids = try await bench.harness.engine.add(specifications).compactMap(\.job)
    #expect(ids.count == 4)
    var failures: [JobID: TransferFailure] = [:]
    for await event in events {
      if case .failed(let id, let failure) = event { failures[id] = failure }
      if failures.count == 4 { break }
    }
    #expect(ids.prefix(3).allSatisfy { failures[$0]?.reason == .notAllowed })
    #expect(failures[ids[3]]?.reason == .volume)
    #expect(failures.values.allSatisfy { !$0.detail.isEmpty })
    try await bench.close()
    #expect(bench.origin.requests.isEmpty)
  }
}
