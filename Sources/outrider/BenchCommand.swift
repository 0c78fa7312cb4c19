internal import ArgumentParser
internal import Foundation
internal import LinuxSystem
internal import PluginHost

struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures wakes, warm calls, ends at a deadline, what wakes leave, or what neighbours cost.",
    usage: "outrider bench [<options>] <what> [<extension>]",
    discussion: """
      Each is measured in turn with what it compares with; other figures than those of one run can't be compared, and \
      the load average is printed with them.

      'wake': load, content request and end, with a runner standing ready and without; the same plugin without a wall \
      in a fork of the preloaded process; 'bwrap … /bin/true' where that is installed; an idle runner's memory.

      'call': from a task's call of a loaded plugin to its answer, for calls that follow each other, that come 5 ms after \
      the last, that carry 1 MiB each way, and of 50 plugins in turn, beside one that is called as rarely; the same over a socket; what two threads do by \
      spinning, by futex and by a socket; memcpy; the function itself; and the same function in wasmtime, where Python has \
      that package.

      'kill': from a deadline to the process being gone.

      'leaks': what so many wakes leave of descriptors, processes, cgroups, folders and memory.

      'neighbours': a plugin that is called each millisecond, and now and then again and again, alone, beside a process \
      that computes, and beside each behaviour of a corpus of hostile plugins in the same host; how many times as long \
      its slowest calls (p99) take beside them; the behaviours that slow it most.

      EXAMPLES
        outrider bench wake SessionsDownloader.so -n 500
        outrider bench call -n 2000
        outrider bench neighbours Plugins/hostile -n 5000
      """)

  enum What: String, ExpressibleByArgument, CaseIterable { case wake, call, kill, leaks, neighbours }

  @Argument(help: "wake, call, kill, leaks or neighbours.") var what: What
  @Argument(
    help: """
      A .so, an .appex folder, or for neighbours the folder of a corpus; none for call, which calls the C library.
      """,
    completion: .file())
  var `extension`: String?
  @Option(name: .customShort("n"), help: "How often.") var count = 200
  @Option(help: "The manifest of the content request; ten assets by default. None for call.", completion: .file())
  var manifest: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func validate() throws {
    if what == .call {
      if `extension` != nil { throw ValidationError("call measures calls of the C library; leave the extension out.") }
      if manifest != nil { throw ValidationError("call makes no content request; leave --manifest out.") }
      return
    }
    guard `extension` ?? "" == "" else { return }
    throw ValidationError(
      "Name what '\(what)' is to measure: \(what == .neighbours ? "the folder of a corpus" : "a .so or an .appex folder")."
    )
  }

  func run() async {
    do {
      guard count > 0 else { throw Failure(64, "-n \(count): give how often, 1 or more") }
      try print(try await measure())
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  /// Comes back before the command is left, which nothing that is deferred would see.
  private func measure() async throws -> BenchmarkResult {
    let named = `extension` ?? ""
    let library = named.isEmpty || what == .neighbours ? named : LibraryPath.of(named)
    if what != .neighbours, !library.isEmpty { _ = try PluginImage(opening: library) }
    let own = try manifest == nil ? Benchmark.smallManifest() : nil
    // At an interrupt this thread may remove it, too: neither stops where the other has removed something first.
    let removeOwn: @Sendable () -> Void = { if let own { Files.removeTree(own.folder) } }
    defer { removeOwn() }
    let host = try SandboxOptions.parse([]).makeHost(cleanUp: removeOwn)
    defer { host.stop() }
    let benchmark = Benchmark(
      host: host, library: library, manifest: manifest ?? own?.path ?? "", count: count)
    return switch what {
    case .wake: try await benchmark.wakes()
    case .call: try await benchmark.calls()
    case .kill: try await benchmark.kills()
    case .leaks: try await benchmark.leaks()
    case .neighbours:
      try await NeighbourBenchmark(
        host: host, folder: library, manifest: benchmark.manifest, count: count
      ).run()
    }
  }

  private func print(_ result: BenchmarkResult) throws {
    if json { return try Output.json(result) }
    if !result.microseconds.isEmpty {
      Output.table(
        ["µs", "p50", "p90", "p99"],
        result.microseconds.map { figure in
          [figure.name] + [figure.p50, figure.p90, figure.p99].map { String(format: "%.1f", $0) }
        })
    }
    for ratio in result.ratios { Output.line("\(ratio.name): \(String(format: "%.2f", ratio.value)) times") }
    for line in result.counts { Output.line("\(line.name): \(line.value) \(line.unit)") }
    Output.line("load average: " + result.load.map { String(format: "%.1f", $0) }.joined(separator: " "))
  }
}
