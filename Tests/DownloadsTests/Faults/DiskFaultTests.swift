import AssetModel
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group C of the fault corpus: storage, as far as the engine is concerned.
@Suite(.timeLimit(.minutes(2))) struct DiskFaultTests {
  @Test(
    "F-44 the disk is full at the first, second or third write, and has room later", arguments: [ENOSPC, EDQUOT], 1...3)
  func fullAtWrite(code: Int32, nth: Int) async throws {
    let clock = TestClock()
    let trial = try await Trial.run(digest: Trial.digest, clock: clock, files: FaultyFiles(.write, nth, code)) { _, _ in
      nil
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.record.history.fruitlessAttempts == 0, "no attempt failed")
    #expect(clock.jumps.withLock { !$0.isEmpty }, "it waited")
  }

  @Test(
    "F-44 no space only at the synchronisation", arguments: [FaultyFiles.Kind.synchronizeData, .synchronize],
    [ENOSPC, EDQUOT])
  func fullAtSync(kind: FaultyFiles.Kind, code: Int32) async throws {
    let trial = try await Trial.run(digest: Trial.digest, files: FaultyFiles(kind, 1, code)) { _, nth in
      nth == 1 ? .half : nil
    }
    #expect(trial.isFinished, "\(trial.end)")
  }

  @Test("F-44 what is missing is told") func needIsTold() async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: FaultyFiles(.write, 1, ENOSPC))
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    for await event in events {
      guard case .waiting(_, let explanation) = event else { continue }
      #expect(explanation.code == .disk && explanation.data["need"] == "\(Trial.size)")
      break
    }
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-44 a file that is too large for this process or this filesystem") func tooLarge() async throws {
    let trial = try await Trial.run(files: FaultyFiles(.write, 2, EFBIG)) { _, _ in nil }
    #expect(trial.failure == .refused, "not the volume's failure: \(trial.end)")
    #expect(trial.record.lastError == FileObstacle.tooLarge(nil))
    #expect(FileObstacle.tooLarge(1024).contains("beyond 1024 bytes: its file size limit"))
  }

  @Test("F-44 preallocation that isn't supported") func noPreallocation() async throws {
    let files = FaultyFiles { kind, _ in kind == .preallocate ? .code(EOPNOTSUPP) : nil }
    let trial = try await Trial.run(declares: Int64(Trial.size), digest: Trial.digest, files: files) { _, _ in nil }
    #expect(trial.isFinished)
  }

  @Test("F-43 writes that take less than they are given", arguments: [1000, 65_537]) func shortWrites(most: Int)
    async throws
  {
    let files = FaultyFiles { kind, _ in kind == .write ? .short(most) : nil }
    let trial = try await Trial.run(digest: Trial.digest, files: files) { _, nth in nth == 1 ? .half : nil }
    #expect(trial.isFinished && files.count(.write) > 3)
  }

  @Test("F-43 an I/O error of a synchronisation: back to the last checkpoint, never on") func lostPages() async throws {
    // The second checkpoint fails: what the first one says is kept, what came after it is fetched again.
    let trial = try await Trial.run(digest: Trial.digest, files: FaultyFiles(.synchronizeData, 2, EIO)) { _, nth in
      nth <= 2 ? .cut(after: .byte(1 << 20)) : nil
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.ranges == [nil, "bytes=1048576-", "bytes=1048576-"])
  }

  @Test("F-43 an I/O error when the file is sealed: nothing of it counts") func lostAtTheEnd() async throws {
    let trial = try await Trial.run(digest: Trial.digest, files: FaultyFiles(.synchronize, 1, EIO)) { _, _ in nil }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.ranges == [nil, nil], "all of it again: no checkpoint was there")
  }

  private struct Full: JournalObstacle { var isOfVolume: Bool { true } }

  @Test("F-44 the journal's volume is full: nothing is fetched again before a commit works") func fullJournal()
    async throws
  {
    let journal = MemoryJournal { if $0 <= 6 { throw Full() } }
    let trial = try await Trial.run(journal: journal) { _, _ in nil }
    #expect(trial.isFinished && trial.requests.count == 2, "\(trial.end), \(trial.requests.count) requests")
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false), journal: MemoryJournal { _ in throw Full() }) {
      _, _ in nil
    }
    let explanation = try await scene.isWaiting()
    #expect(explanation.code == .volume && explanation.data["journal"] != nil)
    _ = try await scene.close()
  }

  @Test("F-47 a volume that stays broken: no storm") func brokenForGood() async throws {
    let clock = TestClock(jumpsWhenIdle: false)
    let files = FaultyFiles { kind, _ in kind == .write ? .code(EROFS) : nil }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(clock: clock, files: files)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    for await event in events {
      guard case .waiting(_, let explanation) = event else { continue }
      #expect(explanation.code == .volume && explanation.data["errno"] == "\(EROFS)" && (explanation.endsIn ?? 0) > 20)
      break
    }
    harness.engine.cancel(id)
    #expect(try await harness.end(of: id, in: events) == .cancelled)
    #expect(origin.requests.count == 1)
    await harness.engine.close()
  }

  enum Planted: String, CaseIterable, Sendable { case link, file, fifo, open }

  @Test("F-49 something planted as the staging directory", arguments: Planted.allCases) func plantedStaging(
    planted: Planted
  ) async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-downloads-")
    let victim = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-victim-")
    defer { Files.removeTree(victim) }
    let place = "\(folder)/.outrider"
    switch planted {
    case .link: #expect(symlink(victim, place) == 0)
    case .file: #expect(FileManager.default.createFile(atPath: place, contents: nil))
    case .fifo: #expect(mkfifo(place, 0o600) == 0)
    case .open: #expect(mkdir(place, 0o777) == 0 && chmod(place, 0o777) == 0)
    }
    let end = try await fetch(in: folder)
    #expect(end.reason == .volume, "\(end)")
    #expect(try Files.names(in: victim).isEmpty)
  }

  @Test("F-49 something planted as the target: it stays as it is", arguments: ["link", "file", "fifo", "directory"])
  func plantedTarget(kind: String) async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-downloads-")
    let victim = "\(folder)/victim"
    try "precious".write(toFile: victim, atomically: true, encoding: .utf8)
    let place = "\(folder)/file"
    switch kind {
    case "link": #expect(symlink(victim, place) == 0)
    case "file": #expect(link(victim, place) == 0)
    case "fifo": #expect(mkfifo(place, 0o600) == 0)
    default: #expect(mkdir(place, 0o700) == 0)
    }
    let end = try await fetch(in: folder) { (try? String(contentsOfFile: victim, encoding: .utf8)) == "precious" }
    #expect(end.reason == .refused && end.failure?.errno == EEXIST, "\(end)")
  }

  @Test("F-49 something planted under the name of the staging file", arguments: ["link", "hard link", "fifo"])
  func plantedName(kind: String) async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-downloads-")
    let victim = "\(folder)/victim"
    try "precious".write(toFile: victim, atomically: true, encoding: .utf8)
    let staging = "\(folder)/.outrider/\(Destination.digest(["app"], length: 16))"
    try FileManager.default.createDirectory(
      atPath: staging, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    chmod("\(folder)/.outrider", 0o700)
    let place = "\(staging)/\(Destination.stagingName(app: "app", identifier: "file", generation: 1))"
    switch kind {
    case "link": #expect(symlink(victim, place) == 0)
    case "hard link": #expect(link(victim, place) == 0)
    default: #expect(mkfifo(place, 0o600) == 0)
    }
    let end = try await fetch(in: folder) { (try? String(contentsOfFile: victim, encoding: .utf8)) == "precious" }
    #expect(end.isFinished, "\(end)")
  }

  private func fetch(in folder: String, _ holds: () -> Bool = { true }) async throws -> Harness.End {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(folder: folder)
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path)))
    await harness.engine.close()
    #expect(holds(), "what was there stays as it was")
    return end
  }

  @Test(
    "F-50 identifiers that are no names",
    arguments: [
      "../../x", "/etc/passwd", "a\0b", ".", "..", "", "\u{202e}gpj.exe", String(repeating: "x", count: 65_536), "con",
      "é", "e\u{301}", "A\nB",
    ].map(Abbreviated.init))
  func identifiers(argument: Abbreviated<String>) async throws {
    let identifier = argument.value
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness()
    var specification = harness.specification(origin.url(Trial.path))
    specification.identifier = identifier
    specification.app = identifier
    #expect(try await harness.fetch(specification).isFinished)
    await harness.engine.close()
    #expect(try Files.names(in: harness.folder) == [".outrider", "file"], "the identifier isn't on the disk")
    #expect(harness.staged.isEmpty)
  }

  @Test(
    "F-50 file names that lead elsewhere",
    arguments: ["../x", "a/b", "..", ".", "", "a\0b", ".outrider", String(repeating: "x", count: 256)])
  func fileNames(name: String) async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness()
    var specification = harness.specification(origin.url(Trial.path))
    specification.fileName = name
    let end = try await harness.fetch(specification)
    #expect(end.reason == .notAllowed, "\(end)")
    #expect(origin.requests.isEmpty)
    await harness.engine.close()
  }

  @Test("F-50 a name that the server sends is ignored") func serverName() async throws {
    let trial = try await Trial.run { _, _ in
      .with { $0.setHeaders = [HeaderField("Content-Disposition", "attachment; filename=\"../../evil\"")] }
    }
    #expect(trial.isFinished)
    #expect(try Files.names(in: trial.harness.folder) == [".outrider", "file"])
  }
}
