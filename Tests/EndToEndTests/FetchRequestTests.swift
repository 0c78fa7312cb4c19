import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// What users of curl, wget and aria2 expect of requests, of standard output and of time.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchRequestTests {
  typealias Place = FetchTests.Place

  @Test func fieldsAreSent() throws {
    let place = try Place()
    let result = try place.fetch(
      place.origin.url("/b.bin"), "-H", "X-One: 1", "--header", "Accept-Language:de", "--user-agent", "me/2")
    #expect(result.status == 0, "\(result)")
    let request = try #require(place.origin.requests.first)
    #expect(request.header("X-One") == "1" && request.header("Accept-Language") == "de")
    #expect(request.header("User-Agent") == "me/2")
    for words in [["-H", "Range: bytes=0-1"], ["-H", "x"], ["-H", "A: b\r\nC: d"], ["--user-agent", "a\nb"]] {
      let wrong = try Workspace.run(["fetch", place.origin.url("/a.bin")] + place.base + words)
      #expect(wrong.status == 64, "\(words): \(wrong)")
    }
    #expect(place.origin.requests.count == 1)
  }

  @Test func anotherServerNeverSeesThem() throws {
    let other = try Place()
    let elsewhere = other.origin.url("/b.bin")
    let place = try Place { $0.handler = { _, _ in .with { $0.redirect = .to(elsewhere) } } }
    let result = try place.fetch(place.origin.url("/b.bin"), "-H", "Authorization: Bearer secret", "-v")
    #expect(result.status == 0 && place.origin.requests.first?.header("Authorization") == "Bearer secret", "\(result)")
    #expect(other.origin.requests.first.map { $0.header("Authorization") == nil } == true)
    #expect(!(result.output + result.errors).contains("secret"))
  }

  @Test func headsAreShownWithoutSecrets() throws {
    let place = try Place {
      $0.handler = { _, _ in
        .with { $0.setHeaders = [HeaderField("Set-Cookie", "a=secret"), HeaderField("X-Odd", "\u{9b}31m")] }
      }
    }
    let url = place.origin.url("/b.bin?token=secret")
    let result = try place.fetch(url, "-v", "-H", "Cookie: b=secret")
    #expect(result.status == 0 && result.output == "\(place.folder)/b.bin\n")
    let lines = result.errors.split(separator: "\n")
    #expect(lines.contains("> GET /b.bin?… HTTP/1.1") && lines.contains { $0.hasPrefix("< HTTP/1.1 200") }, "\(result)")
    #expect(lines.contains { $0 == "> Cookie: (hidden)" } && lines.contains { $0 == "< Set-Cookie: (hidden)" })
    #expect(!result.errors.contains("secret"))
    #expect(
      result.errors.unicodeScalars.allSatisfy { $0 == "\n" || !(0x80..<0xa0).contains($0.value) && $0.value >= 0x20 })
    #expect(try place.fetch(url, "-v", "-q").status == 64)
  }

  @Test func quietSaysNothingButErrors() throws {
    let place = try Place()
    let result = try place.fetch(place.origin.url("/b.bin"), "-q")
    #expect(result.status == 0 && result.errors.isEmpty && result.output == "\(place.folder)/b.bin\n", "\(result)")
    let failed = try place.fetch(place.origin.url("/none"), "-q")
    #expect(failed.status == 1 && failed.errors.contains("404") && failed.errors.split(separator: "\n").count == 1)
  }

  // MARK: Where it goes

  @Test func standardOutputGetsTheFileAndNothingElse() throws {
    let place = try Place()
    let state = ["--state", "\(place.folder)/state"]
    let result = try Workspace.run(["fetch", place.origin.url("/b.bin"), "-o", "-"] + state)
    #expect(result.status == 0 && result.output == "hello", "\(result)")
    let sum = try Workspace.run(
      [
        "-c",
        "'\(Workspace.outrider)' fetch '\(place.origin.url("/a.bin"))' -q -o - \(state.joined(separator: " ")) | sha256sum",
      ],
      program: "/bin/bash")
    let digest = Hexadecimal.text(Place.content.digest())
    #expect(sum.output.hasPrefix(digest) && sum.errors.isEmpty, "\(sum)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(place.folder)/state/output").isEmpty)
    // Nothing of what is wrong gets there.
    let zeros = String(repeating: "0", count: 64)
    let wrong = try Workspace.run(["fetch", place.origin.url("/b.bin"), "-o", "-", "--sha256", zeros] + state)
    #expect(wrong.status == 1 && wrong.output.isEmpty, "\(wrong)")
    for words in [["--json"], ["--to", "/tmp"], ["--force"], ["--content-disposition"]] {
      #expect(
        try Workspace.run(["fetch", place.origin.url("/b.bin"), "-o", "-"] + state + words).status == 64, "\(words)")
    }
  }

  @Test func whatStandardOutputDidNotTakeIsKept() throws {
    let place = try Place()
    let nowhere = try Workspace.run(["fetch", place.origin.url("/a.bin"), "-o", "-", "--state", "/dev/null"])
    #expect(nowhere.status == 73 && nowhere.errors.contains("--state") && !nowhere.errors.contains("--output"))
    let words = "'\(Workspace.outrider)' fetch '\(place.origin.url("/a.bin"))' -q -o - --state '\(place.folder)/state'"
    let full = try Workspace.run(["-c", "\(words) >/dev/full"], program: "/bin/bash")
    #expect(full.status == 74 && full.errors.contains("standard output"), "\(full)")
    let again = try Workspace.run(["-c", "\(words) | wc -c"], program: "/bin/bash")
    #expect(again.output.contains("5000000"), "\(again)")
    #expect(place.origin.requests.count == 2 && place.origin.requests.last?.header("If-None-Match") != nil)
  }

  @Test func aPathNamesTheDirectoryToo() throws {
    let place = try Place()
    let result = try place.fetch(place.origin.url("/b.bin"), "-o", "new/x.bin")
    #expect(result.status == 0 && result.output == "\(place.folder)/new/x.bin\n", "\(result)")
    let absolute = try Workspace.run(
      ["fetch", place.origin.url("/b.bin"), "-o", "\(place.folder)/y.bin", "--state", "\(place.folder)/state"])
    #expect(absolute.status == 0 && place.data("y.bin") == Data("hello".utf8), "\(absolute)")
    for name in ["x/", "x/..", "/", "\(place.folder)/z"] {
      #expect(try place.fetch(place.origin.url("/b.bin"), "-o", name).status == 64, "\(name)")
    }
  }

  @Test func jsonIsAStreamWhoseLastLineHasAll() throws {
    struct Line: Decodable {
      var event: String, id: Int64?, path: String?, bytes: Int64?, status: Int32?
    }
    let place = try Place { $0.handler = { request, _ in request.path == "/none" ? .status(410) : nil } }
    let result = try place.fetch(place.origin.url("/a.bin"), place.origin.url("/none"), "--json")
    let lines = try result.output.split(separator: "\n").map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
    let events = lines.map(\.event)
    #expect(events.prefix(2) == ["added", "added"] && events.last == "end" && lines.last?.status == 1, "\(events)")
    #expect(events.count { $0 == "finished" } == 1 && events.count { $0 == "failed" } == 1)
    let finished = try #require(lines.first { $0.event == "finished" })
    #expect(finished.path == "\(place.folder)/a.bin" && finished.bytes == 5_000_000)
    #expect(lines.dropLast().allSatisfy { $0.status == nil })
    let usage = try place.fetch("not a url", "--json")
    #expect(usage.output.split(separator: "\n").count == 1 && usage.output.contains(#""status":64"#), "\(usage)")
  }

  // MARK: Time

  @Test func itStopsInTimeAndGoesOn() throws {
    let place = try Place {
      $0.handler = { _, nth in nth == 1 ? .with { $0.ending = .init(.silence, after: .byte(3_000_000)) } : nil }
    }
    let stopped = try place.fetch(place.origin.url("/a.bin"), "--max-time", "1500ms", "--json")
    #expect(stopped.status == 75 && stopped.output.contains(#""status":75"#), "\(stopped)")
    let result = try place.fetch(place.origin.url("/a.bin"), "--max-time", "2m")
    #expect(result.status == 0 && place.data("a.bin") == FetchTests.whole, "\(result)")
    for time in ["0", "soon", "-1", "9000h"] {
      #expect(try place.fetch(place.origin.url("/a.bin"), "--max-time=\(time)").status == 64, "\(time)")
      #expect(try place.fetch(place.origin.url("/a.bin"), "--connect-timeout=\(time)").status == 64, "\(time)")
    }
  }

  /// It accepts, and never answers the greeting of TLS.
  @Test func connectingTakesAsLongAsIsSaid() throws {
    let place = try Place()
    let silent = try NetworkTests.Server(.ignores)
    defer { silent.stop() }
    let result = try place.fetch(
      "https://localhost:\(silent.port)/a.bin", "--foreground", "--retry", "0", "--connect-timeout", "200ms",
      "--max-time", "20s")
    #expect(result.status == 1, "with the default it would still connect when the time is over: \(result)")
  }

  @Test(arguments: [0, 1]) func soManyAttemptsAreMade(retries: Int) throws {
    let place = try Place { $0.handler = { _, _ in .status(500) } }
    let result = try place.fetch(place.origin.url("/a.bin"), "--foreground", "--retry", "\(retries)")
    #expect(result.status == 1 && place.origin.requests.count == retries + 1, "\(result)")
    #expect(try place.fetch(place.origin.url("/a.bin"), "--retry=-1").status == 64)
  }

  @Test(
    "a damaged journal is mended by fetch alone, and that is said",
    arguments: [["downloads", "list", "--fetch"], ["explain", "1"]])
  func damagedJournal(command: [String]) throws {
    let place = try Place()
    #expect(try place.fetch(place.origin.url("/b.bin")).status == 0)
    let state = "\(place.folder)/state"
    for name in try Files.names(in: state) where name.contains(".sqlite") || name.hasSuffix(".db") {
      try Data(repeating: 0x5a, count: 8192).write(to: URL(fileURLWithPath: "\(state)/\(name)"))
    }
    let end = try Workspace.run(command + ["--state", state])
    #expect(end.status == 73 && end.errors.contains("'outrider fetch … --start-fresh'"), "\(end)")
  }

  // MARK: The state folder

  @Test func whatAStateFolderHolds() throws {
    struct Row: Decodable { var id: Int64, state: String, path: String, url: String }
    let place = try Place {
      $0.handler = { request, _ in
        switch request.path {
        case "/none": .status(410)
        case "/a.bin": .with { $0.ending = .init(.silence, after: .byte(3_000_000)) }
        default: nil
        }
      }
    }
    let state = ["--state", "\(place.folder)/state"]
    func downloads(_ words: String...) throws -> Workspace.Finished { try Workspace.run(["downloads"] + words + state) }
    func rows() throws -> [Row] {
      try JSONDecoder().decode([Row].self, from: Data(try downloads("list", "--fetch", "--json").output.utf8))
    }
    for words in [
      ["list", "--fetch"], ["list", "--fetch", "--json"], ["cancel", "--fetch", "1"], ["forget", "--fetch", "1"],
    ] {
      let missing = try Workspace.run(["downloads"] + words + state)
      let isJSON = words.contains("--json")
      #expect(missing.status == 66 && missing.output.isEmpty != isJSON, "\(words): \(missing)")
      #expect(!isJSON || missing.output.hasPrefix("{\"error\""), "\(words): \(missing)")
      #expect(missing.errors.contains("isn't there: give --state"), "\(words): \(missing)")
    }
    #expect(!Files.exists("\(place.folder)/state"), "looking makes nothing")
    let other = try Workspace.run(["downloads", "list", "--fetch", "--state", place.folder])
    #expect(other.status == 66 && other.errors.contains("holds no journal"), "\(other)")
    _ = try place.fetch(
      place.origin.url("/b.bin"), place.origin.url("/none"), place.origin.url("/a.bin"), "--max-time", "6s")
    #expect(try rows().map(\.state) == ["finished", "failed", "open"])
    let table = try downloads("list", "--fetch")
    #expect(
      table.status == 0 && table.output.contains("\(place.folder)/b.bin") && table.output.hasPrefix("ID"), "\(table)")
    #expect(try downloads("forget", "--fetch", "3").status == 64, "it is open")
    #expect(try downloads("cancel", "--fetch", "1").status == 64, "it is over")
    for words in [
      ["cancel", "--fetch", "x"], ["forget", "1"], ["forget", "--fetch"], ["list", "--fetch", "--watch"],
    ] {
      #expect(try Workspace.run(["downloads"] + words + state).status == 64, "\(words)")
    }
    let cancelled = try downloads("cancel", "--fetch", "3", "--json")
    #expect(cancelled.status == 0 && cancelled.output.contains("cancelled"), "\(cancelled)")
    #expect(!Files.exists("\(place.folder)/.outrider"), "what was there of it is removed")
    #expect(try downloads("forget", "--fetch", "2").status == 0)
    #expect(try rows().map(\.id) == [1, 3])
    #expect(try downloads("forget", "--fetch", "--all").status == 0 && rows().isEmpty)
    #expect(place.data("b.bin") == Data("hello".utf8), "files stay")
  }

  @Test(
    "a failed download leaves one partial file at most, and cancel removes it as forget does",
    arguments: ["cancel", "forget"])
  func leftover(command: String) throws {
    let place = try Place {
      $0.handler = { _, nth in
        if nth > 2 { return .status(410) }
        return .with {
          // Two versions, each of which is cut.
          $0.setHeaders = [HeaderField("ETag", "\"\(nth)\"")]
          $0.removedHeaders = ["Repr-Digest"]
          $0.range = .ignored
          $0.ending = .init(.close, after: .byte(3_000_000))
        }
      }
    }
    func staged() throws -> [String] {
      let folder = "\(place.folder)/.outrider"
      return try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
        try Files.identity(of: "\(folder)/\(name)").size >= 3_000_000
      }
    }
    let state = ["--state", "\(place.folder)/state"]
    let failed = try place.fetch(place.origin.url("/a.bin"), "--foreground")
    #expect(failed.status == 1 && failed.errors.contains("the 3000000 bytes that are there are kept"), "\(failed)")
    #expect(try place.origin.requests.count == 3 && staged().count == 1)
    let done = try Workspace.run(["downloads", command, "--fetch", "1"] + state)
    #expect(done.status == 0 && !Files.exists("\(place.folder)/.outrider"), "\(done)")
    let list = try Workspace.run(["downloads", "list", "--fetch", "--json"] + state)
    #expect(list.status == 0 && list.output.filter { !$0.isWhitespace } == "[]", "\(list)")
  }

  @Test("what standard output didn't take is forgotten with its download") func forgetsUntakenOutput() throws {
    let place = try Place()
    let (outputs, state) = ("\(place.folder)/state/output", "--state '\(place.folder)/state'")
    let url = place.origin.url("/a.bin")
    // More than a pipe holds.
    _ = try Workspace.run(
      ["-c", "'\(Workspace.outrider)' fetch '\(url)' -o - \(state) | head -c 10"], program: "/bin/bash")
    #expect(try Files.names(in: outputs).count == 1)
    let end = try Workspace.run(["downloads", "forget", "--fetch", "--all", "--state", "\(place.folder)/state"])
    #expect(try end.status == 0 && Files.names(in: outputs).isEmpty, "\(end)")
  }
}
