import AssetModel
import AssetStore
import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// `outrider fetch` and `explain` as people use them.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchTests {
  final class Place {
    let folder: String
    let origin: Origin
    static let content = Content.pseudoRandom(seed: 5, count: 5_000_000)

    init(_ configure: (inout OriginConfiguration) -> Void = { _ in }) throws {
      folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-fetch-")
      origin = try Origin {
        $0.resources["/a.bin"] = Resource(Self.content)
        $0.resources["/b.bin"] = Resource(.text("hello"))
        configure(&$0)
      }
    }

    deinit {
      origin.stop()
      Files.removeTree(folder)
    }

    var base: [String] { ["--to", folder, "--state", "\(folder)/state"] }
    func fetch(_ arguments: String...) throws -> Workspace.Finished { try Workspace.run(["fetch"] + base + arguments) }

    /// Begins a fetch that draws on a terminal; the caller closes that.
    func fetch(
      columns: UInt16, terminal kind: String = "xterm", _ arguments: String...
    ) throws -> (process: TestProcess, terminal: Int32) {
      var (terminal, end): (Int32, Int32) = (-1, -1)
      var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      try #require(openpty(&terminal, &end, nil, nil, &size) == 0)
      let process = TestProcess()
      process.executableURL = URL(fileURLWithPath: Workspace.outrider)
      process.arguments = ["fetch"] + base + arguments
      process.environment = ProcessInfo.processInfo.environment.merging(["TERM": kind]) { $1 }
      process.standardError = FileHandle(fileDescriptor: end, closeOnDealloc: true)
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      return (process, terminal)
    }

    /// Of the largest file that isn't complete.
    var stagedBytes: Int64 {
      let base = "\(folder)/.outrider"
      let names = (try? FileManager.default.subpathsOfDirectory(atPath: base)) ?? []
      return names.compactMap { try? Files.identity(of: "\(base)/\($0)") }.filter(\.isRegularFile).map(\.size).max()
        ?? 0
    }

    /// Ends a fetch when there is something to keep of its file: two MiB. Returns its status.
    func interrupt(by signal: Int32 = SIGINT, _ arguments: [String]) throws -> Int32 {
      let process = TestProcess()
      process.executableURL = URL(fileURLWithPath: Workspace.outrider)
      process.arguments = ["fetch"] + base + arguments
      process.standardError = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      while process.isRunning, stagedBytes < 2 << 20 { usleep(1000) }
      kill(process.processIdentifier, signal)
      process.waitUntilExit()
      return process.terminationStatus
    }

    func data(_ name: String) -> Data? { FileManager.default.contents(atPath: "\(folder)/\(name)") }
  }

  /// Of a stream of objects: the one with all downloads.
  static func lastLine(_ output: String) -> Data { Data((output.split(separator: "\n").last ?? "").utf8) }

  static let whole = Data(Place.content.bytes(in: 0..<Place.content.count))

  @Test func fetchesAndDoesNothingTwice() throws {
    let place = try Place()
    let first = try place.fetch(place.origin.url("/a.bin"), place.origin.url("/b.bin"))
    #expect(first.status == 0, "\(first.errors)")
    #expect(Set(first.output.split(separator: "\n")) == ["\(place.folder)/a.bin", "\(place.folder)/b.bin"])
    #expect(place.data("a.bin") == Self.whole && place.data("b.bin") == Data("hello".utf8))
    let second = try place.fetch(place.origin.url("/a.bin"))
    #expect(second.status == 0 && place.origin.requests.count == 2)
    #expect(!Files.exists("\(place.folder)/.outrider"), "nothing is left of the work")
  }

  @Test(
    "a folder or a pipe that has a file's name stays, whatever is asked, and no server is",
    arguments: [[], ["--force"], ["--if-changed"]])
  func noFileIsThere(options: [String]) throws {
    let place = try Place()
    #expect(mkfifo("\(place.folder)/a.bin", 0o600) == 0 && mkdir("\(place.folder)/b.bin", 0o700) == 0)
    // The latter leads to a file, as /dev/stdout may.
    for (name, target) in [("null", "/dev/null"), ("self", "/proc/self/exe")] {
      #expect(symlink(target, "\(place.folder)/\(name)") == 0)
    }
    for (url, name) in [("/a.bin", "a.bin"), ("/b.bin", "b.bin"), ("/a.bin", "null"), ("/a.bin", "self")] {
      let end = try Workspace.run(
        ["fetch", place.origin.url(url), "-o", "\(place.folder)/\(name)", "--state", "\(place.folder)/state"] + options)
      #expect(end.status == 1 && end.errors.contains(name) && !end.errors.contains("--force"), "\(end)")
    }
    #expect(place.origin.requests.isEmpty && Files.mode(of: "\(place.folder)/a.bin").map { $0 & S_IFMT } == S_IFIFO)
    #expect(Files.link("\(place.folder)/self") == "/proc/self/exe" && Files.isFolder("\(place.folder)/b.bin") == true)
  }

  @Test func tellsInJSON() throws {
    struct Report: Decodable {
      struct Row: Decodable { var id: Int64, state: String, bytes: Int64, reason: String? }
      var downloads: [Row]
      var status: Int32
    }
    let place = try Place { $0.handler = { request, _ in request.path == "/b.bin" ? .status(410) : nil } }
    let result = try place.fetch(place.origin.url("/a.bin"), place.origin.url("/b.bin"), "--json")
    let report = try JSONDecoder().decode(Report.self, from: Self.lastLine(result.output))
    #expect(result.status == 1 && report.status == 1)
    #expect(report.downloads.map(\.state) == ["finished", "failed"] && report.downloads[1].reason == "gone")
    #expect(result.errors.contains("/b.bin"), "the failed one is named")
    let explained = try Workspace.run([
      "explain", "\(report.downloads[1].id)", "--state", "\(place.folder)/state", "--json",
    ])
    #expect(explained.status == 0 && explained.output.contains("\"gone\""))
    let named = try Workspace.run(["explain", "b.bin", "--state", "\(place.folder)/state"])
    #expect(named.status == 66 && named.errors.contains("its downloads have numbers"), "\(named)")
    #expect(!Files.exists("\(place.folder)/state/apps"), "no service is started there")
  }

  @Test("a password in a URL is refused, and is neither shown nor kept") func passwordInURL() throws {
    let place = try Place()
    let url = place.origin.url("/b.bin").replacingOccurrences(of: "://", with: "://me:sEcReT@")
    let result = try place.fetch(url, "--json")
    #expect(result.status == 1 && result.output.contains("--user NAME:PASSWORD"), "\(result)")
    #expect(!(result.output + result.errors).contains("sEcReT"))
    let state = try FileManager.default.contentsOfDirectory(atPath: "\(place.folder)/state")
    for name in state {
      let data = try Data(contentsOf: URL(fileURLWithPath: "\(place.folder)/state/\(name)"))
      #expect(data.range(of: Data("sEcReT".utf8)) == nil, "\(name)")
    }
    #expect(place.origin.requests.isEmpty)
  }

  @Test("a number with more digits than any is no download, and starts no service") func numberBeyondAll() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let explained = try Workspace.run(["explain", "99999999999999999999", "--state", "\(folder)/state"])
    #expect(explained.status == 66 && explained.output.isEmpty)
    #expect(explained.errors == "outrider: there is no download 99999999999999999999: no number is as high\n")
    #expect(!Files.exists("\(folder)/state"))
  }

  @Test func attemptsThatFailedAreRemembered() throws {
    let place = try Place { $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(3 << 20)) : nil } }
    let result = try place.fetch(place.origin.url("/a.bin"), "--foreground")
    #expect(result.status == 0 && place.data("a.bin") == Self.whole)
    struct Report: Decodable {
      struct Line: Decodable { var bytes: Int64, outcome: String }
      var code: String
      var attempts: [Line]
      var holder: Int32?
    }
    let explained = try Workspace.run(["explain", "1", "--state", "\(place.folder)/state", "--json"])
    let report = try JSONDecoder().decode(Report.self, from: Data(explained.output.utf8))
    #expect(report.code == "finished" && report.holder == nil)
    #expect(report.attempts.count == 1 && (report.attempts.first?.bytes ?? 0) >= 3 << 20, "\(explained.output)")
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGKILL]) func goesOnWhereItWasInterrupted(signal: Int32) throws {
    let place = try Place { $0.bytesPerSecond = 4_000_000 }
    let status = try place.interrupt(by: signal, [place.origin.url("/a.bin"), "--foreground"])
    #expect(status == (signal == SIGINT ? 130 : signal == SIGTERM ? 75 : SIGKILL))
    if signal != SIGKILL {
      let id = try Workspace.run(["explain", "1", "--state", "\(place.folder)/state"])
      #expect(id.status == 0 && id.output.hasPrefix("queued"))
    }
    let again = try place.fetch(place.origin.url("/a.bin"), "--foreground")
    #expect(again.status == 0, "\(again.errors)")
    #expect(place.data("a.bin") == Self.whole)
    if signal != SIGKILL { #expect(place.origin.requests.last?.header("Range") != nil) }
  }

  @Test("a signed URL that has expired fails; another one of the same file goes on from what is there")
  func signedURLExpires() throws {
    let place = try Place {
      $0.handler = { request, nth in
        .with {
          $0.removedHeaders = ["Repr-Digest"]
          if nth == 1 { $0.ending = .init(.close, after: .byte(3 << 20)) }
          if nth > 1, request.query == "signature=1" { $0.status = 403 }
        }
      }
    }
    let digest = Hexadecimal.text(Place.content.digest())
    let first = try place.fetch(place.origin.url("/a.bin?signature=1"), "--sha256", digest, "--foreground")
    #expect(first.status == 1 && first.errors.contains("403") && first.errors.contains("kept"), "\(first.errors)")
    let second = try place.fetch(place.origin.url("/a.bin?signature=2"), "--sha256", digest, "--foreground")
    #expect(second.status == 0 && place.data("a.bin") == Self.whole, "\(second.errors)")
    #expect(place.origin.requests.count == 3 && place.origin.requests.last?.header("Range") == "bytes=3145728-")
    #expect(!Files.exists("\(place.folder)/.outrider"), "nothing is left of the work")
  }

  @Test func anotherCommandLeavesItAlone() throws {
    let place = try Place {
      $0.handler = { request, _ in
        request.path == "/a.bin" ? .with { $0.ending = .init(.silence, after: .byte(3_000_000)) } : nil
      }
    }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + [place.origin.url("/a.bin")]
    process.standardError = FileHandle.nullDevice
    try process.run()
    while process.isRunning, place.origin.requests.isEmpty { usleep(1000) }
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    #expect(try place.fetch(place.origin.url("/b.bin")).status == 0)
    #expect(place.origin.requests(for: "/a.bin").count == 1, "what another command left isn't taken up")
  }

  @Test func holdsTheFileToItsDigest() throws {
    let place = try Place()
    let wrong = try place.fetch(place.origin.url("/b.bin"), "--sha256", String(repeating: "0", count: 64))
    #expect(wrong.status == 1 && place.data("b.bin") == nil)
    for digest in [
      String(repeating: "0", count: 64), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    ] {
      #expect(wrong.errors.contains(digest), "\(wrong.errors)")
    }
    let explained = try Workspace.run(["explain", "1", "--state", "\(place.folder)/state"])
    #expect(explained.output.contains("tried "), "\(explained.output)")
    let right = try place.fetch(
      place.origin.url("/b.bin"), "--sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
    #expect(right.status == 0)
  }

  @Test func saysWhatIsWrong() throws {
    let place = try Place()
    let url = place.origin.url("/a.bin")
    for (arguments, status, text) in [
      (["not a url"], 64, "URL"), ([url, "--sha256", "xyz"], 64, "SHA-256"),
      ([url, "--limit-rate", "quick"], 64, "rate"),
      ([url, "--state", ""], 64, "--state"), ([url, "--to", ""], 64, "--to"),
      ([url, "--to", "/etc/hostname"], 66, "directory"), ([url, "--to", "/proc/x/y"], 73, "can't be made"),
      ([url, "--cacert", "/nonexistent.pem"], 66, "/nonexistent.pem"), ([url, "--cacert", "/tmp"], 66, "/tmp"),
      ([url, "--cacert", "/etc/passwd"], 66, "no certificate"),
      ([url, "--token-file", "/etc/passwd"], 64, "one token"),
      ([url, "--token-file", "/nonexistent"], 66, "--token-file /nonexistent: No such file or directory"),
      ([url, "--token-file", "/tmp"], 66, "--token-file /tmp: Is a directory"),
      ([url, "--token-file", "/dev/null"], 66, "--token-file /dev/null: is empty"),
      ([url, "--cert", "/nonexistent"], 66, "--cert /nonexistent: No such file or directory"),
      ([url, "--checksums", "/nonexistent"], 66, "--checksums /nonexistent: No such file or directory"),
      ([url, "--checksums", "/dev/null"], 66, "--checksums /dev/null: is empty"),
      ([url, "--cacert", "/nonexistent"], 66, "--cacert /nonexistent: No such file or directory"),
      (["--from", "/nonexistent"], 66, "--from /nonexistent: No such file or directory"),
      (["--from", "/dev/null"], 66, "--from /dev/null: names no URL"),
      ([url, "--from", "/tmp"], 66, "directory"), ([url, "--from", "/dev/null"], 66, "/dev/null"),
      (["http://example.com/x"], 1, "plain http"),
      (["https://10.0.0.1/x"], 1, "--allow-private"),
      (["ftp://example.com/x"], 64, "https"), (["https://user:secret@example.com/x"], 1, "user name"), ([], 64, "URL"),
    ] as [([String], Int32, String)] {
      let result = try Workspace.run(["fetch"] + place.base + arguments)
      #expect(
        result.status == status && result.errors.contains(text), "\(arguments): \(result.status) \(result.errors)")
      #expect(!result.errors.contains("secret"))
    }
    #expect(try Workspace.run(["explain", "7", "--state", "\(place.folder)/state"]).status == 66)
    let missing = try Workspace.run(["explain", "7", "--state", "\(place.folder)/none"])
    let listed = try Workspace.run(["downloads", "list", "--fetch", "--state", "\(place.folder)/none"])
    #expect(missing.status == 66 && missing.errors == listed.errors, "\(missing)")
    #expect(missing.errors.contains("the state folder \(place.folder)/none isn't there"), "\(missing.errors)")
  }

  @Test func neverReplacesAndNeverFollowsANameFromTheNetwork() throws {
    let place = try Place {
      $0.resources["/%2e%2e%2fetc"] = Resource(.text("x"))
      $0.resources["/../etc"] = Resource(.text("x"))
    }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(place.folder)/b.bin"))
    let result = try place.fetch(place.origin.url("/b.bin"), place.origin.url("/a.bin"), "--json")
    #expect(result.status == 1 && result.errors.contains("replaced") && place.data("b.bin") == Data("mine".utf8))
    #expect(place.data("a.bin") == Self.whole, "the others are fetched")
    let report = try JSONDecoder().decode(Report.self, from: Self.lastLine(result.output))
    #expect(report.downloads.map(\.state) == ["failed", "finished"] && report.downloads[0].id == nil)
  }

  @Test func whatIsTooLongFailsAlone() throws {
    let place = try Place()
    let long = place.origin.url("/a.bin?" + String(repeating: "a", count: 9000))
    let result = try place.fetch(long, place.origin.url("/b.bin"))
    #expect(result.status == 1 && result.errors.contains("8192"), "\(result.errors)")
    #expect(place.data("b.bin") == Data("hello".utf8))
  }

  struct Report: Decodable {
    struct Row: Decodable {
      var state: String
      var id: Int64?
      var reason: String?
      var detail: String?
      var until: String?
    }
    var downloads: [Row]
    var status: Int32
  }

  /// What `kill -9` between the name and the journal's last word leaves.
  @Test func aFileThatOnlyHasToBeCalledDone() throws {
    let place = try Place()
    let (url, path) = (place.origin.url("/b.bin"), "\(place.folder)/b.bin")
    try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
    try Files.makeDirectories("\(place.folder)/state", mode: 0o700)
    let store = try AssetStore(opening: "\(place.folder)/state")
    let specification = DownloadSpecification(
      app: "fetch", identifier: path, url: url, transferClass: .background, directory: place.folder, fileName: "b.bin")
    let id = try #require(
      try store.add([specification], now: StoredMoment(bootIdentifier: "", boot: 0, wall: 0))[0].job)
    var job = try #require(try store.job(id))
    job.state = .verified
    (job.publishedInode, job.finalSize) = (try Files.identity(of: path).inode, 5)
    try store.commit([.job(job)])
    try store.close()
    let result = try place.fetch(url)
    #expect(result.status == 0 && result.output == "\(path)\n", "\(result.errors)")
    try Files.makeDirectories("\(place.folder)/.outrider", mode: 0o700)
    #expect(try place.fetch(url).status == 0 && place.origin.requests.isEmpty)
    #expect(!Files.exists("\(place.folder)/.outrider"))
  }

  @Test func aListNamesItsLines() throws {
    let place = try Place()
    func list(_ text: String) throws -> Workspace.Finished {
      try text.write(toFile: "\(place.folder)/list", atomically: false, encoding: .utf8)
      return try place.fetch("--from", "\(place.folder)/list")
    }
    let (a, b) = (place.origin.url("/a.bin"), place.origin.url("/b.bin"))
    let bad = try list("\(a)\n\nhtt p://x\n")
    #expect(bad.status == 64 && bad.errors.contains("line 3"), "\(bad.errors)")
    #expect(try list("# nothing\n\t\n").status == 66)
    let good = try list("\u{feff}\(a) \r\n\t\r\n# again\r\n\(a)\r\n  \(b)")
    #expect(good.status == 0 && place.origin.requests.count == 2, "\(good.errors)")
  }

  @Test func saysInJSONWhatItWaitsFor() throws {
    let place = try Place { $0.handler = { _, _ in .status(503) } }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + [place.origin.url("/a.bin"), "--json"]
    let (output, errors) = (Pipe.own(), Pipe.own())
    (process.standardOutput, process.standardError) = (output, errors)
    try process.run()
    while process.isRunning, place.origin.requests.isEmpty { usleep(1000) }
    usleep(300_000)
    kill(process.processIdentifier, SIGINT)
    let stream = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let report = try JSONDecoder().decode(Report.self, from: Self.lastLine(stream))
    let row = try #require(report.downloads.first)
    #expect(report.status == 130 && row.state == "open" && row.until != nil)
    #expect(["retrying", "originBackoff"].contains(row.reason) && row.detail?.contains("waits") == true, "\(row)")
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(text.hasPrefix("1 of 1 downloads are left") && text.contains("waits"), "\(text)")
  }

  @Test func rowsFitTheTerminal() throws {
    let place = try Place { $0.handler = { _, _ in .status(503) } }
    let (process, terminal) = try place.fetch(columns: 40, place.origin.url("/a.bin"))
    defer { close(terminal) }
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !text.contains("waits"), case let count = read(terminal, &buffer, buffer.count), count > 0 {
      text += String(decoding: buffer[..<count], as: UTF8.self)
    }
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    var screen = TerminalScreen(columns: 200)
    screen.take(text)
    #expect(screen.text.contains { $0.hasSuffix("…") } && screen.text.allSatisfy { $0.count < 40 }, "\(screen.text)")
  }

  @Test func oneProcessAtATimeHasAStateFolder() throws {
    let place = try Place { $0.handler = { _, _ in .with { $0.ending = .init(.silence, after: .byte(10)) } } }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + [place.origin.url("/a.bin")]
    process.standardError = FileHandle.nullDevice
    try process.run()
    while process.isRunning, place.origin.requests.isEmpty { usleep(1000) }
    let second = try place.fetch(place.origin.url("/b.bin"))
    #expect(second.status == 75 && second.errors.contains("process \(process.processIdentifier)"))
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
  }
}

extension Reply {
  static func with(_ change: (inout Reply) -> Void) -> Reply {
    var reply = Reply()
    change(&reply)
    return reply
  }
}
