import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

/// Granted paths and the links on the way: those of the machine are followed, those that a plugin can have made are not.
@Suite(.timeLimit(.minutes(1))) struct GrantWalkTests {
  /// `own` may be written to by plugins, `machine` may not; every link leads to `machine/secret` in the end.
  private static func folder() throws -> String {
    let folder = try Files.real(try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-walk-"))
    for name in ["own/deep", "machine/secret"] { try Files.makeDirectories("\(folder)/\(name)", mode: 0o755) }
    let links = [
      "own/planted": "../machine/secret", "own/deep/planted": "\(folder)/machine/secret", "machine/link": "secret",
      "machine/absolute": "\(folder)/machine/secret", "machine/chain": "link/../absolute/.",
      "machine/in": "../own/planted", "machine/round": "round", "machine/own": "../own", "machine/up": "../own/deep/..",
    ]
    for (name, target) in links {
      try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: target)
    }
    return folder
  }

  @Test(arguments: [
    ("machine/secret", "machine/secret"), ("machine/link", "machine/secret"), ("machine/chain", "machine/secret"),
    ("machine/./link//", "machine/secret"), ("own", "own"), ("own/deep", "own/deep"), ("machine/own", "own"),
    ("machine/own/deep", "own/deep"), ("machine/up", "own"), ("own/../machine/link", "machine/secret"),
  ])
  func follows(_ path: String, _ expected: String) throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let found = try GrantWalk(writable: [try Files.identity(of: folder + "/own")]).open("\(folder)/\(path)")
    let (identity, isProcess) = (found.identity, found.isProcess)
    #expect(try identity == Files.identity(of: "\(folder)/\(expected)"))
    #expect(!isProcess)
  }

  @Test(arguments: [
    "own/planted", "own/deep/planted", "machine/in", "machine/own/planted", "machine/own/deep/planted",
    "own/planted/../secret", "machine/up/planted", "own/deep/../planted",
  ])
  func refuses(_ path: String) throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let walk = GrantWalk(writable: [try Files.identity(of: folder + "/own")])
    #expect(throws: GrantWalk.Failure.link("planted")) { _ = try walk.open("\(folder)/\(path)") }
    #expect(
      try GrantWalk(writable: []).open("\(folder)/\(path)").identity
        == Files.identity(of: folder + "/machine/secret"))
    // The same for every later run, which knows nothing of this one.
    let own = try OwnedDescriptor.open(folder + "/own", O_RDONLY | O_DIRECTORY)
    try WritableMark.set(on: own, "own")
    #expect(throws: GrantWalk.Failure.link("planted")) {
      _ = try GrantWalk(writable: []).open("\(folder)/\(path)")
    }
  }

  @Test func saysWhatIsWrong() throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let walk = GrantWalk(writable: [])
    for (path, code) in [("machine/round", ELOOP), ("machine/none", ENOENT), ("none/../own", ENOENT)] {
      let error = #expect(throws: GrantWalk.Failure.self) { _ = try walk.open("\(folder)/\(path)") }
      guard case .system(let error) = error else {
        Issue.record("\(path): \(String(describing: error))")
        continue
      }
      #expect(error.code == code, "\(path)")
    }
    #expect(try walk.open("/../..").identity == Files.identity(of: "/"))
  }

  /// What a shell hands over under a number may have no name, or never had one.
  @Test func findsWhatIsOpen() throws {
    let walk = GrantWalk(writable: [])
    let pipe = try Sockets.pipe()
    let opened = try walk.open("/dev/fd/\(pipe.first.number)")
    let (kind, isProcess) = (opened.identity.mode & S_IFMT, opened.isProcess)
    #expect(kind == S_IFIFO && isProcess)
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let file = try OwnedDescriptor.open(folder + "/gone", O_RDWR | O_CREAT)
    unlink(folder + "/gone")
    #expect(try walk.open("/proc/self/fd/\(file.number)").identity == file.identity())
    // A folder's links are checked by where it lies.
    let own = try OwnedDescriptor.open(folder + "/own/deep", O_RDONLY | O_DIRECTORY)
    let guarded = GrantWalk(writable: [try Files.identity(of: folder + "/own")])
    #expect(throws: GrantWalk.Failure.link("planted")) {
      _ = try guarded.open("/proc/self/fd/\(own.number)/planted")
    }
  }
}
