import Foundation
import Glibc
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

/// A state folder that can't be used: the service says so in one sentence with what to do about it, and changes nothing.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct StateFolderTests {
  private static let canMount = getuid() == 0 && access("/usr/bin/unshare", X_OK) == 0

  private func service(_ world: ServiceWorld, _ arguments: [String] = []) throws -> Workspace.Finished {
    try Workspace.run(["--state", world.state] + arguments, program: Workspace.products + "/outriderd")
  }

  /// One line of the service, and one of a command that wanted to start it.
  private func expectSentence(_ world: ServiceWorld, _ status: Int32, _ parts: [String]) throws {
    let end = try service(world)
    #expect(end.status == status, "\(end)")
    #expect(end.errors.split(separator: "\n").count == 1, "\(end.errors)")
    for part in parts { #expect(end.errors.contains(part), "\(end.errors)") }
    let command = try Workspace.run(["apps", "--state", world.state])
    #expect(command.status != 0 && command.errors.split(separator: "\n").count == 1, "\(command)")
  }

  /// A world that has had a service.
  private func used() async throws -> ServiceWorld {
    let world = try ServiceWorld()
    try world.start()
    _ = try world.terminate()
    return world
  }

  @Test("A damaged database is left as it is, and the remedy that is named works")
  func corrupt() async throws {
    let world = try await used()
    let names = try FileManager.default.contentsOfDirectory(atPath: world.paths.store)
    let database = try #require(names.first { $0.hasSuffix(".sqlite") || $0.hasSuffix(".db") }, "\(names)")
    let path = "\(world.paths.store)/\(database)"
    for name in names where name.hasPrefix(database + "-") { unlink("\(world.paths.store)/\(name)") }
    let garbage = Data(repeating: 0x5a, count: 20_000)
    try garbage.write(to: URL(fileURLWithPath: path))
    try expectSentence(world, 73, [path, "is damaged", "--start-fresh"])
    #expect(FileManager.default.contents(atPath: path) == garbage)
    try world.start(["--start-fresh"])
    #expect(try await world.connect().request(.apps(app: nil)) == .apps([]))
    #expect(world.log.contains("the journal was damaged") && world.log.contains(".damaged-"), "\(world.log)")
  }

  @Test("A state folder of another kind, or that can't be written, is one sentence")
  func unusable() throws {
    let world = try ServiceWorld()
    try "x".write(toFile: world.state, atomically: false, encoding: .utf8)
    try expectSentence(world, 73, [world.state, "--state"])
  }

  @Test(
    "A read-only state folder is one sentence", .enabled(if: canMount, "mounting needs root"), arguments: [false, true])
  func readOnly(isUsed: Bool) async throws {
    let world = isUsed ? try await used() : try ServiceWorld()
    try? FileManager.default.createDirectory(atPath: world.state, withIntermediateDirectories: true)
    let end = try mounted(
      world, "mount --bind \(world.state) \(world.state) && mount -o remount,ro,bind \(world.state)")
    #expect(end.status == 73 && end.errors.split(separator: "\n").count == 1, "\(end)")
    #expect(end.errors.contains("Read-only file system") && end.errors.contains("another"), "\(end.errors)")
  }

  @Test("A full volume is one sentence", .enabled(if: canMount, "mounting needs root"))
  func full() throws {
    let world = try ServiceWorld()
    try? FileManager.default.createDirectory(atPath: world.state, withIntermediateDirectories: true)
    let end = try mounted(world, "mount -t tmpfs -o size=64k none \(world.state)")
    #expect(end.status == 73 && end.errors.split(separator: "\n").count == 1, "\(end)")
    #expect(end.errors.contains("free some space"), "\(end.errors)")
  }

  private func mounted(_ world: ServiceWorld, _ mount: String) throws -> Workspace.Finished {
    try Workspace.run(
      ["-m", "/bin/bash", "-c", "\(mount) && exec \(Workspace.products)/outriderd --state \(world.state)"],
      program: "/usr/bin/unshare")
  }

  @Test("A path that no socket can have is one sentence, and nothing is made")
  func longPath() throws {
    let world = try ServiceWorld()
    let state = world.folder + "/" + String(repeating: "long", count: 30)
    let end = try Workspace.run(["--state", state], program: Workspace.products + "/outriderd")
    #expect(end.status == 73 && end.errors.split(separator: "\n").count == 1, "\(end)")
    #expect(end.errors.contains("bytes") && end.errors.contains("--state"), "\(end.errors)")
    #expect(!FileManager.default.fileExists(atPath: state))
    let command = try Workspace.run(["apps", "--state", state])
    #expect(command.status != 0 && command.errors.split(separator: "\n").count == 1, "\(command)")
  }
}
