import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

/// Names that servers give (`--content-disposition`), beside files of others and of earlier runs.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchServerNamesTests {
  private typealias Place = FetchTests.Place

  /// Calls all its files `served`, or what a test says, and has the version of them that a test says.
  private final class Server: Sendable {
    let state = Mutex((version: 1, name: "served", cutsAt: Int?.none))
    static let contents = [Content.text("first"), .text("the second")]

    func place(_ paths: String..., contents: [Content] = Server.contents) throws -> Place {
      try Place { configuration in
        for path in paths { configuration.resources[path] = Resource(versions: contents) }
        configuration.handler = { [self] _, _ in
          let (version, name, cutsAt) = state.withLock { $0 }
          return .with {
            $0.entity = .init(version: version)
            $0.setHeaders = [HeaderField("Content-Disposition", "attachment; filename=\(name)")]
            if let cutsAt { $0.ending = .init(.silence, after: .byte(cutsAt)) }
          }
        }
      }
    }
  }

  private static func write(_ text: String, _ place: Place, _ names: String...) throws {
    for name in names { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(place.folder)/\(name)")) }
  }

  private static func text(_ place: Place, _ name: String) -> String? {
    place.data(name).map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Files of others

  @Test(
    "what a server's name would replace stays, and so does all that isn't in the way",
    arguments: [
      // What is there; what the file is called then; what is as it was.
      (["url"], "served", ["url"]), (["served"], "url", ["served"]), (["url", "served"], "url", ["served"]),
      ([], "served", []),
    ] as [([String], String, [String])])
  func force(there: [String], name: String, kept: [String]) throws {
    let place = try Server().place("/url")
    for name in there { try Self.write("mine", place, name) }
    for run in 1...2 {
      let result = try place.fetch(place.origin.url("/url"), "--content-disposition", "--force")
      #expect(result.status == 0 && result.output == "\(place.folder)/\(name)\n", "run \(run): \(result)")
      #expect(result.errors.contains("which is there already") == (name == "url"), "\(result.errors)")
      #expect(Self.text(place, name) == "first")
      for name in kept { #expect(Self.text(place, name) == "mine", "\(name)") }
      #expect(place.origin.requests.count == run, "its own result of the last run makes way")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: place.folder).filter { $0 != "state" }
    #expect(Set(names) == Set(there + [name]))
  }

  @Test("--force replaces no file of the server's name that was changed since") func changed() throws {
    let place = try Server().place("/url")
    #expect(try place.fetch(place.origin.url("/url"), "--content-disposition").status == 0)
    try Self.write("changed by me", place, "served")
    let result = try place.fetch(place.origin.url("/url"), "--content-disposition", "--force")
    #expect(result.status == 0 && result.output == "\(place.folder)/url\n", "\(result)")
    #expect(Self.text(place, "served") == "changed by me" && Self.text(place, "url") == "first")
  }

  @Test("files that have one name at their servers have two", arguments: [[], ["--force"], ["--if-changed"]])
  func twoOfOneName(mode: [String]) throws {
    let place = try Server().place("/one", "/two")
    let words = ["fetch"] + place.base + ["/one", "/two"].map(place.origin.url) + ["--content-disposition"] + mode
    var names: Set<String> = []
    for _ in 1...2 {
      let result = try Workspace.run(words)
      let paths = result.output.split(separator: "\n").map(String.init)
      #expect(result.status == 0 && paths.count == 2 && Set(paths).count == 2, "\(result)")
      #expect(paths.contains("\(place.folder)/served") && paths.allSatisfy(Files.exists), "\(paths)")
      #expect(names.isEmpty || names == Set(paths), "each keeps its own")
      names = Set(paths)
    }
  }

  @Test("no server names a file as another URL of the command does", arguments: [[], ["--force"]])
  func nameOfAnotherURL(mode: [String]) throws {
    let server = Server()
    server.state.withLock { $0.name = "two" }
    let place = try server.place("/one", "/two")
    let result = try Workspace.run(
      ["fetch"] + place.base + ["/one", "/two"].map(place.origin.url) + ["--content-disposition"] + mode)
    #expect(Set(result.output.split(separator: "\n")) == ["\(place.folder)/one", "\(place.folder)/two"], "\(result)")
    #expect(result.status == 0 && result.errors.contains("one keeps its name"), "\(result.errors)")
  }

  @Test("a note about one of several files says in JSON which it is about") func noteOfOne() throws {
    let server = Server()
    server.state.withLock { $0.name = "two" }
    let place = try server.place("/one", "/two")
    let result = try Workspace.run(
      ["fetch"] + place.base + ["/one", "/two"].map(place.origin.url) + ["--content-disposition", "--json"])
    struct Line: Decodable {
      var event: String
      var id: Int64?
      var url: String?
      var detail: String?
    }
    let lines = result.output.split(separator: "\n").compactMap {
      try? JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
    let note = try #require(lines.first { $0.detail?.contains("keeps its name") == true }, "\(result.output)")
    #expect(note.event == "note" && note.id != nil && note.url == place.origin.url("/one"), "\(result.output)")
  }

  // MARK: Files of earlier runs

  @Test("a file that its server named is brought up to date where it is") func ifChanged() throws {
    let server = Server()
    let place = try server.place("/url")
    let words = [place.origin.url("/url"), "--if-changed"]
    func fetch(_ words: String...) throws -> Workspace.Finished { try Workspace.run(["fetch"] + place.base + words) }
    #expect(try fetch(words[0], words[1], "--content-disposition").status == 0)
    for run in 2...4 {
      // The last one says nothing of names.
      let result =
        try run == 4
        ? fetch(words[0], words[1], "--json") : fetch(words[0], words[1], "--json", "--content-disposition")
      #expect(result.status == 0 && result.output.contains(#""unchanged":true"#), "run \(run): \(result)")
      #expect(result.output.contains("\"\(place.folder)/served\"") && !Files.exists("\(place.folder)/url"))
      #expect(place.origin.requests.last?.header("If-None-Match") != nil && place.origin.requests.count == run)
    }
    // By now it has another name there, too.
    server.state.withLock { ($0.version, $0.name) = (2, "served-2") }
    let changed = try fetch(words[0], words[1], "--content-disposition")
    #expect(changed.status == 0 && changed.output == "\(place.folder)/served\n", "\(changed)")
    #expect(changed.errors.contains("served keeps its name: its server calls it served-2 now"), "\(changed.errors)")
    #expect(Self.text(place, "served") == "the second" && !Files.exists("\(place.folder)/url"))
    let again = try fetch(words[0], words[1], "--content-disposition")
    #expect(again.status == 0 && again.output == "\(place.folder)/served\n" && place.origin.requests.count == 6)
    let listed = try Workspace.run(["downloads", "list", "--fetch", "--state", "\(place.folder)/state", "--json"])
    #expect(listed.output.contains("/served\"") && !listed.output.contains("\"\(place.folder)/url\""), "\(listed)")
    try Self.write("mine", place, "served")
    server.state.withLock { $0.version = 1 }
    let refused = try fetch(words[0], words[1], "--content-disposition")
    #expect(refused.status == 1 && refused.errors.contains("served is there already"), "\(refused.errors)")
    #expect(Self.text(place, "served") == "mine" && !Files.exists("\(place.folder)/url"))
  }

  @Test("a replacement that was interrupted goes on under the server's name", arguments: ["--force", "--if-changed"])
  func interrupted(mode: String) throws {
    let contents = [Content.pseudoRandom(seed: 1, count: 5_000_000), .pseudoRandom(seed: 2, count: 5_000_000)]
    let server = Server()
    let place = try server.place("/url", contents: contents)
    let words = place.base + [place.origin.url("/url"), "--content-disposition"]
    #expect(try Workspace.run(["fetch"] + words).status == 0)
    server.state.withLock { ($0.version, $0.cutsAt) = (2, 3_000_000) }
    let status = try place.interrupt([place.origin.url("/url"), "--content-disposition", mode])
    #expect(status == 130 && place.data("served") == Data(contents[0].bytes))
    server.state.withLock { $0.cutsAt = nil }
    let result = try Workspace.run(["fetch"] + words + [mode])
    #expect(result.status == 0 && result.output == "\(place.folder)/served\n", "\(result)")
    #expect(place.data("served") == Data(contents[1].bytes) && !Files.exists("\(place.folder)/url"))
    #expect(place.origin.requests.last?.header("Range") != nil)
  }
}
