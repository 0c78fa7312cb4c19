internal import ArgumentParser
internal import AssetModel
internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

/// What `outrider policy test --corpus` takes besides.
struct CorpusOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "With --corpus: leave this wall open, for example landlock or mountNamespace.", valueName: "wall"))
  var without: [String] = []
  @Option(
    help: ArgumentHelp("With --corpus: the policy of all rows.", valueName: "file"),
    completion: .file(extensions: ["yaml", "yml"]))
  var policy: String?
  @Option(help: ArgumentHelp("With --corpus: only the rows of these threats, for example H28,H34.", valueName: "ids"))
  var rows: String?

  static let ownFolder = "Plugins/hostile"

  /// The first of them that was given.
  var given: String? { without.isEmpty ? policy != nil ? "--policy" : rows != nil ? "--rows" : nil : "--without" }

  /// What one worker runs: hosts have a fork server each, and most behaviours wait for a clock.
  private static let workers = 2

  func report(of folder: String) async throws -> TestReport {
    let table = folder + "/expected.tsv"
    let chosen = try chosen(try Self.corpus(in: folder))
    for row in chosen where !Files.exists("\(folder)/\(row.library)") {
      throw Failure(66, "\(folder)/\(row.library) isn't there; 'make -C \(folder)' builds the plugins of a corpus")
    }
    let runners = try runners(folder, walls: try walls())
    defer { for runner in runners { runner.host.stop() } }
    let progress = CorpusProgress(total: chosen.count)
    defer { progress.end() }
    return try await withThrowingTaskGroup(of: [(Int, PolicyTestResult)].self) { group in
      for (part, runner) in runners.enumerated() {
        group.addTask {
          var results: [(Int, PolicyTestResult)] = []
          for index in stride(from: part, to: chosen.count, by: runners.count) {
            try Task.checkCancellation()
            do throws(HostError) {
              results.append((index, try await runner.run(chosen[index], of: table)))
            } catch {
              throw Failure(error, at: chosen[index].place(in: table))
            }
            progress.advance()
          }
          return results
        }
      }
      var results: [(Int, PolicyTestResult)] = []
      for try await part in group { results += part }
      var report = TestReport()
      report.noun = ("row", "rows")
      report.results = results.sorted { $0.0 < $1.0 }.map(\.1)
      return report
    }
  }

  static func corpus(in folder: String) throws -> Corpus {
    let table = folder + "/expected.tsv"
    let text = try PolicyInput.text(of: table, limit: 4 << 20)
    do throws(Corpus.Invalid) {
      return try Corpus(parsing: text)
    } catch {
      throw Failure(64, error.description(in: table))
    }
  }

  private func chosen(_ corpus: Corpus) throws -> [Corpus.Row] {
    guard let rows else { return corpus.rows }
    let ids = rows.split(separator: ",").map(String.init)
    if let unknown = ids.first(where: { id in !corpus.rows.contains { $0.id == id } }) {
      throw Failure(64, "the corpus has no row '\(unknown)'; its rows begin with \(corpus.rows[0].id)")
    }
    return corpus.rows.filter { ids.contains($0.id) }
  }

  private func walls() throws -> Set<Wall> {
    var walls: Set<Wall> = []
    for name in without {
      guard let wall = Wall(rawValue: name), CorpusRunner.removable.contains(wall) else {
        let known = Wall.allCases.filter(CorpusRunner.removable.contains).map(\.rawValue).joined(separator: ", ")
        throw Failure(
          64,
          name == Wall.watchdog.rawValue
            ? "without the watchdog nothing would end a plugin that waits for ever; --without takes \(known)"
            : "'\(name)' isn't a wall; --without takes \(known)")
      }
      walls.insert(wall)
    }
    return walls
  }

  private func runners(_ folder: String, walls: Set<Wall>) throws -> [CorpusRunner] {
    let base = try policy.map(PolicyInput.policy) ?? Policy()
    let hosts = try SandboxOptions.makeHosts(
      Self.workers, withoutNamespaces: walls.intersection(CorpusRunner.namespaces))
    return hosts.map { host in
      var runner = CorpusRunner(host: host, folder: folder, manifest: folder + "/manifest.json")
      runner.policy = base
      runner.withoutWalls = walls
      return runner
    }
  }
}
