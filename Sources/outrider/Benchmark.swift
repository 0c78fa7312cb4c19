internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import Sandbox

/// What `outrider bench` does. Everything that is compared is measured in turn.
struct Benchmark {
  let host: PluginHost
  let library: String
  let manifest: String
  let count: Int

  func wakes() async throws -> BenchmarkResult {
    var ready: [Double] = []
    var unprepared: [Double] = []
    var bare: [Double] = []
    var bubblewrap: [Double] = []
    for index in 0..<count + 5 {
      // A fork of the server's in another's time would be charged to the wrong one.
      try await host.prepare(for: library)
      let samples = (
        try await Self.time { try await wake() }, try await Self.time { try await wake() },
        try await host.bareWake(library, manifest: manifest), Bubblewrap.run()
      )
      // The first ones fault in what all later ones share.
      if index < 5 { continue }
      ready.append(samples.0)
      unprepared.append(samples.1)
      bare.append(samples.2)
      if let seconds = samples.3 { bubblewrap.append(seconds) }
    }
    var result = BenchmarkResult()
    result.microseconds = [
      .init("wake, a runner stands ready", ready), .init("wake right after another", unprepared),
      .init("bare fork + dlopen + call", bare),
    ]
    if !bubblewrap.isEmpty { result.microseconds.append(.init(Bubblewrap.name, bubblewrap)) }
    result.counts = try await idleMemory()
    return result
  }

  func calls() async throws -> BenchmarkResult { try await CallBenchmark(host: host, count: count).run() }

  func kills() async throws -> BenchmarkResult {
    var samples: [Double] = []
    for _ in 0..<count {
      let report: RunReport
      do throws(HostError) {
        let plugin = try await host.load("libc.so.6", policy: Policy(limits: Limits(wallTime: .milliseconds(10))))
        _ = try? await plugin.call("pause", "i32()")
        report = await plugin.end()
      } catch {
        // On a busy machine even loading may take as long: it was stopped all the same.
        guard let ended = error.report else { throw error }
        report = ended
      }
      if let seconds = report.usage.overrunSeconds { samples.append(seconds) }
    }
    var result = BenchmarkResult()
    result.microseconds = [.init("deadline to gone", samples)]
    return result
  }

  /// The first and the last tenth of the wakes, and what there is after all of them more than before.
  func leaks() async throws -> BenchmarkResult {
    // Until caches are full, allocators have settled, and the server's code is in huge pages.
    for _ in 0..<50 {
      try await host.prepare(for: library)
      try await wake()
    }
    try await host.prepare(for: library)
    let before = await host.inventory()
    var times: [Double] = []
    for _ in 0..<count { times.append(try await Self.time { try await wake() }) }
    try await host.prepare(for: library)
    let after = await host.inventory()
    let part = max(count / 10, 1)
    var result = BenchmarkResult()
    result.microseconds = [
      .init("first \(part) wakes", Array(times.prefix(part))), .init("last \(part) wakes", Array(times.suffix(part))),
    ]
    result.counts = [
      .init(name: "wakes", value: count, unit: ""),
      .init(name: "descriptors left", value: after.descriptors - before.descriptors, unit: ""),
      .init(name: "processes left", value: after.processes - before.processes, unit: ""),
      .init(name: "cgroups left", value: after.cgroups - before.cgroups, unit: ""),
      .init(name: "folders left", value: after.folders - before.folders, unit: ""),
      .init(name: "host's memory", value: (after.hostMemory - before.hostMemory) >> 10, unit: "KiB more"),
      .init(name: "fork server's memory", value: (after.serverMemory - before.serverMemory) >> 10, unit: "KiB more"),
    ]
    return result
  }

  private func load() async throws -> Plugin {
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = true
    return try await host.load(library, options: options)
  }

  private func wake() async throws {
    let plugin = try await load()
    _ = try await plugin.contentRequest(.install)
    _ = await plugin.end()
  }

  private func idleMemory() async throws -> [BenchmarkResult.Count] {
    try await host.prepare(for: library)
    let plugin = try await load()
    try await Task.sleep(for: .milliseconds(50))
    let loaded = await plugin.memoryShare()
    _ = try await plugin.contentRequest(.install)
    // By then it is frozen, and the next spare stands beside it.
    try await Task.sleep(for: .milliseconds(50))
    let used = await plugin.memoryShare()
    _ = await plugin.end()
    guard let loaded, let used else { return [] }
    return [
      .init(name: "private memory of an idle runner, loaded", value: loaded.ownBytes >> 10, unit: "KiB"),
      .init(
        name: "private memory of an idle runner, after its content request", value: used.ownBytes >> 10, unit: "KiB"),
      .init(
        name: "shared with the fork server and the page cache", value: (used.residentBytes - used.ownBytes) >> 10,
        unit: "KiB"),
    ]
  }

  /// A manifest of ten assets in a new folder of this user's own. The caller removes the folder.
  static func smallManifest() throws -> (path: String, folder: String) {
    let sessions = (1...10).map { index in
      #"{"id":"talk-\#(index)","title":"Talk \#(index)","url":"https://localhost/\#(index).mp4","size":1048576,"essential":false}"#
    }
    let folder = try Files.temporaryDirectory(
      in: FileManager.default.temporaryDirectory.path, prefix: "outrider-bench-")
    let path = folder + "/manifest.json"
    try Data(#"{"sessions":[\#(sessions.joined(separator: ","))]}"#.utf8).write(to: URL(fileURLWithPath: path))
    return (path, folder)
  }

  private static func time(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return start.duration(to: .now) / .seconds(1)
  }
}
