import Foundation
import LinuxSystem
import Testing

@testable import PluginHost

/// The one folder of a container that a host looks through, which the plugin may fill, lock or replace.
@Suite(.timeLimit(.minutes(1))) struct IncomingFolderTests {
  private static func container() throws -> String {
    try Files.temporaryDirectory(in: NSTemporaryDirectory(), prefix: "outrider-incoming-")
  }

  @Test func isMadeOnlyWhereItIsWanted() throws {
    let container = try Self.container()
    defer { Files.removeTree(container) }
    #expect(throws: SystemCallError.self) { _ = try IncomingFolder(in: container, creates: false) }
    StagedFile.sweep(container)
    #expect(try Files.names(in: container).isEmpty)
    let folder = try IncomingFolder(in: container, creates: true)
    #expect(try Files.names(in: container) == [IncomingFolder.name])
    mkdir("\(container)/\(IncomingFolder.name)/x", 0o700)
    folder.remove("x")
    #expect(try Files.names(in: container).isEmpty)
  }

  @Test(arguments: ["link", "file", "closed"]) func isAFolderWhateverLiesThere(_ what: String) throws {
    let container = try Self.container()
    let outside = try Self.container()
    defer { for path in [container, outside] { Files.removeTree(path) } }
    let path = "\(container)/\(IncomingFolder.name)"
    switch what {
    case "link": symlink(outside, path)
    case "file": FileManager.default.createFile(atPath: path, contents: nil)
    default: mkdir(path, 0)
    }
    let folder = try IncomingFolder(in: container, creates: true)
    #expect(try folder.descriptor.identity().inode == Files.identity(of: path).inode)
    #expect(Files.link(path) == nil)
    #expect(try Files.names(in: outside).isEmpty)
  }

  /// Of a full one no more is listed than that; of the container itself nothing is.
  @Test func listsNoMoreThanSoMany() throws {
    let container = try Self.container()
    defer { Files.removeTree(container) }
    let folder = try IncomingFolder(in: container, creates: true)
    for index in 0..<1500 { mkdir("\(container)/\(IncomingFolder.name)/\(index)", 0o700) }
    #expect(folder.names().count == 1024)
  }
}
