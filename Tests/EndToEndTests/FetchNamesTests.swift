import DevelopmentOrigin
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import outrider

/// What a command names: folders that go away, lists, and bytes that are no text.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchNamesTests {
  private typealias Place = FetchTests.Place

  private static func shell(_ script: String) throws -> Workspace.Finished {
    try Workspace.run(["-c", "O='\(Workspace.outrider)'; \(script)"], program: "/bin/bash")
  }

  @Test func aWorkingDirectoryThatIsGoneIsNotTheRoot() throws {
    let place = try Place()
    let (url, gone) = (place.origin.url("/b.bin"), "\(place.folder)/gone")
    let leave = "mkdir '\(gone)' && cd '\(gone)' && rmdir '\(gone)' &&"
    for options in ["--state '\(place.folder)/state'", "--to '\(place.folder)' --state state"] {
      let result = try Self.shell("\(leave) exec $O fetch \(url) \(options)")
      #expect(result.status == 66 && result.errors.contains("working directory is gone"), "\(result.errors)")
    }
    #expect(place.origin.requests.isEmpty)
    #expect(try Self.shell("\(leave) exec $O fetch \(url) \(place.base.joined(separator: " "))").status == 0)
  }

  @Test func allListsAreRead() throws {
    let place = try Place()
    for name in ["a", "b"] {
      try "# one\n\(place.origin.url("/\(name).bin"))\n"
        .write(toFile: "\(place.folder)/\(name)", atomically: false, encoding: .utf8)
    }
    let result = try place.fetch("--from", "\(place.folder)/b", "--from", "\(place.folder)/a", "--json")
    #expect(result.status == 0 && place.data("a.bin") != nil && place.data("b.bin") != nil, "\(result.errors)")
    let places = ["/b.bin\"", "/a.bin\""].map { result.output.range(of: "http\\S*\($0)", options: .regularExpression) }
    #expect(places.allSatisfy { $0 != nil } && places[0]!.lowerBound < places[1]!.lowerBound, "\(result.output)")
    let digest = String(repeating: "0", count: 64)
    #expect(try place.fetch(place.origin.url("/a.bin"), "--sha256", digest, "--sha256", digest).status == 64)
  }

  @Test func bytesThatAreNoTextAreRefused() throws {
    let place = try Place()
    let list = "\(place.folder)/list"
    let url = place.origin.url("/caf")
    try (Data("\(place.origin.url("/b.bin"))\n\(url)".utf8) + [0xe9]).write(to: URL(fileURLWithPath: list))
    let listed = try place.fetch("--from", list)
    #expect(listed.status == 64 && listed.errors.contains("line 2"), "\(listed.errors)")
    let named = try Self.shell("exec $O fetch \(url)$'\\xe9' \(place.base.joined(separator: " "))")
    #expect(named.status == 64 && named.errors.contains("UTF-8"), "\(named.errors)")
    #expect(place.origin.requests.isEmpty)
  }

  @Test func anotherSchemeIsRefusedBeforeAnythingBegins() throws {
    let place = try Place()
    let options = ["--to", "\(place.folder)/none", "--state", "\(place.folder)/state"]
    let ftp = try Workspace.run(["fetch", "ftp://example.com/x"] + options)
    #expect(ftp.status == 64 && ftp.errors.contains("asked by ftp") && !ftp.errors.contains("begins"), "\(ftp)")
    #expect(!Files.exists("\(place.folder)/none"))
  }

  /// A command that was killed has written down no times of change.
  @Test func aFileThatWasChangedAfterAKillIsNotComplete() throws {
    let place = try Place {
      $0.handler = { request, _ in
        var reply = Reply()
        reply.removedHeaders = ["Repr-Digest"]
        if request.path == "/a.bin" { reply.timing.beforeStatus = .seconds(600) }
        return reply
      }
    }
    let (path, url) = ("\(place.folder)/b.bin", place.origin.url("/b.bin"))
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + [url, place.origin.url("/a.bin")]
    let output = Pipe.own()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // Its path is told when the journal calls it finished.
    #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "\(path)\n")
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    #expect(try place.fetch(url).status == 0, "nothing happened to it")
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.write(contentsOf: Data("HELLO".utf8))
    try file.close()
    let result = try place.fetch(url)
    #expect(result.status == 1 && result.errors.contains("was changed after it was fetched"), "\(result.errors)")
  }

  @Test func aNameOfOnesOwn() throws {
    let place = try Place()
    let url = place.origin.url("/b.bin?token=1")
    let result = try place.fetch(url, "-o", "other ü.bin")
    #expect(result.status == 0 && place.data("other ü.bin") == Data("hello".utf8), "\(result.errors)")
    #expect(result.output == "\(place.folder)/other ü.bin\n" && place.data("b.bin") == nil)
    for name in ["", ".", "..", "a/", "a/..", "/a", String(repeating: "x", count: 256)] {
      let refused = try place.fetch(url, "--output", name)
      #expect(refused.status == 64, "\(name)")
      #expect(refused.errors.contains("256 bytes") == (name.utf8.count > 255), "\(refused.errors)")
    }
    #expect(try place.fetch(url, place.origin.url("/a.bin"), "-o", "x").status == 64)
    // The hidden folder's name.
    let reserved = try place.fetch(url, "-o", ".outrider")
    #expect(reserved.status == 1 && reserved.errors.contains(".outrider"), "\(reserved.errors)")
  }

  /// Something else brought it, or the journal is another one.
  @Test func aFileThatIsRightIsComplete() throws {
    let place = try Place()
    let (path, url) = ("\(place.folder)/b.bin", place.origin.url("/b.bin"))
    try "hello".write(toFile: path, atomically: false, encoding: .utf8)
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let result = try place.fetch(url, "--sha256", digest)
    #expect(result.status == 0 && result.output == "\(path)\n", "\(result.errors)")
    #expect(place.origin.requests.isEmpty)
    let json = try place.fetch(url, "--sha256", digest, "--json")
    #expect(json.status == 0 && json.output.contains(path), "\(json.output)")
    #expect(try place.fetch(url).status == 1, "without a digest it isn't known")
    try "HELLO".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(try place.fetch(url, "--sha256", digest).status == 1)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/zero")
    #expect(try place.fetch(url, "--sha256", digest).status == 1, "a link is no file")
  }

  @Test(arguments: [
    (["a.bin", "b.bin"], ["a.bin", "b.bin"]), (["a.bin", "a.bin", "a.bin"], ["a.bin", "a-2.bin", "a-3.bin"]),
    (["a", "a", ".a", ".a"], ["a", "a-2", ".a", ".a-2"]), (["a.tar.gz", "a.tar.gz"], ["a.tar.gz", "a-2.tar.gz"]),
    ([".tar.gz", ".tar.gz"], [".tar.gz", ".tar-2.gz"]),
    // A name that another URL has is that one's, wherever it stands.
    (["a.bin", "a.bin", "a-2.bin", "a.bin"], ["a.bin", "a-3.bin", "a-2.bin", "a-4.bin"]),
    (["a-2.bin", "a.bin", "a-2.bin", "a.bin"], ["a-2.bin", "a.bin", "a-2-2.bin", "a-3.bin"]),
    (["\u{e9}", "e\u{301}"], ["\u{e9}", "e\u{301}"]), ([], []),
  ])
  func namesAreToldApart(_ names: [String], _ distinct: [String]) {
    #expect(FetchNames.distinct(names).map { Array($0.utf8) } == distinct.map { Array($0.utf8) })
  }

  @Test func manyOfOneNameAreQuick() {
    let names = FetchNames.distinct(Array(repeating: "get", count: 200_000))
    #expect(names.last == "get-200000" && Set(names).count == 200_000)
  }

  @Test func filesOfOneNameAreFetchedAndFoundAgain() throws {
    let place = try Place {
      $0.handler = { request, _ in
        var reply = Reply()
        reply.body = .bytes(Array(request.target.utf8))
        return reply
      }
    }
    let urls = ["/x/get.bin?1", "/y/get.bin?2", "/x/get.bin?1", "/z/get-2.bin"].map(place.origin.url)
    for _ in 1...2 {
      let result = try place.fetch(urls[0], urls[1], urls[2], urls[3])
      #expect(result.status == 0, "\(result.errors)")
      #expect(
        Set(result.output.split(separator: "\n"))
          == Set(["get.bin", "get-3.bin", "get-2.bin"].map { "\(place.folder)/\($0)" }))
      #expect(place.origin.requests.count == 3)
    }
    #expect(
      place.data("get-3.bin") == Data("/y/get.bin?2".utf8) && place.data("get-2.bin") == Data("/z/get-2.bin".utf8))
  }

  @Test func theDirectoryIsMade() throws {
    let place = try Place()
    let url = place.origin.url("/b.bin")
    let options = ["--state", "\(place.folder)/state"]
    for _ in 1...2 {
      let result = try Workspace.run(["fetch", url, "--to", "\(place.folder)/new/../deep/er"] + options)
      #expect(result.status == 0 && result.output == "\(place.folder)/deep/er/b.bin\n", "\(result)")
    }
    #expect(place.origin.requests.count == 1)
    // What is wrong with the command is said before anything is made.
    #expect(try Workspace.run(["fetch", url, "--to", "\(place.folder)/none", "--user", "x"] + options).status == 64)
    #expect(!Files.exists("\(place.folder)/none"))
  }

  @Test func aFileThatIsNotThereIsToldAtOnce() throws {
    let place = try Place()
    let result = try place.fetch(place.origin.url("/none"))
    #expect(result.status == 1 && result.errors.contains("404"), "\(result.errors)")
    #expect(place.origin.requests.count == 1)
  }

  /// As pages do that want a login or a consent first.
  @Test func aPageThatSetsACookieIsPassed() throws {
    let place = try Place {
      $0.handler = { request, _ in
        guard request.path == "/b.bin", request.header("Cookie") == nil else { return nil }
        var reply = Reply()
        reply.redirect = .to("/b.bin")
        reply.setHeaders = [HeaderField("Set-Cookie", "consent=yes-indeed; Path=/")]
        return reply
      }
    }
    let result = try place.fetch(place.origin.url("/b.bin"), "--json")
    #expect(result.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(result.errors)")
    #expect(!(result.output + result.errors).contains("yes-indeed"))
  }
}
