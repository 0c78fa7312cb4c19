internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Synchronization

/// `outrider bench neighbours`: a plugin that is called each millisecond, alone, beside a process that computes, and beside each
/// behaviour of a corpus in the same host.
struct NeighbourBenchmark {
  let host: PluginHost
  /// Of the corpus.
  let folder: String
  let manifest: String
  /// Calls that are made alone, and beside the process, in all.
  let count: Int

  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  private static let pause = Duration.milliseconds(1)
  /// Fewer say nothing of a behaviour's own p99, unless no more are asked for.
  private var fewest: Int { min(count, 100) }
  private static let shown = 10

  func run() async throws -> BenchmarkResult {
    let corpus = try CorpusOptions.corpus(in: folder)
    let runner = CorpusRunner(host: host, folder: folder, manifest: manifest)
    let plugin = try await host.load("libc.so.6")
    var (alone, control, beside) = ([Double](), [Double](), [Double]())
    var rows: [(name: String, seconds: [Double])] = []
    // What is compared is measured in turn, some of each between the rows.
    let portions = 20
    let progress = CorpusProgress(total: corpus.rows.count)
    defer { progress.end() }
    let share = max(count / portions, 10)
    for portion in 0..<portions {
      alone += try await Self.calls(plugin) { $0 < share }
      control += try await Self.besideProcess(plugin, share)
      for row in corpus.rows[(corpus.rows.count * portion / portions)..<(corpus.rows.count * (portion + 1) / portions)]
      {
        let seconds = try await self.beside(row, runner, plugin)
        progress.advance()
        beside += seconds
        if seconds.count >= fewest { rows.append((row.name, seconds)) }
      }
    }
    _ = await plugin.end()
    var result = BenchmarkResult()
    result.microseconds = [
      .init("call each millisecond, alone", alone), .init("beside a process that computes", control),
      .init("beside \(corpus.rows.count) behaviours, one at a time", beside),
    ]
    let usual = result.microseconds[0].p99
    result.ratios = zip(["a process that computes", "the behaviours"], result.microseconds.dropFirst()).compactMap {
      .init("p99 beside \($0) to p99 alone", $1.p99, to: usual)
    }
    let slowest = rows.map { BenchmarkResult.Figures("beside \($0.name)", $0.seconds) }.sorted { $0.p99 > $1.p99 }
    result.microseconds += slowest.prefix(Self.shown)
    result.counts = [
      .init(name: "calls beside the behaviours", value: beside.count, unit: ""),
      .init(name: "behaviours long enough for a figure of their own", value: rows.count, unit: ""),
    ]
    return result
  }

  private func beside(_ row: Corpus.Row, _ runner: CorpusRunner, _ plugin: Plugin) async throws -> [Double] {
    let flag = Flag()
    return try await withThrowingTaskGroup(of: [Double]?.self) { group in
      group.addTask {
        defer { flag.isSet.store(true, ordering: .releasing) }
        _ = try await runner.run(row, of: "expected.tsv")
        return nil
      }
      group.addTask { try await Self.calls(plugin) { _ in !flag.isSet.load(ordering: .acquiring) } }
      var found: [Double] = []
      for try await part in group { found += part ?? [] }
      return found
    }
  }

  private static func calls(_ plugin: Plugin, while shouldContinue: (Int) -> Bool) async throws -> [Double] {
    var found: [Double] = []
    while shouldContinue(found.count) {
      try await Task.sleep(for: pause)
      let start = BootClock.now
      _ = try await plugin.call("abs", "i32(i32)", -5)
      found.append((BootClock.now - start).inSeconds)
    }
    return found
  }

  private static func besideProcess(_ plugin: Plugin, _ share: Int) async throws -> [Double] {
    let nothing = OwnedDescriptor(
      taking: try checkErrno("open", "/dev/null") { Glibc.open("/dev/null", O_RDWR | O_CLOEXEC) })
    // Ends with this command, also when that is killed. Foundation's Process was waited for without end here: it learns of the
    // end by a socket that other children may hold.
    let pid = try DetachedProcess.spawn(
      ["/bin/sh", "-c", "while kill -0 $PPID 2>&-; do i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done; done"],
      environment: [:], channel: nothing.number)
    defer {
      kill(pid, SIGKILL)
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    }
    return try await calls(plugin) { $0 < share }
  }
}
