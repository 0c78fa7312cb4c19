import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

/// What becomes of a fetch where files change, terminals go, limits are low and names are odd.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchSurroundingsTests {
  private typealias Place = FetchTests.Place

  private static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

  /// Through a shell, for its limits, masks and traps. `$O` is the command.
  static func shell(_ script: String) throws -> Workspace.Finished {
    try Workspace.run(["-c", "O='\(Workspace.outrider)'; \(script)"], program: "/bin/bash")
  }

  private static func overwrite(_ path: String, _ text: String) throws {
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  @Test("F-52 a fetched file is read again on request, and told where it isn't what was fetched")
  func aFileThatWasChangedIsNotComplete() throws {
    let place = try Place()
    let (url, path) = (place.origin.url("/b.bin"), "\(place.folder)/b.bin")
    #expect(try place.fetch(url, "--sha256", Self.sha256).status == 0)
    #expect(try place.fetch(url).status == 0)
    try Self.overwrite(path, "HELLO")
    for arguments in [[url, "--sha256", Self.sha256], [url]] {
      let result = try Workspace.run(["fetch"] + place.base + arguments)
      #expect(result.status == 1 && result.output.isEmpty && result.errors.contains("remove it"), "\(result.errors)")
      #expect(result.errors.contains(path) && result.errors.contains("sha-256 is "), "\(result.errors)")
    }
    try FileManager.default.removeItem(atPath: path)
    #expect(try place.fetch(url, "--sha256", Self.sha256).status == 0)
    #expect(place.data("b.bin") == Data("hello".utf8) && place.origin.requests.count == 2)
    // Another file with the right bytes is as good.
    try FileManager.default.moveItem(atPath: path, toPath: "\(place.folder)/old")
    try FileManager.default.copyItem(atPath: "\(place.folder)/old", toPath: path)
    #expect(try place.fetch(url, "--sha256", Self.sha256).status == 0 && place.origin.requests.count == 2)
  }

  /// No digest was given: the time of its last change tells, unless the server's digest holds all the same.
  @Test(arguments: [false, true]) func aFileThatWasChangedIsNotCompleteWithoutADigest(saysDigest: Bool) throws {
    let place = try Place {
      $0.handler = { _, _ in
        var reply = Reply()
        reply.removedHeaders = saysDigest ? [] : ["Repr-Digest"]
        return reply
      }
    }
    let (url, path) = (place.origin.url("/b.bin"), "\(place.folder)/b.bin")
    #expect(try place.fetch(url).status == 0)
    #expect(try place.fetch(url).status == 0)
    try Self.overwrite(path, "hello")
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 60)], ofItemAtPath: path)
    #expect(try place.fetch(url).status == (saysDigest ? 0 : 1))
    try Self.overwrite(path, "HELLO")
    let result = try place.fetch(url)
    #expect(result.status == 1 && result.errors.contains("remove it"), "\(result.errors)")
    try FileManager.default.removeItem(atPath: path)
    #expect(try place.fetch(url).status == 0 && place.data("b.bin") == Data("hello".utf8))
    #expect(try place.fetch(url).status == 0 && place.origin.requests.count == 2)
  }

  /// Two journals, one directory, one name: neither writes into what the other has begun, and the first to end has it.
  @Test func journalsKeepApart() throws {
    let place = try Place {
      $0.resources["/slow/f.bin"] = Resource(.pseudoRandom(seed: 1, count: 200_000))
      $0.resources["/fast/f.bin"] = Resource(.pseudoRandom(seed: 2, count: 200_000))
      $0.handler = { request, _ in
        var reply = Reply()
        if request.path.hasPrefix("/slow") { reply.timing.bytesPerSecond = 100_000 }
        return reply
      }
    }
    let slow = TestProcess()
    slow.executableURL = URL(fileURLWithPath: Workspace.outrider)
    slow.arguments = ["fetch"] + place.base + [place.origin.url("/slow/f.bin")]
    slow.standardError = FileHandle.nullDevice
    slow.standardOutput = FileHandle.nullDevice
    try slow.run()
    defer { slow.waitUntilExit() }
    let begun = ContinuousClock.now + .seconds(30)
    while place.origin.requests.isEmpty, ContinuousClock.now < begun { sched_yield() }
    let fast = try Workspace.run([
      "fetch", "--to", place.folder, "--state", "\(place.folder)/other", place.origin.url("/fast/f.bin"),
    ])
    #expect(fast.status == 0, "\(fast.errors)")
    slow.waitUntilExit()
    #expect(slow.terminationStatus == 1, "the name is taken")
    #expect(place.data("f.bin") == Data(Content.pseudoRandom(seed: 2, count: 200_000).bytes(in: 0..<200_000)))
  }

  @Test("a state folder that is gone, or another one, when the command ends is told", arguments: [nil, "moved"])
  func stateThatIsGone(to other: String?) throws {
    let folder = Mutex<String?>(nil)
    let place = try Place {
      $0.handler = { _, nth in
        guard nth == 1, let state = folder.withLock({ $0 }) else { return nil }
        if let other {
          try? FileManager.default.moveItem(atPath: state, toPath: state + other)
        } else {
          try? FileManager.default.removeItem(atPath: state)
        }
        return nil
      }
    }
    folder.withLock { $0 = "\(place.folder)/state" }
    let first = try place.fetch(place.origin.url("/b.bin"))
    #expect(first.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(first.errors)")
    #expect(first.errors.contains("the state folder was moved or removed while this ran"), "\(first.errors)")
    let second = try place.fetch("--force", place.origin.url("/b.bin"))
    #expect(second.status == 0 && !second.errors.contains("moved or removed"), "\(second.errors)")
  }

  @Test func aFileHasToFitItsChunkList() throws {
    let place = try Place()
    let (url, path, list) = (place.origin.url("/a.bin"), "\(place.folder)/a.bin", "\(place.folder)/list")
    #expect(try place.fetch(url).status == 0)
    let digests = try Workspace.run(["digest", path, "--chunk-size", "1MiB"])
    try digests.output.write(toFile: list, atomically: false, encoding: .utf8)
    #expect(try place.fetch(url, "--chunks", list).status == 0)
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try file.seek(toOffset: 4_999_999)
    try file.write(contentsOf: Data([FetchTests.whole[4_999_999] ^ 1]))
    try file.close()
    #expect(try place.fetch(url, "--chunks", list).status == 1)
    #expect(place.origin.requests.count == 1)
  }

  @Test func aServersWaitIsToldToEveryCommand() throws {
    let place = try Place {
      $0.handler = { _, nth in nth == 1 ? Reply.with503 : nil }
    }
    func start(_ url: String) throws -> String {
      let process = TestProcess()
      process.executableURL = URL(fileURLWithPath: Workspace.outrider)
      process.arguments = ["fetch"] + place.base + [url]
      let output = Pipe.own()
      process.standardError = output
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      var text = ""
      while !text.contains("waits"), case let data = output.fileHandleForReading.availableData, !data.isEmpty {
        text += String(decoding: data, as: UTF8.self)
      }
      kill(process.processIdentifier, SIGTERM)
      process.waitUntilExit()
      return text
    }
    #expect(try start(place.origin.url("/a.bin")).contains("asks to wait 3600 s"))
    let second = try start(place.origin.url("/b.bin"))
    #expect(second.contains("asked to be left alone"), "\(second)")
    let explained = try Workspace.run([
      "explain", "2", "--state", place.base[place.base.firstIndex(of: "--state")! + 1],
    ])
    #expect(explained.output.hasPrefix("retryAfter"), "\(explained.output)")
    #expect(place.origin.requests.count == 1)
  }

  @Test func anotherAddressOfTheSameBytesGoesOn() throws {
    let place = try Place { $0.handler = { _, nth in nth == 1 ? Reply.startsOnly : nil } }
    let list = "\(place.folder)/list"
    try Data(FetchTests.whole).write(to: URL(fileURLWithPath: "\(place.folder)/whole"))
    try Workspace.run(["digest", "\(place.folder)/whole", "--chunk-size", "1MiB"]).output
      .write(toFile: list, atomically: false, encoding: .utf8)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + [place.origin.url("/a.bin?signed=1"), "--chunks", list]
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let begun = ContinuousClock.now + .seconds(60)
    while place.origin.requests.isEmpty, ContinuousClock.now < begun { usleep(1000) }
    usleep(500_000)
    kill(process.processIdentifier, SIGTERM)
    process.waitUntilExit()
    let result = try place.fetch(place.origin.url("/a.bin?signed=2"), "--chunks", list)
    #expect(result.status == 0 && place.data("a.bin") == Data(FetchTests.whole), "\(result.errors)")
    #expect(result.errors.contains("is kept"), "\(result.errors)")
    #expect(place.origin.requests.last?.header("Range")?.hasPrefix("bytes=0-") == false)
    let other = try place.fetch(
      place.origin.url("/a.bin"), "--chunks", list, "--sha256", String(repeating: "0", count: 64))
    #expect(other.status == 64 && other.errors.contains("another file"), "\(other.errors)")
    let text = try String(contentsOfFile: list, encoding: .utf8)
      .replacing(#/"sha256" : "[0-9a-f]{64}"/#, with: "\"sha256\" : \"none\"")
    try text.write(toFile: list, atomically: false, encoding: .utf8)
    let unreadable = try place.fetch(place.origin.url("/a.bin"), "--chunks", list)
    #expect(unreadable.status == 64 && unreadable.errors.contains("64 hexadecimal digits"), "\(unreadable.errors)")
  }

  @Test func mirrorsTakeOver() throws {
    let (wrong, right) = (
      try Place { $0.resources["/a.bin"] = Resource(.repeating([1], count: 5_000_000)) }, try Place()
    )
    let list = "\(right.folder)/list"
    try Data(FetchTests.whole).write(to: URL(fileURLWithPath: "\(right.folder)/whole"))
    try Workspace.run(["digest", "\(right.folder)/whole", "--chunk-size", "1MiB"]).output
      .write(toFile: list, atomically: false, encoding: .utf8)
    let (url, mirror) = (wrong.origin.url("/a.bin"), right.origin.url("/a.bin"))
    let result = try wrong.fetch(url, "--mirror", mirror, "--chunks", list)
    #expect(result.status == 0 && wrong.data("a.bin") == Data(FetchTests.whole), "\(result.errors)")
    #expect(result.errors.contains("\(url) sent a wrong chunk"), "\(result.errors)")
    #expect(try wrong.fetch(url, "--mirror", mirror).status == 64, "--mirror needs --chunks")
    let none = try wrong.fetch(url, "--mirror", "not a url", "--chunks", list)
    #expect(none.status == 64 && none.errors.contains("--mirror 'not a url'"), "\(none.errors)")
    let many = (0...16).flatMap { ["--mirror", "\(mirror)?\($0)"] }
    #expect(try Workspace.run(["fetch", url, "--chunks", list] + wrong.base + many).status == 64)
  }

  @Test func spellingsOfACharacterAreDifferentNames() throws {
    let place = try Place {
      $0.handler = { request, _ in
        var reply = Reply()
        reply.body = .bytes(Array(request.target.utf8))
        return reply
      }
    }
    for (one, other) in [("/caf%C3%A9", "/cafe%CC%81"), ("/x\u{e9}", "/xe\u{301}")] {
      let result = try place.fetch(place.origin.url(one), place.origin.url(other))
      #expect(result.status == 0 && result.output.split(separator: "\n").count == 2, "\(result.errors)")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: place.folder).filter { $0 != "state" }
    #expect(Set(names.map { Array($0.utf8) }).count == 4, "\(names)")
    let (one, other) = (place.origin.url("/y?%C3%A9"), place.origin.url("/y?e%CC%81"))
    let result = try place.fetch(one, other)
    #expect(result.status == 0 && place.data("y") != nil && place.data("y-2") != nil, "\(result.errors)")
  }

  /// Starts a fetch, and interrupts it when the origin was asked.
  private static func interrupted(_ place: Place, _ arguments: String...) throws -> Int32 {
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + arguments
    process.standardError = FileHandle.nullDevice
    let before = place.origin.requests.count
    try process.run()
    while process.isRunning, place.origin.requests.count == before { usleep(1000) }
    kill(process.processIdentifier, SIGINT)
    process.waitUntilExit()
    return process.terminationStatus
  }

  @Test func whatWasLeftInTheBackgroundComesToTheForeground() throws {
    let place = try Place { $0.handler = { _, _ in .status(503) } }
    let url = place.origin.url("/a.bin")
    #expect(try Self.interrupted(place, url) == 130)
    #expect(try Self.interrupted(place, url, "--foreground") == 130)
    var options = AssetStore.Options()
    options.isReadOnly = true
    let store = try AssetStore(opening: "\(place.folder)/state", options: options)
    #expect(try store.job(JobID(1))?.transferClass == .foreground)
  }

  @Test func oneWithoutRoomHoldsUpNoOther() throws {
    let others = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-fetch-")
    defer { Files.removeTree(others) }
    let place = try Place {
      $0.bytesPerSecond = 4_000_000
      $0.handler = { request, _ in
        guard request.path.contains("huge") else { return nil }
        if request.path == "/huge" {
          // Less is free than when the other asked for room: it is told once all the same.
          usleep(300_000)
          let file = open("\(others)/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
          _ = posix_fallocate(file, 0, 256 << 20)
          close(file)
        }
        var reply = Reply()
        reply.body = .bytes([UInt8](repeating: 0, count: 1000))
        reply.length = .off(by: 1_000_000_000_000_000)
        return reply
      }
    }
    let result = try place.fetch(place.origin.url("/huge"), place.origin.url("/a.bin"), place.origin.url("/b.bin"))
    #expect(result.status == 75 && result.errors.contains("make room"), "\(result.errors)")
    #expect(place.data("a.bin") == FetchTests.whole && place.data("b.bin") == Data("hello".utf8))
    unlink("\(others)/file")
    #expect(result.errors.contains("1 of 3 downloads are left"), "\(result.errors)")
    let twice = try place.fetch(place.origin.url("/huge"), place.origin.url("/else/huge.bin"))
    #expect(twice.status == 75 && twice.errors.split(separator: "make room").count == 2, "\(twice.errors)")
  }

  @Test func jsonIsFitForATerminal() throws {
    let place = try Place { $0.handler = { _, _ in .status(410) } }
    let state = ["--state", "\(place.folder)/state"]
    let fetched = try place.fetch(
      "https://me:x@127.0.0.1:1/\u{9b}31m", place.origin.url("/\u{9b}31m\u{202e}"), "--json")
    let explained = try Workspace.run(["explain", "1", "--json"] + state)
    #expect(fetched.status == 1 && explained.status == 0, "\(fetched.errors) \(explained.errors)")
    for text in fetched.output.split(separator: "\n").map(String.init) + [explained.output] {
      #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    }
    for text in [fetched.output, explained.output] {
      #expect(
        text.contains("\\u009b") && !text.unicodeScalars.contains { "\u{7f}\u{9b}\u{202e}".unicodeScalars.contains($0) }
      )
    }
  }

  @Test func aTildeIsAName() throws {
    let place = try Place()
    let url = place.origin.url("/b.bin")
    let result = try Self.shell("cd \(place.folder); mkdir '~'; exec $O fetch \(url) --to '~' --state '~/state'")
    #expect(result.status == 0 && result.output == "\(place.folder)/~/b.bin\n", "\(result.output)\(result.errors)")
    #expect(place.data("~/b.bin") == Data("hello".utf8) && Files.exists("\(place.folder)/~/state"))
    // Behind a link the parent is that of its target.
    let linked = try Self.shell(
      "cd \(place.folder); mkdir -p x/y; ln -s x/y z; exec $O fetch \(url) --to z/../. --state './/state'")
    #expect(linked.output == "\(place.folder)/x/b.bin\n", "\(linked.output)\(linked.errors)")
  }

  @Test("a link to nothing in place of the folder is named") func danglingFolder() throws {
    let place = try Place()
    let link = "\(place.folder)/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "\(place.folder)/nothing")
    let result = try Workspace.run(
      ["fetch", place.origin.url("/b.bin"), "--to", link, "--state", "\(place.folder)/state"])
    #expect(result.status == 73 && result.errors.contains("link: is a link to "), "\(result.errors)")
    #expect(result.errors.contains("\(place.folder)/nothing, which isn't there"), "\(result.errors)")
    #expect(place.origin.requests.isEmpty && (try? Files.identity(of: "\(place.folder)/state")) == nil)
  }

  @Test("a fragment makes no other file of a URL") func fragments() throws {
    let place = try Place()
    let url = place.origin.url("/b.bin")
    let result = try place.fetch(url, "\(url)#frag", "\(url)#")
    #expect(result.status == 0 && result.output == "\(place.folder)/b.bin\n", "\(result.output)\(result.errors)")
    #expect(place.origin.requests.count == 1)
  }

  @Test("an https proxy that can't be used is no matter of plain http") func unusableProxy() throws {
    let place = try Place()
    let result = try Workspace.run(
      ["-u", "http_proxy", "-u", "all_proxy", "-u", "ALL_PROXY", "https_proxy=://", Workspace.outrider, "fetch"]
        + place.base + [place.origin.url("/b.bin")], program: "/usr/bin/env")
    #expect(result.status == 0, "\(result.errors)")
  }

  @Test func plainHTTPHasAProxyOfItsOwn() throws {
    let place = try Place()
    for host in ["127.0.0.1", "localhost"] {
      let url = place.origin.url("/b.bin").replacingOccurrences(of: "127.0.0.1", with: host)
      let result = try Workspace.run(
        ["-u", "http_proxy", "-u", "no_proxy", "-u", "NO_PROXY", "https_proxy=http://127.0.0.1:1", Workspace.outrider]
          + ["fetch", "--foreground"] + place.base + [url], program: "/usr/bin/env")
      #expect(result.status == 0, "\(result.errors)")
      try FileManager.default.removeItem(atPath: "\(place.folder)/b.bin")
    }
  }

  @Test("a small stack is enough", arguments: [128, 200, 400]) func smallStack(kilobytes: Int) throws {
    let place = try Place()
    let words = "fetch \(place.base.joined(separator: " ")) \(place.origin.url("/b.bin"))"
    let result = try Self.shell("ulimit -s \(kilobytes); exec timeout 20 $O \(words)")
    #expect(result.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(result)")
  }

  @Test func saysThatItMayOpenTooFew() throws {
    let place = try Place()
    let words = "fetch \(place.base.joined(separator: " ")) \(place.origin.url("/b.bin"))"
    for count in 9...16 {
      let result = try Self.shell("ulimit -n \(count); exec timeout 20 $O \(words)")
      #expect(result.status == 70 && result.errors.contains("ulimit -n"), "\(count): \(result.status) \(result.errors)")
    }
    let raised = try Self.shell("ulimit -Sn 12; exec timeout 60 $O \(words)")
    #expect(raised.status == 0, "\(raised.errors)")
  }

  @Test func explainsWhatMovesElsewhere() throws {
    let place = try Place {
      $0.resources["/c.bin"] = Resource(.pseudoRandom(seed: 1, count: 60_000_000))
      $0.bytesPerSecond = 12_000_000
    }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["fetch"] + place.base + [place.origin.url("/c.bin")]
    process.standardError = FileHandle.nullDevice
    try process.run()
    defer {
      kill(process.processIdentifier, SIGINT)
      process.waitUntilExit()
    }
    while process.isRunning, place.origin.requests.isEmpty { usleep(1000) }
    let end = Date(timeIntervalSinceNow: 20)
    var text = ""
    while Date() < end, !text.hasPrefix("transferring") {
      text = try Workspace.run(["explain", "1", "--state", "\(place.folder)/state"]).output
      #expect(!text.contains("run again"), "\(text)")
    }
    #expect(text.contains("process \(process.processIdentifier)") && text.contains("it moves"), "\(text)")
  }
}

extension Reply {
  fileprivate static var with503: Reply {
    var reply = Reply.status(503)
    reply.retryAfter = .seconds(3600)
    return reply
  }

  /// Three megabytes, and then nothing more.
  fileprivate static var startsOnly: Reply {
    var reply = Reply()
    reply.ending = Ending(.silence, after: .byte(3_000_000))
    return reply
  }
}
