import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// A fetch as a process: signals, its terminal, its mask.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchProcessTests {
  private typealias Place = FetchTests.Place

  @Test func outlivesItsTerminal() throws {
    let place = try Place { $0.bytesPerSecond = 4_000_000 }
    let (process, terminal) = try place.fetch(columns: 80, place.origin.url("/a.bin"))
    var buffer = [UInt8](repeating: 0, count: 4096)
    _ = read(terminal, &buffer, buffer.count)
    close(terminal)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    #expect(place.data("a.bin") == FetchTests.whole)
  }

  @Test("a terminal that understands no drawing is told lines", arguments: ["dumb", "", "xterm"])
  func terminals(name: String) throws {
    let place = try Place()
    let (process, terminal) = try place.fetch(columns: 80, terminal: name, place.origin.url("/a.bin"))
    var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    #expect(fcntl(terminal, F_SETFL, O_NONBLOCK) == 0)
    // Its other end stays open here.
    _ = becomes {
      let isOver = !process.isRunning
      while case let count = read(terminal, &buffer, buffer.count), count > 0 { text += buffer.prefix(count) }
      return isOver
    }
    close(terminal)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0 && text.contains(0x1b) == (name == "xterm"), "\(text.count) bytes")
  }

  /// While thousands are still added.
  @Test(arguments: [(SIGINT, 130), (SIGTERM, 75)] as [(Int32, Int32)]) func isInterruptedAtItsStart(
    signal: Int32, status: Int32
  ) throws {
    let place = try Place { $0.handler = { _, _ in .status(503) } }
    let list = (0..<20_000).map { place.origin.url("/f\($0)") }.joined(separator: "\n")
    try list.write(toFile: "\(place.folder)/list", atomically: false, encoding: .utf8)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + ["--from", "\(place.folder)/list"]
    let errors = Pipe.own()
    process.standardError = errors
    try process.run()
    while process.isRunning, place.origin.requests.isEmpty { usleep(1000) }
    kill(process.processIdentifier, signal)
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == status, "\(text.suffix(300))")
    #expect(text.contains("20000 of 20000 downloads are left"), "\(text.suffix(300))")
  }

  @Test func whatItsParentIgnoresStaysIgnored() throws {
    let place = try Place { $0.bytesPerSecond = 4_000_000 }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments =
      ["-c", "trap '' HUP INT; exec \"$@\"", "-", Workspace.outrider, "fetch"] + place.base
      + [place.origin.url("/a.bin")]
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    while process.isRunning, place.origin.requests.isEmpty { usleep(1000) }
    for number in [SIGHUP, SIGINT] { kill(process.processIdentifier, number) }
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    #expect(place.data("a.bin") == FetchTests.whole)
  }

  @Test(arguments: [("000", 0o666), ("027", 0o640), ("077", 0o600), ("277", 0o600), ("777", 0o600)])
  func theMaskIsKept(mask: String, mode: UInt32) throws {
    let place = try Place()
    let words = place.base.joined(separator: " ")
    #expect(
      try FetchSurroundingsTests.shell("umask \(mask); exec $O fetch \(words) \(place.origin.url("/b.bin"))").status
        == 0)
    #expect(try Files.identity(of: "\(place.folder)/b.bin").mode & 0o777 == mode)
    #expect(try FetchSurroundingsTests.shell("find '\(place.folder)' ! -perm -600").output.isEmpty)
  }
}
