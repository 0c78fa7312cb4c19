import AssetModel
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// What one attempt learns, the next one knows: and nothing that isn't so any more.
@Suite(.timeLimit(.minutes(2))) struct MemoryOfFailuresTests {
  @Test("F-65 weeks of being paused aren't weeks without progress") func pausedForWeeks() async throws {
    let clock = TestClock(jumpsWhenIdle: false)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth <= 2 ? .status(503) : nil }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: clock)
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .prefetch)])[0].job)
    #expect(try await events.waiting(id).code == .retrying)
    harness.engine.pause(id)
    // The journal says so first; the time that the engine forgives is counted from when it holds the job.
    try await harness.engine.isHeld(id, by: .paused)
    clock.advance(by: .seconds(40 * 24 * 3600))
    harness.engine.resume(id)
    try await until { origin.requests.count >= 2 }
    try await until { await ![.transferring, .queued].contains(harness.engine.explain(id)?.code) }
    #expect(await harness.engine.explain(id)?.code == .retrying)
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-17 a server that was asked for the plain file once is asked so again") func noTransformStays() async throws {
    let trial = try await Trial.run { request, nth in
      .with {
        $0.isGzipped = request.header("Cache-Control")?.contains("no-transform") != true
        if nth == 2 { $0.ending = .init(.close, after: .byte(1 << 20)) }
      }
    }
    #expect(trial.isFinished && trial.requests.count == 3, "\(trial.end)")
  }

  @Test("F-03 what was fetched of another version is no measure for this one") func highWater() async throws {
    let content = Content.pseudoRandom(seed: 71, count: 12 << 20)
    let other = Content.pseudoRandom(seed: 72, count: 12 << 20)
    let trial = try await Trial.run(content: content, versions: [other]) { _, nth in
      .with {
        $0.entity = .init(version: nth == 1 ? 1 : 2, tag: .new)
        // Ten pieces, all of them below what was there of the other one.
        if nth <= 10 { $0.ending = .init(.close, after: .byte(nth == 1 ? 11 << 20 : 1_100_000)) }
      }
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.data == Data(other.bytes))
  }

  @Test("F-37 a cache keeps a wrong chunk: it is asked past the cache") func chunkFromACache() async throws {
    var wrong = Trial.bytes
    wrong[5 * Trial.chunkSize + 3] ^= 1
    let stale = Array(wrong)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Content.bytes(Array(Trial.bytes)))
      $0.resources["/stale"] = Resource(Content.bytes(stale))
      $0.handler = { request, _ in
        request.header("Cache-Control") == "no-cache" ? nil : .with { $0.body = .resource("/stale") }
      }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path), chunks: Trial.chunks))
    #expect(end.isFinished && harness.contents() == Trial.bytes, "\(end)")
    await harness.engine.close()
  }

  @Test("F-09 one file of before is kept, not one for each attempt") func quarantine() async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-downloads-")
    let most = Mutex(0)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        let staging = "\(folder)/.outrider/\(Destination.digest(["app"], length: 16))"
        let count = (try? FileManager.default.contentsOfDirectory(atPath: staging))?.count ?? 0
        most.withLock { $0 = max($0, count) }
        return .with {
          $0.removedHeaders = ["ETag", "Last-Modified", "Repr-Digest"]
          if nth <= 5 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        }
      }
    }
    defer { origin.stop() }
    let harness = try Harness(folder: folder)
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path)))
    #expect(end.isFinished && origin.requests.count == 6, "\(end)")
    #expect((1...2).contains(most.withLock { $0 }), "\(most.withLock { $0 }) files")
    #expect(harness.staged.isEmpty)
    await harness.engine.close()
  }

  @Test("F-39 never a weaker scheme, whichever download is asked for it") func weakerForAnother() async throws {
    let origin = try Origin {
      $0.resources["/other"] = Resource(Trial.content)
      $0.handler = { request, _ in
        .with {
          $0.status = 401
          $0.setHeaders = [
            HeaderField(
              "WWW-Authenticate",
              request.path == "/other"
                ? "Basic realm=\"r\"" : "Digest realm=\"r\", qop=\"auth\", algorithm=SHA-256, nonce=\"n\"")
          ]
        }
      }
    }
    defer { origin.stop() }
    let harness = try Harness { $0.answerChallenge = { _ in .credential(user: "user", password: "pass") } }
    let first = try await harness.fetch(harness.specification(origin.url(Trial.path)))
    let second = try await harness.fetch(harness.specification(origin.url("/other"), name: "other"))
    for end in [first, second] {
      if case .failed(let failure) = end { #expect(failure.reason == .challenge) } else { Issue.record("\(end)") }
    }
    #expect(origin.requests.allSatisfy { $0.header("Authorization")?.hasPrefix("Basic") != true })
    await harness.engine.close()
  }

  @Test("F-22 who asked to be left alone is, also where others lead there") func retryAfterBehindARedirect()
    async throws
  {
    let behind = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        guard nth == 1 else { return nil }
        return .with {
          $0.status = 429
          $0.retryAfter = .seconds(3600)
        }
      }
    }
    defer { behind.stop() }
    let target = behind.url(Trial.path)
    let front = try Origin {
      $0.handler = { _, _ in
        .with {
          $0.status = 302
          $0.setHeaders = [HeaderField("Location", target)]
        }
      }
    }
    defer { front.stop() }
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(clock: clock)
    let events = harness.engine.events
    let first = try #require(try await harness.engine.add([harness.specification(front.url("/a"), name: "a")])[0].job)
    #expect(try await events.waiting(first).code == .retrying)
    let second = try #require(try await harness.engine.add([harness.specification(front.url("/b"), name: "b")])[0].job)
    let explanation = try await events.waiting(second)
    #expect(explanation.data["lastError"]?.contains("left alone") == true && (explanation.endsIn ?? 0) > 3000)
    #expect(behind.requests.count == 1)
    clock.advance(by: .seconds(3700))
    harness.engine.resume(second)
    #expect(try await harness.end(of: second, in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-01 that an origin has no ranges is known to the next run") func rangelessIsJournalled() async throws {
    let trial = try await Trial.run(digest: Trial.digest) { _, nth in
      .with {
        $0.range = .ignored
        $0.removedHeaders = ["ETag", "Last-Modified", "Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(try trial.harness.journal.origins().contains { ($0.rangeless?.length ?? 0) > 0 })
  }

  @Test("F-66 the head of an answer that no transfer waits for is charged") func droppedHeads() async throws {
    let content = Content.pseudoRandom(seed: 3, count: 1 << 20)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(content)
      $0.handler = { _, _ in
        .with {
          $0.setHeaders = [HeaderField("X-Large", String(repeating: "x", count: 8000))]
          $0.timing.slice = .init(size: 1000, pause: .seconds(30))
        }
      }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    try await until { await harness.engine.explain(id)?.data["received"] == "1000" }
    harness.engine.pause(id)
    try await until { try harness.journal.job(id)?.state == .paused }
    #expect(try #require(try harness.journal.job(id)).receivedBytes >= 9000)
    await harness.engine.close()
  }

  @Test("F-41 another boot: what the disk has of a chunk is found", arguments: ["test-boot", "another"])
  func chunksAfterAnotherBoot(boot: String) throws {
    let folder = try Harness.folderWithStaging()
    defer { Files.removeTree(folder) }
    let place = Harness.staging(folder)
    let written = Trial.chunkSize * 2 + 40_000
    try Trial.bytes.prefix(written).write(to: URL(fileURLWithPath: place))
    let identity = try Files.identity(of: place)
    let partial = Partial(
      stagingName: "", entity: Entity(total: Int64(Trial.size), finalURL: "https://example.com/"),
      verifiedChunks: [1] + [UInt8](repeating: 0, count: 6), bootIdentifier: "test-boot", device: identity.device,
      inode: identity.inode)
    let destination = try Destination(folder, app: "app", files: SystemFiles())
    let file = StagingFile(
      destination: destination, name: Destination.stagingName(app: "app", identifier: "file", generation: 1))
    let kept = try #require(try file.reopen(partial, boot: boot, chunks: Trial.chunks))
    #expect(ChunkMap.isSet(1, kept.found.verified) && (kept.found.prefixes[2] ?? 0) > 30_000)
  }
}
