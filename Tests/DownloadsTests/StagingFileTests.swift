import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

@Suite struct StagingFileTests {
  @Test("F-43 a file that isn't open isn't cut: under its name may lie what is published in a moment")
  func cutsNothingUnseen() throws {
    let folder = try Harness.folderWithStaging()
    defer { Files.removeTree(folder) }
    let place = Harness.staging(folder)
    try Data(count: 1000).write(to: URL(fileURLWithPath: place))
    let inode = try Files.identity(of: place).inode
    let destination = try Destination(folder, app: "app", files: SystemFiles())
    let file = StagingFile(
      destination: destination, name: Destination.stagingName(app: "app", identifier: "file", generation: 1))
    #expect(throws: SystemCallError.self) { try file.cutOpened(to: 0) }
    let after = try Files.identity(of: place)
    #expect(after.inode == inode && after.size == 1000)
  }
}
