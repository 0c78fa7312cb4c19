import AssetModel
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

/// What a job does when an operation on its file fails.
@Suite(.timeLimit(.minutes(1))) struct FileObstacleTests {
  @Test(
    "each error of the system is one obstacle",
    arguments: [
      (EWOULDBLOCK, "flock", FileObstacle.taken), (EWOULDBLOCK, "pwrite", .lasting), (ENOSPC, "pwrite", .full),
      (EDQUOT, "openat", .full), (EIO, "fdatasync", .volume), (EROFS, "openat", .volume), (ENODEV, "openat", .volume),
      (ENXIO, "openat", .volume), (ESTALE, "fstat", .volume), (EFBIG, "pwrite", .tooLarge),
      (EMFILE, "openat", .exhausted), (ENFILE, "openat", .exhausted), (ENOMEM, "mmap", .exhausted),
      (EACCES, "openat", .lasting), (EINVAL, "pwrite", .lasting), (ENOENT, "renameat", .lasting),
    ])
  func classes(code: Int32, call: String, expected: FileObstacle) {
    #expect(FileObstacle(SystemCallError(call, code: code, subject: "a")) == expected)
  }

  @Test("what may pass holds the job, and what doesn't fails it", arguments: FileObstacle.allCases)
  func steps(obstacle: FileObstacle) {
    let shortage = SpaceShortage(directory: "/d", device: 1, need: 10, free: 1, floor: 2, purgeUntil: 3)
    var questions = 0
    let ask = { () -> SpaceShortage in
      questions += 1
      return shortage
    }
    let error = SystemCallError("pwrite", code: EIO, subject: "a")
    switch obstacle.step(error, shortage: ask, fileSizeLimit: 1024) {
    case .hold(.disk(let missing), let delay):
      #expect(obstacle == .full && missing == shortage && delay == nil)
    case .hold(.held(let holder), let delay):
      #expect(obstacle == .taken && holder == "another process" && delay == SpaceLedger.failureDelay)
    case .hold(.volume(let code), let delay):
      #expect(obstacle == .volume || obstacle == .exhausted)
      #expect(code == EIO && delay == SpaceLedger.failureDelay)
    case .fail(let failure) where obstacle == .tooLarge:
      #expect(failure.reason == .refused && failure.errno == EFBIG && failure.detail.contains("1024 bytes"))
    case .fail(let failure): #expect(obstacle == .lasting && failure.reason == .volume && failure.errno == EIO)
    case let step: Issue.record("\(step)")
    }
    let isHeld: Bool =
      switch obstacle.step(error, shortage: { shortage }, fileSizeLimit: nil) {
      case .hold: true
      default: false
      }
    #expect(isHeld == obstacle.isPassing)
    #expect(questions == (obstacle == .full ? 1 : 0), "the volume is asked only where it matters")
  }
}
