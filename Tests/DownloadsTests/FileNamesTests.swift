import AssetModel
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// Files that may get other names than those of their downloads.
@Suite(.timeLimit(.minutes(1))) struct FileNamesTests {
  private static func fetch(
    beside there: [String] = [], replacing replaceable: [String] = [], _ names: [String]
  ) async throws -> (harness: Harness, end: Harness.End) {
    let origin = try Origin { $0.resources["/file"] = Resource(.text("fetched")) }
    defer { origin.stop() }
    let harness = try Harness {
      $0.fileNames = { _ in names }
      $0.mayReplace = { replaceable.contains($0.fileName) }
    }
    for name in there { try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(harness.folder)/\(name)")) }
    let end = try await harness.fetch(harness.specification(origin.url("/file")))
    await harness.engine.close()
    return (harness, end)
  }

  @Test(
    "the first name that is free or may be replaced is given, and nothing else changes",
    arguments: [
      ([], [], "best"), (["file"], [], "best"), (["best"], [], "file"), (["best"], ["best"], "best"),
      (["best", "file"], ["file"], "file"), (["best", "file"], ["best", "file"], "best"), (["best", "file"], [], nil),
    ] as [([String], [String], String?)])
  func first(there: [String], replaceable: [String], expected: String?) async throws {
    let (harness, end) = try await Self.fetch(beside: there, replacing: replaceable, ["best", "file"])
    if let expected {
      #expect(end == .finished("\(harness.folder)/\(expected)", 7))
      #expect(harness.contents(expected) == Data("fetched".utf8))
    } else if case .failed(let failure) = end {
      #expect(failure.reason == .refused && failure.detail.contains("file is there already"), "\(failure)")
      // Nothing of a small file is kept.
      #expect(failure.detail.hasSuffix("move the other file away, and ask for this one again"), "\(failure)")
    } else {
      Issue.record("\(end)")
    }
    for name in there where name != expected { #expect(harness.contents(name) == Data("mine".utf8), "\(name)") }
  }

  @Test(
    "what is no name of a file isn't tried",
    arguments: [
      [], [""], ["."], [".."], ["a/b"], ["/a"], ["a\0b"], [".outrider"], [String(repeating: "x", count: 256)],
    ])
  func noNames(names: [String]) async throws {
    let (harness, end) = try await Self.fetch(names)
    #expect(end == .finished("\(harness.folder)/file", 7))
  }

  @Test("who goes on after a kill finds the file under the name that it got", arguments: ["best", "file"])
  func killed(name: String) async throws {
    let origin = try Origin { $0.resources["/file"] = Resource(.text("fetched")) }
    defer { origin.stop() }
    let journal = MemoryJournal()
    let once = try Harness(journal: journal) { $0.fileNames = { _ in [name] } }
    guard case .finished = try await once.fetch(once.specification(origin.url("/file"))) else {
      throw Unexpected("not fetched")
    }
    await once.engine.close()
    // The last thing that the journal was told before the kill.
    let id = try journal.state.withLock { state in
      let id = try #require(state.jobs.keys.first)
      state.jobs[id]?.state = .verified
      state.jobs[id]?.specification.fileName = "file"
      return id
    }
    let again = try Harness(folder: once.folder, journal: journal) {
      $0.takesUpOpenJobs = false
      $0.fileNames = { _ in ["best", "file"] }
    }
    let events = again.engine.events
    again.engine.resume(id)
    #expect(try await again.end(of: id, in: events) == .finished("\(once.folder)/\(name)", 7))
    await again.engine.close()
    #expect(origin.requests.count == 1)
  }

  @Test("what a server calls a file is told before the file has its name") func told() async throws {
    let origin = try Origin {
      $0.resources["/file"] = Resource(.text("fetched"))
      $0.handler = { _, _ in
        .with { $0.setHeaders = [HeaderField("Content-Disposition", "attachment; filename=\"../x\"")] }
      }
    }
    defer { origin.stop() }
    let names = Mutex<[JobID: String]>([:])
    let harness = try Harness {
      $0.toldServerName = { id, name in names.withLock { $0[id] = name } }
      $0.fileNames = { record in [names.withLock { $0[record.id] } == "../x" ? "told" : "untold"] }
    }
    #expect(
      try await harness.fetch(harness.specification(origin.url("/file"))) == .finished("\(harness.folder)/told", 7))
    await harness.engine.close()
  }
}
