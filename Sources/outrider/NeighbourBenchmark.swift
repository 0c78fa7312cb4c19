internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Synchronization

/// `outrider bench neighbours`: a plugin that is called each millisecond, and sometimes again and again, alone, beside a process
/// that computes, and beside each behaviour of a corpus in the same host.
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

  /// Seconds that calls took.
  private struct Calls {
    /// Of those that came a millisecond after the last.
    var apart: [Double] = []
    /// Of those that followed the last at once.
    var following: [Double] = []

    static func += (calls: inout Calls, others: Calls) {
      calls.apart += others.apart
      calls.following += others.following
    }
  }

  private static let pause = Duration.milliseconds(1)
  /// Each so many milliseconds several calls follow each other instead.
  private static let betweenRows = 4
  private static let row = 50
  /// Fewer say nothing of a behaviour's own p99, unless no more are asked for.
  private var fewest: Int { min(count, 100) }
  private static let shown = 6

  func run() async throws -> BenchmarkResult {
    let corpus = try CorpusOptions.corpus(in: folder)
    let runner = CorpusRunner(host: host, folder: folder, manifest: manifest)
    let plugin = try await host.load("libc.so.6")
    var (alone, control, beside) = (Calls(), Calls(), Calls())
    var rows: [(name: String, calls: Calls)] = []
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
        let calls = try await self.beside(row, runner, plugin)
        progress.advance()
        beside += calls
        rows.append((row.name, calls))
      }
    }
    _ = await plugin.end()
    var result = BenchmarkResult()
    let measured = [
      ("alone", alone), ("beside a process that computes", control),
      ("beside \(corpus.rows.count) behaviours, one at a time", beside),
    ]
    let kinds = [
      ("each millisecond", \Calls.apart, fewest),
      ("that follows another", \.following, fewest * Self.row / Self.betweenRows),
    ]
    for (what, seconds, fewest) in kinds {
      let figures = measured.map { BenchmarkResult.Figures("call \(what), \($0)", $1[keyPath: seconds]) }
      let long = rows.filter { $0.calls[keyPath: seconds].count >= fewest }
      let slowest = long.map { BenchmarkResult.Figures("call \(what), beside \($0.name)", $0.calls[keyPath: seconds]) }
        .sorted { $0.p99 > $1.p99 }
      result.microseconds += figures + slowest.prefix(Self.shown)
      result.ratios += zip(["a process that computes", "the behaviours"], figures.dropFirst()).compactMap {
        .init("call \(what): p99 beside \($0) to p99 alone", $1.p99, to: figures[0].p99)
      }
      result.counts += [
        .init(name: "call \(what): calls beside the behaviours", value: beside[keyPath: seconds].count, unit: ""),
        .init(
          name: "call \(what): behaviours with enough of them for a figure of their own", value: long.count, unit: ""),
      ]
    }
    return result
  }

  private func beside(_ row: Corpus.Row, _ runner: CorpusRunner, _ plugin: Plugin) async throws -> Calls {
    let flag = Flag()
    // Since the last row it hasn't been called, so that its host has stopped it.
    _ = try await Self.calls(plugin) { $0 < Self.betweenRows }
    return try await withThrowingTaskGroup(of: Calls?.self) { group in
      group.addTask {
        defer { flag.isSet.store(true, ordering: .releasing) }
        _ = try await runner.run(row, of: "expected.tsv")
        return nil
      }
      group.addTask { try await Self.calls(plugin) { _ in !flag.isSet.load(ordering: .acquiring) } }
      var found = Calls()
      for try await part in group { found += part ?? Calls() }
      return found
    }
  }

  /// `shouldContinue` is asked with the number of calls a millisecond apart that were made.
  private static func calls(_ plugin: Plugin, while shouldContinue: (Int) -> Bool) async throws -> Calls {
    var found = Calls()
    var turn = 0
    while shouldContinue(found.apart.count) {
      try await Task.sleep(for: pause)
      let first = try await time(plugin)
      turn += 1
      guard turn % betweenRows == 0 else {
        found.apart.append(first)
        continue
      }
      for _ in 0..<row { found.following.append(try await time(plugin)) }
    }
    return found
  }

  /// Of one call.
  private static func time(_ plugin: Plugin) async throws -> Double {
    let start = BootClock.now
    _ = try await plugin.call("abs", "i32(i32)", -5)
    return (BootClock.now - start).inSeconds
  }

  private static func besideProcess(_ plugin: Plugin, _ share: Int) async throws -> Calls {
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
