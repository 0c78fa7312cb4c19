import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct StagingFileTests {
  private static func buffers(_ count: Int, of pool: BufferPool) throws -> [TransferBuffer] {
    let size = BufferPool.bufferSize
    return try (0..<count).map { index in
      let buffer = try #require(pool.buffer(at: Int64(index * size), expecting: nil))
      let bytes = [UInt8](repeating: UInt8(index + 1), count: size)
      #expect(bytes.withUnsafeBytes { buffer.fill(from: $0) } == size)
      return buffer
    }
  }

  @Test("F-43 after a write that failed nothing more is written: a service that is killed then leaves no hole")
  func noHole() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-staging-")
    defer { Files.removeTree(folder) }
    let files = FaultyFiles(.write, 2, ENOSPC)
    let file = StagingFile(destination: try Destination(folder, app: "app", files: files), name: "staged")
    let buffers = try Self.buffers(4, of: BufferPool())
    try file.write(buffers[0])
    for buffer in buffers.dropFirst() {
      let error = #expect(throws: SystemCallError.self) { try file.write(buffer) }
      #expect(error?.code == ENOSPC)
    }
    #expect(try file.identity().size == Int64(BufferPool.bufferSize))
  }

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
