import AssetModel
import Basics
import Foundation
import Hashing
import LinuxSystem
import Testing

@testable import Downloads

/// Against a real server: the ways that have to work everywhere.
@Suite(.timeLimit(.minutes(2))) struct NginxTests {
  static func random(_ count: Int, seed: UInt64 = 1) -> Data {
    var generator = SeededGenerator(seed: seed)
    var data = Data(count: count)
    data.withUnsafeMutableBytes { bytes in
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: generator.next()) }
    }
    return data
  }

  static func digest(_ data: Data) -> ContentDigest {
    ContentDigest(.sha256, bytes: RunningHash.digest(.sha256, of: data))!
  }

  @Test(arguments: [0, 1, 4096, 1 << 20, (1 << 20) + 1, 20_000_000]) func fetches(size: Int) async throws {
    let server = try Nginx()
    let data = Self.random(size)
    try server.put("file", data)
    let harness = try Harness { $0.transport.authorityFile = server.authority }
    for (name, url) in [("plain", server.url("file")), ("secure", server.secureURL("file"))] {
      let end = try await harness.fetch(harness.specification(url, name: name, digest: Self.digest(data)))
      #expect(end == .finished("\(harness.folder)/\(name)", Int64(size)))
      #expect(harness.contents(name) == data)
    }
    #expect(harness.staged.isEmpty)
    await harness.engine.close()
    server.stop()
  }

  /// Nothing is read again for its digest, however slow the digest is: hashing holds the transfer up, not the reverse.
  @Test func hashesWhatPassesBy() async throws {
    let server = try Nginx()
    let data = Self.random(48 << 20)
    try server.put("file", data)
    let files = FaultyFiles { _, _ in nil }
    let harness = try Harness(files: files)
    let end = try await harness.fetch(harness.specification(server.url("file"), digest: Self.digest(data)))
    #expect(end == .finished("\(harness.folder)/file", Int64(data.count)))
    // The tail of each checkpoint, in four parts.
    #expect(files.count(.read) <= files.count(.synchronizeData) * 4)
    #expect(files.count(.write) > 100)
    await harness.engine.close()
    server.stop()
  }

  @Test func aThousandSmallFiles() async throws {
    let server = try Nginx()
    var expected: [String: Data] = [:]
    for number in 0..<1000 {
      expected["f\(number)"] = Self.random(number * 7, seed: UInt64(number + 1))
      try server.put("f\(number)", expected["f\(number)"]!)
    }
    let harness = try Harness()
    let events = harness.engine.events
    let results = try await harness.engine.add(expected.keys.map { harness.specification(server.url($0), name: $0) })
    var open = Set(results.compactMap(\.job))
    #expect(open.count == 1000)
    for await event in events {
      if case .finished(let id, _) = event { open.remove(id) }
      if case .failed(let id, let failure) = event {
        Issue.record("\(failure)")
        open.remove(id)
      }
      if open.isEmpty { break }
    }
    for (name, data) in expected { #expect(harness.contents(name) == data, "\(name)") }
    #expect(Set(harness.journal.state.withLock { $0.deliveries }).count == 1000)
    await harness.engine.close()
    server.stop()
  }

  @Test func pausesAndGoesOnWithoutLosingAByte() async throws {
    let server = try Nginx(directives: "limit_rate 8m;")
    let data = Self.random(12 << 20)
    try server.put("file", data)
    let harness = try Harness()
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(server.url("file"), digest: Self.digest(data))])[0].job)
    var paused = 0
    var resumedAt: Int64 = 0
    for await event in events {
      switch event {
      case .progress(id, let progress) where paused == 0 && progress.received > 2 << 20:
        paused = 1
        harness.engine.pause(id)
      case .paused(id):
        #expect(await harness.engine.explain(id)?.code == .paused)
        resumedAt = try #require(try harness.journal.job(id)?.partial?.durableOffset)
        #expect(resumedAt > 2 << 20)
        harness.engine.resume(id)
      case .progress(id, let progress) where resumedAt > 0:
        #expect(progress.received >= resumedAt)
      case .finished(id, _), .failed(id, _): break
      default: continue
      }
      if case .finished = event { break }
      if case .failed(_, let failure) = event {
        Issue.record("\(failure)")
        break
      }
    }
    #expect(harness.contents() == data)
    // What was fetched again is less than a buffer.
    #expect(try harness.journal.job(id)?.receivedBytes ?? 0 < Int64(data.count) + 2 << 20)
    await harness.engine.close()
    server.stop()
  }

  /// Its tag is made of the length and the second of the last change.
  @Test("a file replaced within the second by one as long: nginx gives it the same tag", arguments: [true, false])
  func sameTag(isReplaced: Bool) async throws {
    // It is never through before it is paused.
    let server = try Nginx(directives: "limit_rate_after 2m; if (-f $document_root/slow) { set $limit_rate 1k; }")
    try server.put("slow", Data())
    let first = Self.random(6 << 20)
    let second = isReplaced ? Self.random(6 << 20, seed: 2) : first
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    func put(_ data: Data) throws {
      try server.put("new", data)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(server.root)/new")
      #expect(rename("\(server.root)/new", "\(server.root)/file") == 0)
    }
    try put(first)
    let harness = try Harness()
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(server.url("file"))])[0].job)
    var hasPaused = false
    var end: DownloadEvent?
    loop: for await event in events {
      switch event {
      case .progress(id, let progress) where !hasPaused && progress.received > 1 << 20:
        hasPaused = true
        harness.engine.pause(id)
      case .paused(id):
        try put(second)
        try FileManager.default.removeItem(atPath: "\(server.root)/slow")
        harness.engine.resume(id)
      case .finished, .failed:
        end = event
        break loop
      default: break
      }
    }
    guard hasPaused, case .finished(id, _)? = end else { throw Unexpected("\(String(describing: end))") }
    #expect(harness.contents() == second, "never a mixture")
    let record = try #require(try harness.journal.job(id))
    #expect(record.generation == (isReplaced ? 2 : 1) && record.history.validatorRestarts == (isReplaced ? 1 : 0))
    if !isReplaced {
      // What is compared, and less than a buffer that wasn't on the file yet.
      #expect(record.receivedBytes < first.count + Int(ResumePolicy.comparedLength) + 2 << 20)
    }
    await harness.engine.close()
    server.stop()
  }

  @Test func segmentsOfAChunkList() async throws {
    let server = try Nginx(directives: "limit_rate 20m;")
    let data = Self.random(40 << 20)
    try server.put("file", data)
    let size = Int(ChunkList.usualChunkSize)
    let digests = stride(from: 0, to: data.count, by: size).flatMap {
      RunningHash.digest(.sha256, of: data[$0..<min($0 + size, data.count)])
    }
    let chunks = try #require(ChunkList(chunkSize: Int64(size), totalSize: Int64(data.count), digests: digests))
    let harness = try Harness()
    let end = try await harness.fetch(harness.specification(server.url("file"), chunks: chunks))
    guard case .finished = end else { throw Unexpected("\(end)") }
    #expect(harness.contents() == data)
    await harness.engine.close()
    server.stop()
  }
}
