import Foundation
import Glibc
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(2))) struct LogAndJournalSizeTests {
  @Test("The log of a running service is put aside at its limit, and at most two files of that size are there")
  func log() throws {
    let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/service.log"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(descriptor) }
    let file = BoundedLogFile(path: path, limit: 1000, descriptor: descriptor)
    for number in 0..<200 { file.write("line \(number) " + String(repeating: "x", count: 30) + "\n") }
    let now = try String(contentsOfFile: path, encoding: .utf8)
    let before = try String(contentsOfFile: path + ".1", encoding: .utf8)
    #expect(now.utf8.count <= 1000 && before.utf8.count <= 1000)
    let lines = (before + now).split(separator: "\n")
    #expect(lines.last?.hasPrefix("line 199 ") == true)
    let numbers = lines.compactMap { Int($0.split(separator: " ")[1]) }
    #expect(numbers == Array((200 - numbers.count)..<200), "nothing is lost between both")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
  }

  @Test("A log that was given another name by another program isn't put aside")
  func foreignLog() throws {
    let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let descriptor = open(folder + "/other", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(descriptor) }
    try Data().write(to: URL(fileURLWithPath: folder + "/service.log"))
    let file = BoundedLogFile(path: folder + "/service.log", limit: 100, descriptor: descriptor)
    for _ in 0..<20 { file.write(String(repeating: "x", count: 30) + "\n") }
    #expect(!FileManager.default.fileExists(atPath: folder + "/service.log.1"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/other")).count == 20 * 31)
  }

  @Test("The journal is looked at at once, after 500 settled downloads, and after a day")
  func journal() {
    var bounds = JournalBounds()
    // `#expect` can't call what changes its receiver.
    let first = bounds.count(wall: 0)
    let early = (1..<JournalBounds.settlements).map { _ in bounds.count(wall: 1) }
    let counted = bounds.count(wall: 1)
    let tooSoon = bounds.count(wall: JournalBounds.interval)
    let daily = bounds.count(wall: JournalBounds.interval + 1)
    #expect(first && !early.contains(true) && counted && !tooSoon && daily)
  }
}
