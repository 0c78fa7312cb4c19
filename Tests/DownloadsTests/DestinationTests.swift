import AssetModel
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Directories that are moved while files go there, or belong to several users.
@Suite struct DestinationTests {
  /// With another directory at its place, or with none.
  @Test(arguments: [true, false]) func movedMeanwhile(isReplaced: Bool) async throws {
    let moved = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-moved-")
    defer { Files.removeTree(moved) }
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, _ in
      .with { $0.timing.slice = .init(size: 256 << 10, pause: .milliseconds(200)) }
    }
    try await scene.event { if case .progress = $0 { true } else { false } }
    let folder = scene.harness.folder
    #expect(rename(folder, "\(moved)/folder") == 0)
    if isReplaced { #expect(mkdir(folder, 0o755) == 0) }
    let failure = try #require(try await scene.end().failure)
    #expect(failure.reason == .refused && failure.detail.contains("was moved or replaced"), "\(failure)")
    let content = FileManager.default.contents(atPath: "\(moved)/folder/file")
    #expect(content == Trial.bytes, "it stays where it is")
    #expect(!Files.exists("\(folder)/file"))
    let record = try await scene.close()
    #expect(record.state == .failed(failure))
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

  @Test func whoComesSecondHasAFolderOfTheirOwn() async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-shared-")
    defer { Files.removeTree(folder) }
    #expect(mkdir("\(folder)/.outrider", 0o700) == 0)
    // Only root can make what is somebody else's.
    guard chown("\(folder)/.outrider", 12345, 12345) == 0 else { return }
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
