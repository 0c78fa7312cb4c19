import DevelopmentOrigin
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import outrider

/// Several commands at once and one after another, with the default state folder.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchSideBySideTests {
  private typealias Place = FetchTests.Place

  private static func environment(_ place: Place) -> [String: String] { ["XDG_STATE_HOME": "\(place.folder)/home"] }

  private static func run(_ place: Place, _ arguments: String...) throws -> Workspace.Finished {
    try Workspace.run(["fetch", "--to", place.folder] + arguments, environment: environment(place))
  }

  /// Starts a fetch and waits until the origin was asked for `path`.
  private static func begin(_ place: Place, _ path: String) throws -> TestProcess {
    let process = TestProcess()
    process.environment = ProcessInfo.processInfo.environment.merging(environment(place)) { $1 }
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch", "--to", place.folder, place.origin.url(path)]
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let before = place.origin.requests(for: path).count
    try process.run()
    while process.isRunning, place.origin.requests(for: path).count == before { usleep(1000) }
    return process
  }

  private static func end(_ process: TestProcess) {
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
  }

  /// `/slow` begins and never ends; `/a.bin` is cut off at first.
  private static func place() throws -> Place {
    try Place {
      $0.resources["/slow"] = Resource(Place.content)
      $0.handler = { request, nth in
        var reply = Reply()
        if request.path == "/slow" { reply.ending = .init(.silence, after: .byte(10)) }
        if request.path == "/a.bin", request.header("Range") == nil {
          reply.ending = .init(.silence, after: .byte(4 << 20))
        }
        return reply
      }
    }
  }

  @Test("of equal commands that begin at the same instant one fetches, and the others leave nothing behind")
  func atOnce() throws {
    let place = try Place {
      $0.handler = { _, _ in
        var reply = Reply()
        reply.timing.beforeStatus = .seconds(2)
        return reply
      }
    }
    let all = try (0..<5).map { _ in
      let process = TestProcess()
      process.environment = ProcessInfo.processInfo.environment.merging(Self.environment(place)) { $1 }
      process.executableURL = URL(fileURLWithPath: Workspace.outrider)
      process.arguments = ["fetch", "--to", place.folder, place.origin.url("/a.bin")]
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      return process
    }
    for process in all { try process.run() }
    for process in all { process.waitUntilExit() }
    #expect(place.origin.requests(for: "/a.bin").count == 1 && place.data("a.bin") == FetchTests.whole)
    #expect(all.count { $0.terminationStatus == 0 } >= 1 && place.stagedBytes == 0)
    #expect(try Self.run(place, place.origin.url("/a.bin")).status == 0)
  }

  @Test func bothWorkAndFindTheirFilesAgain() throws {
    let place = try Self.place()
    let first = try Self.begin(place, "/slow")
    let second = try Self.run(place, place.origin.url("/b.bin"))
    #expect(second.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(second.errors)")
    #expect(second.errors.contains("process \(first.processIdentifier) has the state folder"), "\(second.errors)")
    #expect(second.errors.contains("home/outrider/fetch-2"), "\(second.errors)")
    // Beside the other, and alone: what one of them fetched is complete.
    for isAlone in [false, true] {
      if isAlone { Self.end(first) }
      let again = try Self.run(place, place.origin.url("/b.bin"))
      #expect(again.status == 0 && again.output == "\(place.folder)/b.bin\n", "\(again.errors)")
    }
    #expect(place.origin.requests(for: "/b.bin").count == 1)
  }

  @Test func whatAnotherFetchesIsNotFetchedTwice() throws {
    let place = try Self.place()
    let first = try Self.begin(place, "/slow")
    defer { Self.end(first) }
    let same = try Self.run(place, place.origin.url("/slow"), place.origin.url("/b.bin"))
    #expect(same.status == 1 && same.errors.contains("process \(first.processIdentifier) fetches it"), "\(same.errors)")
    #expect(place.data("b.bin") != nil && place.origin.requests(for: "/slow").count == 1)
    let other = try Self.run(place, place.origin.url("/b.bin"), "--output", "slow")
    #expect(other.status == 1 && other.errors.contains("fetches another URL to that file"), "\(other.errors)")
  }

  @Test("what was killed before anything of it was certain leaves nothing behind") func killedEarly() throws {
    let place = try Place {
      $0.resources["/slow"] = Resource(Place.content)
      $0.handler = { request, nth in
        guard nth == 1 || request.path == "/slow" else { return nil }
        return .with { $0.ending = .init(.silence, after: .byte(request.path == "/slow" ? 10 : 500_000)) }
      }
    }
    let first = try Self.begin(place, "/slow")
    let second = try Self.begin(place, "/a.bin")
    while second.isRunning, place.stagedBytes < 400_000 { usleep(1000) }
    kill(second.processIdentifier, SIGKILL)
    second.waitUntilExit()
    Self.end(first)
    let third = try Self.run(place, place.origin.url("/a.bin"))
    #expect(third.status == 0 && place.data("a.bin") == FetchTests.whole, "\(third.errors)")
    // What the first was about is still open.
    let base = "\(place.folder)/.outrider"
    let left = try FileManager.default.subpathsOfDirectory(atPath: base).compactMap { name in
      try? Files.identity(of: "\(base)/\(name)")
    }
    #expect(left.filter { $0.isRegularFile && $0.size > 100_000 }.isEmpty)
  }

  @Test func whatWasInterruptedBesideAnotherGoesOn() throws {
    let place = try Self.place()
    let first = try Self.begin(place, "/slow")
    let second = try Self.begin(place, "/a.bin")
    while second.isRunning, place.stagedBytes < 4 << 20 { usleep(1000) }
    Self.end(second)
    #expect(second.terminationStatus == 130)
    Self.end(first)
    // The first folder is free now, and the partial file is known to the other.
    let third = try Self.run(place, place.origin.url("/a.bin"))
    #expect(third.status == 0 && place.data("a.bin") == FetchTests.whole, "\(third.errors)")
    let requests = place.origin.requests(for: "/a.bin")
    #expect(requests.count == 2 && requests.last?.header("Range") != nil, "\(requests.map { $0.header("Range") })")
    let fourth = try Self.run(place, place.origin.url("/a.bin"))
    #expect(fourth.status == 0 && place.origin.requests(for: "/a.bin").count == 2)
  }
}
