import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

/// What an earlier run left, what its user made of it since, and what became of the runs in between.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchOwnFileTests {
  typealias Place = FetchTests.Place

  /// Versions of a file that are as long as each other, one of which is sent slowly.
  private final class Versions: Sendable {
    let current = Mutex(1)
    let stalls = Mutex(false)
    static let contents = (1...3).map { Content.pseudoRandom(seed: UInt64($0), count: 3_000_000) }

    func configure(_ configuration: inout OriginConfiguration) {
      configuration.resources["/v.bin"] = Resource(versions: Self.contents)
      configuration.handler = { [self] request, _ in
        guard request.path == "/v.bin" else { return nil }
        let isSlow = stalls.withLock { exchange(&$0, with: false) }
        return current.withLock { version in
          .with {
            $0.entity = .init(version: version)
            if isSlow { $0.ending = .init(.silence, after: .byte(2_500_000)) }
          }
        }
      }
    }

    static func content(_ version: Int) -> Data { Data(contents[version - 1].bytes(in: 0..<3_000_000)) }
  }

  /// Changes bytes of a file in its place, as a database or a virtual machine does with its image.
  private static func edit(_ path: String) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seek(toOffset: 1000)
    try file.write(contentsOf: Data("mine".utf8))
    try file.close()
  }

  @Test("what its user changed in place while an update was interrupted isn't replaced", arguments: [false, true])
  func changedInPlace(restoresTime: Bool) throws {
    let versions = Versions()
    let place = try Place(versions.configure)
    let (url, path) = (place.origin.url("/v.bin"), "\(place.folder)/v.bin")
    #expect(try place.fetch(url).status == 0)
    let before = try FileManager.default.attributesOfItem(atPath: path)
    versions.current.withLock { $0 = 2 }
    versions.stalls.withLock { $0 = true }
    #expect(try place.interrupt([url, "--if-changed"]) == 130)
    try Self.edit(path)
    // Some programs hide what they changed.
    if restoresTime {
      try FileManager.default.setAttributes([.modificationDate: before[.modificationDate] as Any], ofItemAtPath: path)
    }
    let mine = place.data("v.bin")
    let result = try place.fetch(url, "--if-changed")
    #expect(result.status == 1 && place.data("v.bin") == mine, "\(result)")
    #expect(try place.fetch(url, "--force").status == 0 && place.data("v.bin") == Versions.content(2))
  }

  @Test(
    "an update that was interrupted replaces what nobody touched, and another command finds that complete",
    arguments: ["--if-changed", "--force"])
  func interrupted(option: String) throws {
    let versions = Versions()
    let place = try Place(versions.configure)
    let url = place.origin.url("/v.bin")
    #expect(try place.fetch(url).status == 0)
    versions.current.withLock { $0 = 2 }
    versions.stalls.withLock { $0 = true }
    #expect(try place.interrupt([url, option]) == 130)
    let count = place.origin.requests.count
    let there = try place.fetch(url)
    #expect(there.status == 0 && place.origin.requests.count == count, "it is complete as it was: \(there)")
    #expect(place.data("v.bin") == Versions.content(1))
    let result = try place.fetch(url, "--if-changed")
    #expect(result.status == 0 && place.data("v.bin") == Versions.content(2), "\(result)")
    #expect(place.origin.requests.last?.header("Range") != nil, "it went on")
  }

  @Test("a new list of checksums has an outdated file brought up to date, and no other one replaced")
  func outdated() throws {
    let versions = Versions()
    let place = try Place(versions.configure)
    let (url, path) = (place.origin.url("/v.bin"), "\(place.folder)/v.bin")
    func list(_ version: Int) throws -> String {
      let digest = Hexadecimal.text(Versions.contents[version - 1].digest())
      try "\(digest)  v.bin\n".write(toFile: "\(place.folder)/SUMS", atomically: false, encoding: .utf8)
      return "\(place.folder)/SUMS"
    }
    #expect(try place.fetch(url, "--checksums", try list(1)).status == 0)
    versions.current.withLock { $0 = 2 }
    let kept = try place.fetch(url, "--checksums", try list(2))
    #expect(kept.status == 1 && kept.errors.contains("--force") && place.data("v.bin") == Versions.content(1))
    let updated = try place.fetch(url, "--checksums", try list(2), "--if-changed")
    #expect(updated.status == 0 && place.data("v.bin") == Versions.content(2), "\(updated)")
    try Self.edit(path)
    versions.current.withLock { $0 = 3 }
    let mine = place.data("v.bin")
    #expect(try place.fetch(url, "--checksums", try list(3), "--if-changed").status == 1)
    #expect(place.data("v.bin") == mine)
  }

  @Test("a command that can't go on gives up nothing of another URL's file") func othersAreKept() throws {
    let versions = Versions()
    let place = try Place(versions.configure)
    let url = place.origin.url("/v.bin")
    try #require(try place.fetch(url, "-o", "x").status == 0)
    versions.stalls.withLock { $0 = true }
    #expect(try place.interrupt([place.origin.url("/v.bin?2"), "-o", "x", "--force"]) == 130)
    #expect(try place.fetch(url, "-o", "x").status == 0)
    #expect(place.stagedBytes > 2_000_000, "it is still there")
  }

  // MARK: Standard output

  @Test("what one request brought is handed to no other, and isn't handed over when it is outdated") func output()
    throws
  {
    let versions = Versions()
    let place = try Place(versions.configure)
    let words = "'\(Workspace.outrider)' fetch '\(place.origin.url("/v.bin"))' -q -o - --state '\(place.folder)/state'"
    func read(_ options: String, _ reader: String) throws -> Workspace.Finished {
      try Workspace.run(["-c", "set -o pipefail; \(words) \(options) | \(reader)"], program: "/bin/bash")
    }
    func sum(_ version: Int) -> String { Hexadecimal.text(Versions.contents[version - 1].digest()) }
    let cut = try read("", "head -c 5 >/dev/null")
    #expect(cut.status == 74 && cut.errors.isEmpty, "a reader that goes away has what it wanted: \(cut)")
    #expect(try read("-H 'Accept-Language: de'", "sha256sum").output.hasPrefix(sum(1)))
    #expect(place.origin.requests.last?.header("Accept-Language") == "de", "it was asked for itself")
    versions.current.withLock { $0 = 2 }
    #expect(try read("", "sha256sum").output.hasPrefix(sum(2)))
  }

  @Test("a signal and the time limit end a command whose reader stands still", arguments: [SIGTERM, SIGINT, 0])
  func readerStandsStill(signal: Int32) throws {
    let place = try Place()
    let process = TestProcess()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments =
      ["fetch", place.origin.url("/a.bin"), "-q", "-o", "-", "--state", "\(place.folder)/state"]
      + (signal == 0 ? ["--max-time", "1s"] : [])
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    // It hands over when there is something to read, of which nobody reads more.
    #expect(pipe.fileHandleForReading.readData(ofLength: 1).count == 1)
    if signal != 0 { kill(process.processIdentifier, signal) }
    process.waitUntilExit()
    #expect(process.terminationStatus == (signal == SIGINT ? 130 : 75))
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(place.folder)/state/output").count == 1, "it stays")
  }

  // MARK: Large files that are there

  @Test("a signal and the time limit end a command that compares a file", arguments: [SIGINT, 0])
  func comparesForLong(signal: Int32) throws {
    let place = try Place()
    let path = "\(place.folder)/b.bin"
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    // As long to read as it takes, and nothing on the disk.
    #expect(truncate(path, 1 << 40) == 0)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments =
      ["fetch", place.origin.url("/b.bin"), "--sha256", String(repeating: "a", count: 64)] + place.base
      + (signal == 0 ? ["--max-time", "300ms"] : [])
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    if signal != 0 {
      #expect(becomes(within: .seconds(30)) { Self.hasOpen(process.processIdentifier, path) })
      kill(process.processIdentifier, signal)
    }
    process.waitUntilExit()
    #expect(process.terminationStatus == (signal == SIGINT ? 130 : 75))
  }

  private static func hasOpen(_ process: Int32, _ path: String) -> Bool {
    let names = (try? Files.names(in: "/proc/\(process)/fd")) ?? []
    return names.contains { Files.link("/proc/\(process)/fd/\($0)") == path }
  }

  @Test("a command that compares a file keeps no other one waiting") func nobodyWaits() throws {
    let place = try Place()
    let path = "\(place.folder)/large"
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    #expect(truncate(path, 1 << 40) == 0)
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_STATE_HOME"] = "\(place.folder)/home"
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.environment = environment
    process.arguments = [
      "fetch", place.origin.url("/a.bin"), "-o", path, "--sha256", String(repeating: "a", count: 64),
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer { process.terminate() }
    #expect(becomes(within: .seconds(30)) { Self.hasOpen(process.processIdentifier, path) })
    let turn = "\(place.folder)/home/outrider/fetch/turn"
    let lock = try OwnedDescriptor.open(turn, O_RDWR | O_CREAT)
    #expect(flock(lock.number, LOCK_EX | LOCK_NB) == 0, "the turn is free while it compares")
    flock(lock.number, LOCK_UN)
    let other = try Workspace.run(
      ["fetch", place.origin.url("/b.bin"), "--to", place.folder],
      environment: ["XDG_STATE_HOME": "\(place.folder)/home"])
    #expect(other.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(other)")
    #expect(process.isRunning)
  }
}
