import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

/// F-54: an app is removed or updated while it downloads, or its directory goes.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RemovedAppFaultTests {
  typealias Bench = LargeNumberFaultTests.Bench

  @Test("F-54 an app is removed: running, waiting and paused downloads end, and nothing of them is left")
  func removed() async throws {
    let bench = try Bench(
      clock: TestClock(jumpsWhenIdle: false),
      reply: { request, _ in
        switch request.query {
        case "fails": .status(500)
        case "other": nil
        default: .cut(after: .byte(1 << 20), .silence)
        }
      })
    let engine = bench.harness.engine
    let events = engine.events
    var specifications = ["running", "fails", "paused", "queued"].map { name in
      var specification = bench.specification(name)
      specification.url += "?\(name)"
      return specification
    }
    var other = bench.specification("other")
    other.app = "other app"
    other.url += "?other"
    other.transferClass = .prefetch
    specifications.append(other)
    let ids = try await engine.add(specifications).compactMap(\.job)
    try await engine.received(ids[0], 1 << 20)
    try await engine.received(ids[2], 1 << 20)
    engine.pause(ids[2])
    try await engine.isHeld(ids[2], by: .paused)
    try await engine.isHeld(ids[1], by: .retrying)
    #expect(try await engine.cancelAll(app: "app") == Array(ids.prefix(4)))
    var cancelled: Set<JobID> = []
    var finished = false
    for await event in events {
      if case .cancelled(let id) = event { cancelled.insert(id) }
      if case .finished(ids[4], _) = event { finished = true }
      if cancelled.count == 4, finished { break }
    }
    #expect(cancelled == Set(ids.prefix(4)))
    try await bench.close()
    #expect(try ids.prefix(4).allSatisfy { try bench.store.job($0)?.state == .cancelled })
    #expect(bench.harness.contents("other") == Trial.bytes, "another app isn't harmed")
    #expect(bench.harness.staged.isEmpty)
    #expect(try Files.names(in: bench.harness.folder) == [".outrider", "other"])
    #expect(try bench.store.deliveries.pending() == [ids[4]], "an app that isn't there is told nothing")
    let device = try Files.identity(of: bench.harness.folder).device
    #expect(try bench.store.disk.reservation(device: device) == DiskReservation(), "reservations came back")
  }

  @Test("F-54 an app is removed at the moment at which it adds something") func removedWhileAdding() async throws {
    let bench = try Bench()
    let engine = bench.harness.engine
    let events = engine.events
    async let results = engine.add((0..<50).map { bench.specification("\($0)", .prefetch) })
    var cancelled = Set(try await engine.cancelAll(app: "app"))
    let ids = Set(try await results.compactMap(\.job))
    // Whichever came first: what is there is ended in the end.
    cancelled.formUnion(try await engine.cancelAll(app: "app"))
    var ended: Set<JobID> = []
    for await event in events {
      switch event {
      case .cancelled(let id), .finished(let id, _): ended.insert(id)
      default: break
      }
      if ended == ids { break }
    }
    for id in ids {
      let state = try #require(try bench.store.job(id)).state
      let isThere = bench.harness.contents(try #require(try bench.store.job(id)).specification.fileName) != nil
      #expect(isThere == (state == .finished), "\(state)")
    }
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test("F-54 an update keeps what is the same to the digest, and ends the rest", arguments: [false, true])
  func updated(hasChunks: Bool) async throws {
    let bench = try Bench(
      clock: TestClock(jumpsWhenIdle: false),
      reply: { request, _ in request.query == "new" ? nil : .cut(after: .byte(2 << 20), .silence) })
    let engine = bench.harness.engine
    func specification(_ name: String, _ url: String, proved: Bool = true) -> DownloadSpecification {
      var specification = bench.specification(name)
      specification.url += url
      if proved {
        specification.chunks = hasChunks ? Trial.chunks : nil
        specification.digest = hasChunks ? nil : Trial.digest
      }
      return specification
    }
    let old = [
      specification("same", "?old"), specification("moved", "?old"), specification("unproved", "?old", proved: false),
      specification("gone", "?old"),
    ]
    let ids = try await engine.add(old).compactMap(\.job)
    for id in ids { try await engine.received(id, 2 << 20) }

    let events = engine.events
    let results = try await engine.update(
      app: "app",
      to: [
        specification("same", "?old"), specification("moved", "?new"), specification("unproved", "?new", proved: false),
        specification("fresh", "?new"),
      ])
    #expect(results[0] == .alreadyScheduled(ids[0]))
    let added = results.dropFirst().compactMap(\.job)
    #expect(added.count == 3)
    var cancelled: Set<JobID> = []
    var finished: Set<JobID> = []
    for await event in events {
      if case .cancelled(let id) = event { cancelled.insert(id) }
      if case .finished(let id, _) = event { finished.insert(id) }
      if case .failed(_, let failure) = event { Issue.record("\(failure)") }
      if finished.count == 3, cancelled.count == 3 { break }
    }
    #expect(cancelled == Set(ids.dropFirst()) && finished == Set(added))
    for name in ["moved", "unproved", "fresh"] { #expect(bench.harness.contents(name) == Trial.bytes, "\(name)") }
    #expect(try bench.store.job(ids[0])?.state == .open, "what is the same goes on untouched")
    let new = bench.origin.requests.filter { $0.query == "new" }
    let ranges = new.map { $0.header("Range") ?? "all" }.sorted()
    let rest = hasChunks ? "bytes=\(2 << 20)-\(Trial.size - 1)" : "bytes=\(2 << 20)-"
    #expect(ranges == (hasChunks ? ["all", "bytes=0-\(Trial.size - 1)", rest] : ["all", "all", rest]).sorted())
    #expect(new.allSatisfy { $0.header("If-Range") == nil }, "another address has other validators")
    #expect(bench.origin.requests.count == 7, "one each, and the one that is the same wasn't asked for again")
    try await bench.close()
    #expect(bench.harness.staged.count == 1, "of the one that is the same: \(bench.harness.staged)")
  }

  @Test("F-54 the container goes in mid-transfer: told, no loop, no crash", arguments: [false, true])
  func containerGone(comesBack: Bool) async throws {
    let bench = try Bench(
      clock: TestClock(jumpsWhenIdle: false),
      reply: { _, nth in nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil })
    let engine = bench.harness.engine
    let events = engine.events
    var specification = bench.specification("file", .foreground)
    let directory = "\(bench.harness.folder)/container"
    specification.directory = directory
    #expect(mkdir(directory, 0o700) == 0)
    let id = try #require(try await engine.add([specification])[0].job)
    try await engine.received(id, 2 << 20)
    Files.removeTree(directory)
    if comesBack { #expect(mkdir(directory, 0o700) == 0) }
    engine.networkChanged()
    let end = try await bench.harness.end(of: id, in: events)
    if comesBack {
      #expect(end.isFinished, "\(end)")
      #expect(FileManager.default.contents(atPath: "\(directory)/file") == Trial.bytes)
    } else {
      #expect(end.reason == .volume && end.failure?.errno == ENOENT, "\(end)")
    }
    #expect(bench.origin.requests.count <= 2)
    try await bench.close()
  }
}
