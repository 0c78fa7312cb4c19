import AssetModel
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Directories that are moved while files go there, or belong to several users.
@Suite(.timeLimit(.minutes(2))) struct DestinationTests {
  /// With another directory at its place, or with none.
  @Test(arguments: [true, false]) func movedMeanwhile(isReplaced: Bool) async throws {
    let moved = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-moved-")
    defer { Files.removeTree(moved) }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    // It gets its name when the directory has another one.
    let latch = Latch()
    let files = FaultyFiles { kind, _ in
      if kind == .rename { latch.wait() }
      return nil
    }
    let harness = try Harness(files: files)
    let folder = harness.folder
    async let ended = harness.fetch(harness.specification(origin.url(Trial.path)))
    while harness.staged.isEmpty { await Task.yield() }
    #expect(rename(folder, "\(moved)/folder") == 0)
    if isReplaced { #expect(mkdir(folder, 0o755) == 0) }
    latch.open()
    let failure = try #require(try await ended.failure)
    #expect(failure.reason == .refused && failure.detail.contains("was moved or replaced"), "\(failure)")
    let content = FileManager.default.contents(atPath: "\(moved)/folder/file")
    #expect(content == Trial.bytes, "it stays where it is")
    #expect(!Files.exists("\(folder)/file"))
    await harness.engine.close()
    let record = try harness.journal.job(JobID(1))
    #expect(record?.state == .failed(failure) && record?.finalSize == Int64(Trial.size), "its size is known")
  }

  /// In a container an app makes what it likes.
  @Test("links beneath a container lead nowhere", arguments: ["files", "files/deep", "app/../../x"])
  func links(path: String) async throws {
    let root = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-root-")
    let elsewhere = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-elsewhere-")
    defer { for folder in [root, elsewhere] { Files.removeTree(folder) } }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    #expect(mkdir("\(elsewhere)/deep", 0o755) == 0 && mkdir("\(root)/app", 0o755) == 0)
    #expect(symlink(elsewhere, "\(root)/files") == 0)
    let harness = try Harness { $0.containerRoots = ["/nowhere", root] }
    var specification = harness.specification(origin.url(Trial.path))
    specification.directory = "\(root)/\(path)"
    let failure = try #require(try await harness.fetch(specification).failure)
    #expect(failure.reason == .volume, "\(failure)")
    #expect(path.contains("..") || failure.detail.contains("a link is on the way"), "\(failure)")
    #expect(try Files.names(in: elsewhere) == ["deep"] && Files.names(in: "\(elsewhere)/deep").isEmpty)
    #expect(origin.requests.isEmpty)
    await harness.engine.close()
  }

  @Test("a directory beneath a container that becomes a link meanwhile") func becomesALink() async throws {
    let root = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-root-")
    let elsewhere = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-elsewhere-")
    defer { for folder in [root, elsewhere] { Files.removeTree(folder) } }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    #expect(mkdir("\(root)/app", 0o755) == 0 && mkdir("\(root)/app/files", 0o755) == 0)
    let latch = Latch()
    let files = FaultyFiles { kind, _ in
      if kind == .rename { latch.wait() }
      return nil
    }
    let harness = try Harness(files: files) { $0.containerRoots = [root] }
    var specification = harness.specification(origin.url(Trial.path))
    specification.directory = "\(root)/app/files"
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([specification])[0].job)
    try await until { try !Files.names(in: "\(root)/app/files").isEmpty }
    try await until { await harness.engine.explain(id)?.code == .delivering }
    #expect(rename("\(root)/app/files", "\(root)/app/moved") == 0 && symlink(elsewhere, "\(root)/app/files") == 0)
    latch.open()
    let failure = try #require(try await harness.end(of: id, in: events).failure)
    #expect(failure.detail.contains("was moved or replaced"), "\(failure)")
    #expect(try Files.names(in: elsewhere).isEmpty)
    #expect(FileManager.default.contents(atPath: "\(root)/app/moved/file") == Trial.bytes)
    await harness.engine.close()
  }

  @Test func theLeaseFollowsItsDirectory() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-moved-")
    let there = "\(folder)-there"
    defer { Files.removeTree(there) }
    let lease = try StagingLease(folder, app: "a")
    _ = try Destination(folder, app: "a", files: SystemFiles())
    #expect(rename(folder, there) == 0)
    lease.end()
    #expect(try Files.names(in: there).isEmpty)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
  func whoComesSecondHasAFolderOfTheirOwn() async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-shared-")
    defer { Files.removeTree(folder) }
    #expect(mkdir("\(folder)/.outrider", 0o700) == 0)
    try #require(chown("\(folder)/.outrider", 12345, 12345) == 0)
    let own = ".outrider-\(geteuid())"
    let lease = try StagingLease(folder, app: "a")
    _ = try Destination(folder, app: "a", files: SystemFiles())
    #expect(try Files.names(in: folder) == [".outrider", own] && Files.names(in: "\(folder)/\(own)").count == 1)
    // The other one is gone, and what is begun isn't.
    #expect(rmdir("\(folder)/.outrider") == 0)
    _ = try Destination(folder, app: "a", files: SystemFiles())
    #expect(try Files.names(in: folder) == [own])
    lease.end()
    #expect(try Files.names(in: folder).isEmpty)
  }

  @Test(arguments: [(EACCES, "may not write"), (ELOOP, "is a link"), (ENOTDIR, "isn't a directory")])
  func isToldInASentence(code: Int32, part: String) async throws {
    let files = FaultyFiles(.makeDirectory, 1, code)
    let trial = try await Trial.run(files: files) { _, _ in nil }
    let detail = trial.record.lastError ?? ""
    #expect(trial.failure == .volume && detail.contains(part) && !detail.contains("makeDirectory"), "\(detail)")
  }
}
