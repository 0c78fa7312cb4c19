import AssetModel
import AssetStore
import DevelopmentOrigin
import Downloads
import Foundation
import LinuxSystem
import Testing

/// F-46 and F-66: allowances, reserved before and charged during a transfer, with the real store.
@Suite(.timeLimit(.minutes(2))) struct AllowanceTests {
  private final class Folder: Sendable {
    let path: String
    let store: AssetStore
    init() throws {
      path = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-allowance-")
      store = try AssetStore(opening: path)
    }
    deinit { Files.removeTree(path) }
  }

  private func scene(
    allows bytes: Int64, declares size: Int64?, digest: ContentDigest? = nil,
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply? = { _, _ in nil }
  ) throws -> (Folder, Origin, Harness, DownloadSpecification) {
    let folder = try Folder()
    try folder.store.budgets.set("app", allows: bytes)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = reply
    }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), store: folder.store)
    var specification = harness.specification(origin.url(Trial.path), size: size, digest: digest)
    specification.budget = "app"
    return (folder, origin, harness, specification)
  }

  private static let size = Int64(Trial.size)

  @Test("F-66 an allowance of the size and a head is charged with every byte, and the rest comes back")
  func exact() async throws {
    let (folder, origin, harness, specification) = try scene(allows: Self.size + (1 << 21), declares: Self.size)
    defer { origin.stop() }
    #expect(try await harness.fetch(specification).isFinished)
    await harness.engine.close()
    let budget = try #require(try folder.store.budgets.budget("app"))
    #expect(budget.reserved == 0)
    #expect(budget.charged > Self.size && budget.charged < Self.size + 4096, "the body and the head: \(budget.charged)")
  }

  @Test("F-66 what is compared at a resume is charged, and reserved before it is asked for") func compared()
    async throws
  {
    let (folder, origin, harness, specification) = try scene(allows: Self.size + (1 << 21), declares: Self.size) {
      _, nth in
      var reply = nth == 1 ? Reply.half : Reply()
      reply.removedHeaders = ["Repr-Digest"]
      return reply
    }
    defer { origin.stop() }
    let events = harness.engine.events
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    for await event in events {
      if case .waiting = event {
        harness.clock.advance(by: .seconds(60))
        _ = await harness.engine.progress(of: id)
      }
      if case .finished = event { break }
      if case .failed(_, let failure) = event { throw Unexpected("\(failure)") }
    }
    await harness.engine.close()
    let (budget, surplus) = (try #require(try folder.store.budgets.budget("app")), Int64(64 << 10))
    #expect(budget.reserved == 0 && origin.requests.count == 2)
    #expect(budget.charged > Self.size + surplus && budget.charged < Self.size + surplus + 4096, "\(budget.charged)")
  }

  @Test("F-66 an unknown size reserves as it goes, and pauses when nothing is left; raised, it goes on where it was")
  func inFlight() async throws {
    // 1 MiB is always left for a manifest: of 3 MiB an ordinary download may use two.
    let (folder, origin, harness, specification) = try scene(allows: 3 << 20, declares: nil)
    defer { origin.stop() }
    let events = harness.engine.events
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    var explanation: Explanation?
    for await event in events {
      if case .waiting(id, let told) = event {
        explanation = told
        break
      }
    }
    #expect(
      explanation?.code == .allowance && explanation?.data["budget"] == "app", "\(String(describing: explanation))")
    #expect((explanation?.data["missing"].flatMap { Int64($0) } ?? 0) > 0)
    let before = try #require(try folder.store.budgets.budget("app"))
    #expect(before.charged <= 2 << 20, "never beyond: \(before)")
    #expect(try folder.store.job(id)?.history.fruitlessAttempts == 0, "no attempt failed")
    try folder.store.budgets.set("app", allows: 8 << 20)
    harness.engine.allowancesChanged()
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
    #expect(harness.contents() == Data(Trial.content.bytes(in: 0..<Trial.size)))
    #expect(origin.requests.last?.header("Range") != nil, "what was there was kept")
    #expect(try folder.store.budgets.budget("app")?.reserved == 0)
  }

  @Test("F-66 a retry from the first byte needs more than was reserved") func retry() async throws {
    let (folder, origin, harness, specification) = try scene(
      allows: Self.size + (1 << 20), declares: Self.size, digest: Trial.digest
    ) { _, nth in
      // The second answer ignores the range: everything comes again.
      nth == 1 ? .half : .with { $0.range = .ignored }
    }
    defer { origin.stop() }
    harness.clock.advance(by: .seconds(1))
    let events = harness.engine.events
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    var codes: [Explanation.Code] = []
    for await event in events {
      if case .waiting(id, let told) = event {
        codes.append(told.code)
        if told.code == .retrying { harness.engine.resume(id) }
        if told.code == .allowance { break }
      }
    }
    #expect(codes.last == .allowance)
    harness.engine.cancel(id)
    #expect(try await harness.end(of: id, in: events) == .cancelled)
    await harness.engine.close()
    let budget = try #require(try folder.store.budgets.budget("app"))
    #expect(budget.reserved == 0, "the rest came back")
    #expect(budget.charged <= Self.size, "\(budget)")
  }

  @Test("F-46 two downloads can't promise the same bytes") func twice() async throws {
    let (_, origin, harness, specification) = try scene(allows: Self.size + (2 << 20), declares: Self.size)
    defer { origin.stop() }
    var second = specification
    second.identifier = "second"
    second.fileName = "second"
    let results = try await harness.engine.add([specification, second])
    guard case .added = results[0], case .allowance(let missing) = results[1] else { throw Unexpected("\(results)") }
    #expect(missing == Self.size - (1 << 20))
    await harness.engine.close()
  }
}
