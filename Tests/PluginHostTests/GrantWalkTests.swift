import Foundation
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
    let walk = GrantWalk(writable: [try Files.identity(of: folder + "/own")])
    #expect(try walk.end(of: "\(folder)/\(path)") == .file(try Files.identity(of: "\(folder)/\(expected)")))
  }

  @Test(arguments: [
    "own/planted", "own/deep/planted", "machine/in", "machine/own/planted", "machine/own/deep/planted",
    "own/planted/../secret", "machine/up/planted", "own/deep/../planted",
  ])
  func refuses(_ path: String) throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let walk = GrantWalk(writable: [try Files.identity(of: folder + "/own")])
    #expect(try walk.end(of: "\(folder)/\(path)") == .link("planted"))
    #expect(
      try GrantWalk(writable: []).end(of: "\(folder)/\(path)")
        == .file(try Files.identity(of: folder + "/machine/secret")))
  }

  @Test func saysWhatIsWrong() throws {
    let folder = try Self.folder()
    defer { Files.removeTree(folder) }
    let walk = GrantWalk(writable: [])
    for (path, code) in [("machine/round", ELOOP), ("machine/none", ENOENT), ("none/../own", ENOENT)] {
      let error = #expect(throws: SystemCallError.self) { try walk.end(of: "\(folder)/\(path)") }
      #expect(error?.code == code, "\(path)")
    }
    #expect(try walk.end(of: "/../..") == .file(try Files.identity(of: "/")))
  }
}
