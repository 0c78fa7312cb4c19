import Foundation
import LinuxSystem
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct StagingLeaseTests {
  @Test func theLastOneRemovesWhatIsEmpty() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-lease-")
    defer { Files.removeTree(folder) }
    let staging = "\(folder)/.outrider"
    let (first, second) = (try StagingLease(folder, app: "a"), try StagingLease(folder, app: "a"))
    let destination = try Destination(folder, app: "a", files: SystemFiles())
    first.end()
    #expect(try Files.names(in: staging).count == 1, "another engine is at work there")
    second.end()
    #expect(!Files.exists(staging))
    withExtendedLifetime(destination) {}

    let third = try StagingLease(folder, app: "a")
    _ = try Destination(folder, app: "a", files: SystemFiles())
    _ = try Destination(folder, app: "another", files: SystemFiles())
    third.end()
    #expect(try Files.names(in: staging).count == 1, "another app's is its own affair")

    let partial = "\(staging)/\(try Files.names(in: staging)[0])/partial"
    try Data("kept".utf8).write(to: URL(fileURLWithPath: partial))
    try StagingLease(folder, app: "another").end()
    #expect(Files.exists(partial))
    #expect(throws: SystemCallError.self) { try StagingLease("/nonexistent", app: "a") }
  }

  @Test func theFolderOfAnAppThatIsGoneGoes() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-lease-")
    defer { Files.removeTree(folder) }
    let staging = "\(folder)/.outrider"
    StagingLease.removeEmptyFolder(of: "a", in: folder)
    #expect(!Files.exists(staging))
    for app in ["a", "b"] { _ = try Destination(folder, app: app, files: SystemFiles()) }
    let both = try Files.names(in: staging)
    StagingLease.removeEmptyFolder(of: "a", in: folder)
    let left = try Files.names(in: staging)
    #expect(both.count == 2 && left.count == 1)
    try Data("kept".utf8).write(to: URL(fileURLWithPath: "\(staging)/\(left[0])/partial"))
    StagingLease.removeEmptyFolder(of: "b", in: folder)
    #expect(Files.exists("\(staging)/\(left[0])/partial"))
    StagingLease.removeEmptyFolder(of: "a", in: "/nonexistent")
  }

  @Test func whoComesWhileItIsRemovedGetsANewOne() async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-lease-")
    defer { Files.removeTree(folder) }
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<200 {
            do {
              let lease = try StagingLease(folder, app: "a")
              _ = try Destination(folder, app: "a", files: SystemFiles())
              lease.end()
            } catch {
              Issue.record("\(error)")
            }
          }
        }
      }
    }
    #expect(!Files.exists("\(folder)/.outrider"))
  }
}
