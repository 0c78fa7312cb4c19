import Foundation
import Glibc
import LinuxSystem
import ServiceProtocol
import Testing

/// What the service has purged for lack of room is fetched again when the app's extension asks for it.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct PurgedAgainTests {
  /// The groups' containers lie on a volume in memory that has room for one of two files beside what has to stay free.
  private static let room = (512 + 88) << 20
  private static let first = ["e1": 40 << 20]
  private static let second = ["e2": 50 << 20]

  @Test(
    "What is purged for another download is fetched again, as often as it is asked for [B57, B59]",
    .enabled(if: VolumeInMemory.keepsMarks, "needs root, and attributes of users on tmpfs (kernel 6.6)"))
  func again() async throws {
    let world = try ServiceWorld()
    try FileManager.default.createDirectory(
      atPath: world.paths.groups, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let volume = try VolumeInMemory(at: world.paths.groups, bytes: Self.room)
    defer { withExtendedLifetime(volume) {} }
    defer { world.kill() }
    world.publish(Self.first)
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(Self.first)
    for (version, sessions) in [("2.0", Self.second), ("3.0", Self.first), ("4.0", Self.second)] {
      try await world.wait("nothing is left") { try await world.downloads().isEmpty }
      try await world.wait("no extension runs") {
        try await !world.runs().contains { $0.outcome.kind == RunSummary.Outcome.runningKind }
      }
      world.publish(sessions)
      _ = try await world.install(world.bundle(version: version), mustExist: true)
      try await world.waitUntilShelved(sessions)
      try await world.waitUntilOpen()
      #expect(try await world.summary()?.version == version)
    }
    let purged = try Workspace.run(["log", "--json", "--state", world.state]).output
    #expect(purged.components(separatedBy: #""purged""#).count > 3, "\(purged.suffix(2000))")
  }
}

/// tmpfs(5), while this is there.
private final class VolumeInMemory {
  private let path: String

  static let keepsMarks: Bool = {
    let path = NSTemporaryDirectory() + "marks-\(UUID().uuidString)"
    guard getuid() == 0, mkdir(path, 0o700) == 0 else { return false }
    defer { rmdir(path) }
    guard let volume = try? VolumeInMemory(at: path, bytes: 1 << 20) else { return false }
    return withExtendedLifetime(volume) {
      guard FileManager.default.createFile(atPath: path + "/file", contents: Data([1])) else { return false }
      return (try? PurgeMark.set(on: OwnedDescriptor.open(path + "/file", O_RDONLY))) == true
    }
  }()

  init(at path: String, bytes: Int) throws {
    self.path = path
    try checkErrno("mount", path) { mount("outrider", path, "tmpfs", 0, "size=\(bytes),mode=0700") }
  }

  deinit { umount2(path, Int32(MNT_DETACH)) }
}
