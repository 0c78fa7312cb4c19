import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// F-66: allowances to the last byte.
@Suite(.serialized, .timeLimit(.minutes(2))) struct AllowanceFaultTests {
  typealias Bench = LargeNumberFaultTests.Bench

  private static let manifestPath = "/manifest"
  private static let manifest = Content.pseudoRandom(seed: 2, count: 100_000)

  private static func bench(
    allows bytes: Int64, clock: TestClock = TestClock(jumpsWhenIdle: false),
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in nil }
  ) throws -> Bench {
    let bench = try Bench(clock: clock, reply: reply)
    bench.origin.set(manifestPath, Resource(manifest))
    try bench.store.budgets.set("app", allows: bytes)
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
    let budget = try #require(try bench.store.budgets.budget("app"))
    #expect(budget.manifestCharged > 100_000 && budget.manifestCharged < 110_000, "body and head: \(budget)")
    // The allowance is gone altogether: the next manifest comes nevertheless.
    try bench.store.budgets.set("app", allows: 0)
    let later = bench.harness.engine.events
    let second = try #require(try await bench.harness.engine.add([Self.manifest(bench, "second")])[0].job)
    #expect(try await bench.harness.end(of: second, in: later).isFinished)
    #expect(bench.harness.contents("second") == Data(Self.manifest.bytes))
    try await bench.close()
    #expect(try bench.store.budgets.budget("app")?.manifestReserved == 0)
  }

  @Test("F-66 a manifest that is larger than its part waits where nothing else is left") func largeManifest()
    async throws
  {
    let bench = try Self.bench(allows: 0)
    let events = bench.harness.engine.events
    let id = try #require(
      try await bench.harness.engine.add([Self.manifest(bench, path: Trial.path)])[0].job)
    #expect(try await events.waiting(id).code == .allowance)
    #expect(try #require(try bench.store.budgets.budget("app")).manifestCharged <= 1 << 20)
    try bench.store.budgets.set("app", allows: 8 << 20)
    bench.harness.engine.allowancesChanged()
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
    #expect(bench.harness.contents("manifest") == Trial.bytes)
    try await bench.close()
  }

  @Test("F-66 a manifest beyond its part goes on when its own allowance is raised, and not when another one is")
  func anotherAllowance() async throws {
    let bench = try Self.bench(allows: 0)
    // A second part would be enough for the rest.
    bench.origin.set("/large", Resource(.pseudoRandom(seed: 3, count: 1_300_000)))
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([Self.manifest(bench, path: "/large")])[0].job)
    #expect(try await events.waiting(id).code == .allowance)
    let requests = bench.origin.requests.count
    // Looked at again, it gets no second part.
    bench.harness.engine.allowancesChanged()
    #expect(try await events.waiting(id).code == .allowance)
    #expect(try #require(try bench.store.budgets.budget("app")).manifestCharged <= 1 << 20)
    #expect(bench.origin.requests.count == requests)
    try bench.store.budgets.set("app", allows: 8 << 20)
    bench.harness.engine.allowancesChanged(of: "another")
    // Asked after it on the same way, so this is how it stands then.
    #expect(await bench.harness.engine.explain(id)?.code == .allowance)
    bench.harness.engine.allowancesChanged(of: "app")
    #expect(try await bench.harness.end(of: id, in: events).isFinished)
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
    let budget = try #require(try bench.store.budgets.budget("app"))
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
    let charged = try #require(try bench.store.budgets.budget("app")).charged
    #expect(charged >= (inBody ? 2 << 20 : 50_000), "\(charged)")
    try bench.store.close()
    let again = try AssetStore(opening: bench.state)
    #expect(try again.budgets.budget("app")?.charged == charged)
    #expect(try again.job(id)?.receivedBytes == charged)
    try again.close()
  }
}
