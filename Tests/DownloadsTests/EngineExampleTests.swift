import AssetModel
import AssetStore
import DevelopmentOrigin
import Downloads
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// The example of the engine in docs/embedding.md: its lines are these, and they work.
@Suite(.timeLimit(.minutes(5))) struct EngineExampleTests {
  @Test func theExampleIsTheDocuments() throws {
    let example = try Documents.block("swift", containing: "AssetStore(opening: state)")
    let here = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
    let lines = Set(here.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    for line in example.split(separator: "\n") {
      let line = line.trimmingCharacters(in: .whitespaces)
      // What needs the network is the one difference.
      if line.contains("EngineOptions()") || line.contains("https://") { continue }
      #expect(lines.contains(line), "not tested: \(line)")
    }
  }

  @Test func theExampleFetches() async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-example-")
    defer { Files.removeTree(folder) }
    let (state, assets) = ("\(folder)/state", "\(folder)/assets")
    try Files.makeDirectories(state, mode: 0o700)
    try Files.makeDirectories(assets, mode: 0o700)
    let origin = try Origin { $0.resources["/intro.mp4"] = Resource(.pseudoRandom(seed: 1, count: 100_000)) }
    defer { origin.stop() }
    var options = EngineOptions()
    options.transport.addresses.allowsLoopback = true
    options.transport.hosts.allowsPlainHTTPToLoopback = true
    options.transport.hosts.allowsAnyPort = true
    options.freeSpace = FreeSpacePolicy(minimum: 0, percent: 0)

    let store = try AssetStore(opening: state)
    let engine = try DownloadEngine(journal: store, options: options)
    let events = engine.events
    let results = try await engine.add([
      DownloadSpecification(
        app: "com.example.player", identifier: "intro", url: origin.url("/intro.mp4"), transferClass: .essential,
        directory: assets, fileName: "intro.mp4")
    ])
    for await event in events {
      if case .waiting(_, let why) = event { print(why.code, why.data, why.remedy) }
      if case .finished(_, let file) = event { print(file.path) }
      if case .finished = event { break }
      if case .failed = event { break }
    }
    await engine.close()
    try store.close()
    #expect(results.count == 1 && FileManager.default.fileExists(atPath: "\(assets)/intro.mp4"))
  }
}
