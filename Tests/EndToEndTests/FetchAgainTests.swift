import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

/// A file that is there already is fetched again: with --force, with --if-changed, and under the name that its server says.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchAgainTests {
  typealias Place = FetchTests.Place

  /// A file of which the server has the version that a test says.
  private final class Versions: Sendable {
    let current = Mutex(1)
    static let contents = [Content.text("first"), .text("the second")]

    func configure(_ configuration: inout OriginConfiguration) {
      configuration.resources["/v.txt"] = Resource(versions: Self.contents)
      configuration.handler = { [self] request, _ in
        guard request.path == "/v.txt" else { return nil }
        return current.withLock { version in .with { $0.entity = .init(version: version) } }
      }
    }
  }

  @Test func forceReplacesWhatIsThere() throws {
    let place = try Place()
    try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(place.folder)/b.bin"))
    let refused = try place.fetch(place.origin.url("/b.bin"))
    #expect(refused.status == 1 && refused.errors.contains("--force") && place.data("b.bin") == Data("mine".utf8))
    for count in 1...2 {
      let result = try place.fetch(place.origin.url("/b.bin"), "--force")
      #expect(result.status == 0 && place.data("b.bin") == Data("hello".utf8), "\(result.errors)")
      #expect(place.origin.requests.count == count, "it is fetched each time")
    }
    #expect(!Files.exists("\(place.folder)/.outrider"))
    try FileManager.default.removeItem(atPath: "\(place.folder)/b.bin")
    try FileManager.default.createDirectory(atPath: "\(place.folder)/b.bin", withIntermediateDirectories: false)
    #expect(try place.fetch(place.origin.url("/b.bin"), "--force").status == 1, "a directory isn't replaced")
    try FileManager.default.removeItem(atPath: "\(place.folder)/b.bin")
    try Data("linked".utf8).write(to: URL(fileURLWithPath: "\(place.folder)/target"))
    try FileManager.default.createSymbolicLink(atPath: "\(place.folder)/b.bin", withDestinationPath: "target")
    #expect(try place.fetch(place.origin.url("/b.bin"), "--force").status == 0)
    #expect(place.data("target") == Data("linked".utf8), "no link is followed")
  }

  @Test("a link that leads nowhere has the name of a file: refused before a byte is asked for") func danglingLink()
    throws
  {
    let place = try Place()
    let path = "\(place.folder)/b.bin"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
    let refused = try place.fetch(place.origin.url("/b.bin"))
    #expect(refused.status == 1 && refused.errors.contains("is there already"), "\(refused.errors)")
    #expect(refused.errors.contains("--force") && place.origin.requests.isEmpty && Files.link(path) == "nowhere")
    let forced = try place.fetch(place.origin.url("/b.bin"), "--force")
    #expect(forced.status == 0 && Files.link(path) == nil && place.data("b.bin") == Data("hello".utf8))
    #expect(!Files.exists("\(place.folder)/nowhere"), "it isn't followed")
  }

  @Test("what was interrupted replaces nothing until it is complete, and goes on") func forceIsResumed() throws {
    let place = try Place {
      $0.handler = { _, nth in nth == 1 ? .with { $0.ending = .init(.silence, after: .byte(3_000_000)) } : nil }
    }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(place.folder)/a.bin"))
    let status = try place.interrupt([place.origin.url("/a.bin"), "--force"])
    #expect(status == 130 && place.data("a.bin") == Data("mine".utf8))
    let result = try place.fetch(place.origin.url("/a.bin"), "--force")
    #expect(result.status == 0 && place.data("a.bin") == FetchTests.whole, "\(result.errors)")
    #expect(place.origin.requests.last?.header("Range") != nil)
  }

  @Test func onlyAnotherVersionIsFetched() throws {
    let versions = Versions()
    let place = try Place(versions.configure)
    let url = place.origin.url("/v.txt")
    #expect(try place.fetch(url, "--if-changed").status == 0 && place.data("v.txt") == Data("first".utf8))
    let inode = try Files.identity(of: "\(place.folder)/v.txt").inode
    for _ in 1...2 {
      let same = try place.fetch(url, "--if-changed", "--json")
      #expect(same.status == 0 && same.output.contains(#""unchanged":true"#), "\(same)")
      #expect(place.origin.requests.last?.header("If-None-Match") != nil)
    }
    #expect(try Files.identity(of: "\(place.folder)/v.txt").inode == inode)
    versions.current.withLock { $0 = 2 }
    let changed = try place.fetch(url, "--if-changed")
    #expect(changed.status == 0 && place.data("v.txt") == Data("the second".utf8), "\(changed.errors)")
    #expect(try place.fetch(url, "--if-changed").status == 0)
    #expect(place.origin.requests.count == 5, "the last one was a 304 again")
    #expect(try place.fetch(url).status == 0 && place.origin.requests.count == 5, "without the option it isn't asked")
  }

  @Test("one failure doesn't make the file that is there unknown", arguments: [[], ["--content-disposition"]])
  func failedOnce(options: [String]) throws {
    let versions = Versions()
    let status = Mutex(200)
    let place = try Place { configuration in
      versions.configure(&configuration)
      let usual = configuration.handler
      configuration.handler = { request, nth in
        let status = status.withLock { $0 }
        if status != 200 { return .with { $0.status = status } }
        var reply = usual?(request, nth)
        reply?.setHeaders = [HeaderField("Content-Disposition", "attachment; filename=\"other.txt\"")]
        return reply
      }
    }
    func fetch(_ words: String...) throws -> Workspace.Finished {
      try Workspace.run(["fetch"] + place.base + words + options)
    }
    let (url, name) = (place.origin.url("/v.txt"), options.isEmpty ? "v.txt" : "other.txt")
    #expect(try fetch(url).status == 0 && place.data(name) == Data("first".utf8))
    for code in [404, 503] {
      status.withLock { $0 = code }
      #expect(try fetch(url, "--if-changed", "--foreground", "--retry", "0").status == 1)
      status.withLock { $0 = 200 }
      let count = place.origin.requests.count
      let again = try fetch(url)
      #expect(again.status == 0 && place.origin.requests.count == count, "it is there: \(again)")
      let same = try fetch(url, "--if-changed", "--json")
      #expect(same.status == 0 && same.output.contains(#""unchanged":true"#), "\(same)")
    }
    versions.current.withLock { $0 = 2 }
    let changed = try fetch(url, "--if-changed")
    #expect(changed.status == 0 && place.data(name) == Data("the second".utf8), "\(changed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder).filter { $0.hasSuffix(".txt") } == [name])
  }

  @Test func aFileThatWasChangedIsNotReplacedUnasked() throws {
    let versions = Versions()
    let place = try Place(versions.configure)
    let url = place.origin.url("/v.txt")
    #expect(try place.fetch(url).status == 0)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(place.folder)/v.txt"))
    versions.current.withLock { $0 = 2 }
    let result = try place.fetch(url, "--if-changed")
    #expect(
      result.status == 1 && result.errors.contains("--force") && place.data("v.txt") == Data("mine".utf8), "\(result)")
    #expect(try place.fetch(url, "--force").status == 0 && place.data("v.txt") == Data("the second".utf8))
  }

  // MARK: Names

  @Test func theServersNameIsMadeSafe() throws {
    let field = Mutex("")
    let place = try Place {
      $0.handler = { _, _ in .with { $0.setHeaders = [HeaderField("Content-Disposition", field.withLock { $0 })] } }
    }
    for (text, name) in [
      (#"attachment; filename="talk.txt""#, "talk.txt"), (#"attachment; filename="../../evil""#, "evil"),
      (#"attachment; filename*=UTF-8''%2e%2e%2f%1b%e2%82%ac; filename="x""#, "_€"), ("attachment; filename=", "b.bin"),
    ] {
      field.withLock { $0 = text }
      let folder = "\(place.folder)/\(UUID().uuidString)"
      let words = ["fetch", place.origin.url("/b.bin"), "--state", "\(place.folder)/state", "--to", folder]
      for _ in 1...2 {
        let result = try Workspace.run(words + ["--content-disposition"])
        #expect(result.status == 0 && result.output == "\(folder)/\(name)\n", "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [name])
      }
      let later = try Workspace.run(words)
      #expect(later.status == 0 && later.output == "\(folder)/\(name)\n", "it is known under that name: \(later)")
      let listed = try Workspace.run(["downloads", "list", "--fetch", "--state", "\(place.folder)/state", "--json"])
      #expect(listed.output.contains("\"\(folder)/\(name)\""), "\(listed)")
    }
    #expect(place.origin.requests.count == 4, "none was fetched twice")
  }

  @Test func aNameThatIsTakenIsNobodys() throws {
    let place = try Place {
      $0.handler = { _, _ in
        .with { $0.setHeaders = [HeaderField("Content-Disposition", "attachment; filename=taken")] }
      }
    }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(place.folder)/taken"))
    let result = try place.fetch(place.origin.url("/b.bin"), "--content-disposition")
    #expect(result.status == 0 && result.errors.contains("keeps its name"), "\(result)")
    #expect(result.output == "\(place.folder)/b.bin\n" && place.data("taken") == Data("mine".utf8))
  }

  // MARK: Lists of digests

  @Test func filesFitTheirList() throws {
    let place = try Place()
    let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    func list(_ text: String) throws -> String {
      try text.write(toFile: "\(place.folder)/SUMS", atomically: false, encoding: .utf8)
      return "\(place.folder)/SUMS"
    }
    let url = place.origin.url("/b.bin")
    let zeros = String(repeating: "0", count: 64)
    for (text, status, says) in [
      ("\(zeros) *b.bin\n", 1, zeros), ("\(zeros)  c.bin\n", 64, "doesn't list 'b.bin'"),
      ("\(right)  ../b.bin\n", 64, "line 1"), ("nothing\n", 64, "line 1"), ("", 66, "SUMS"),
      ("\(zeros)  c.bin\n\(right)  b.bin\n", 0, ""),
    ] as [(String, Int32, String)] {
      let result = try place.fetch(url, "--checksums", try list(text))
      #expect(
        result.status == status && (says.isEmpty || result.errors.contains(says)), "\(text): \(result)")
      #expect((place.data("b.bin") != nil) == (status == 0))
    }
    let named = try place.fetch(url, "--checksums", "\(place.folder)/SUMS", "-o", "x")
    #expect(named.status == 0 && place.data("x") == Data("hello".utf8), "\(named)")
    #expect(try place.fetch(url, "--checksums", "/nonexistent").status == 66)
    #expect(try place.fetch(url, "--checksums", "\(place.folder)/SUMS", "--sha256", right).status == 64)
  }

  @Test("a list names a file as its server does, also where it can't be called so here", arguments: [".hidden", "-x"])
  func unsafeNamesAreListed(name: String) throws {
    let place = try Place { $0.resources["/\(name)"] = Resource(.text("hello")) }
    let right = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let zeros = String(repeating: "0", count: 64)
    let (safe, sums) = (String(name.dropFirst()), "\(place.folder)/SUMS")
    for (text, status, says) in [
      ("\(right)  other\n", 64, "doesn't list '\(name)'"), ("\(zeros)  \(name)\n\(right)  \(safe)\n", 1, zeros),
      ("\(right)  \(name)\n\(zeros)  \(safe)\n", 0, ""),
    ] as [(String, Int32, String)] {
      try text.write(toFile: sums, atomically: false, encoding: .utf8)
      let one = try place.fetch(place.origin.url("/\(name)"), "--checksums", sums)
      #expect(one.status == status && (says.isEmpty || one.errors.contains(says)), "\(text): \(one)")
    }
    #expect(place.data(safe) == Data("hello".utf8))
    try "\(right)  \(name)\n\(right)  b.bin\n".write(toFile: sums, atomically: false, encoding: .utf8)
    let several = try place.fetch(place.origin.url("/\(name)"), place.origin.url("/b.bin"), "--checksums", sums)
    #expect(several.status == 0, "beside others, too: \(several)")
  }
}
