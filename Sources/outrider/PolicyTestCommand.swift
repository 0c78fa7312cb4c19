internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox
internal import StrictYAML

extension TestReport.Format: ExpressibleByArgument {}

struct PolicyTestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Calls libraries under policies, and compares what they do with what is expected.",
    usage: "outrider policy test [<options>] [<files> ...]",
    discussion: """
      A test file names a library, a policy and calls; each call has a process and an empty container of its own. \
      docs/policy-testing.md describes it. The exit status is 0 where everything is as expected, 1 where \
      something isn't, 64 and 66 for files that are wrong or missing.

      With --corpus, FILES are folders of hostile plugins with a table expected.tsv of what is right for each; \
      without one, Plugins/hostile. --without leaves a wall open, to show what then gets through: hostile code is \
      kept in by the other walls alone, so do that on a machine that you can lose.

      EXPECTATIONS
        returned [VALUE]               expected where nothing else is said
        outcome KIND                   for example wallTimeExceeded
        no denials                     nothing was tried in vain; absent files and
                                       questions (access, W_OK) don't count
        deny CALL | deny PATH          was denied; deny openat /etc names both
        deny read|write|execute PATH   was denied of it, or of what lies in it
        allow PATH                     wasn't denied; also with an access, as deny
        denied by seccomp|files|limits
        memory <= 4MiB, wall <= 2s, cpu < 500ms
        log TEXT, output TEXT|hex:BYTES

      EXAMPLES
        outrider policy test Examples/policies/zlib.test.yaml
        outrider policy test *.test.yaml --format junit --output results.xml
        outrider policy test --corpus --policy policy.yaml --format html
        outrider policy test --corpus --without landlock --failures
      """)
  @Argument(help: "Test files.", completion: .file(extensions: ["yaml", "yml"])) var files: [String] = []
  @Flag(help: "Run the hostile plugins of a folder instead.") var corpus = false
  @OptionGroup var corpusOptions: CorpusOptions
  @Option(help: "table, json, junit or html (default: table).") var format: TestReport.Format?
  @Option(help: "Write the report to this file instead of standard output.", completion: .file()) var output: String?
  @Flag(help: "Show only what isn't as expected.") var failures = false
  @Flag(help: "The same as --format json.") var json = false

  func validate() throws {
    if json, let format, format != .json {
      throw ValidationError("--json and --format \(format.rawValue) contradict each other.")
    }
    if corpus {
      guard files.count < 2 else { throw ValidationError("--corpus takes one folder; \(files.count) were given") }
    } else {
      guard !files.isEmpty else { throw ValidationError("name a test file, or give --corpus") }
      if let option = corpusOptions.given { throw ValidationError("\(option) needs --corpus") }
    }
  }

  func run() async {
    do {
      if let output { try OutputFile.check(output) }
      let report = corpus ? try await corpusReport() : try await testReport()
      Interrupts.yieldToHandler()
      try write(report)
      Exit.leave(report.failures == 0 ? 0 : 1)
    } catch {
      Exit.with(error)
    }
  }

  private func corpusReport() async throws -> TestReport {
    try await corpusOptions.report(of: files.first ?? CorpusOptions.ownFolder)
  }

  private func testReport() async throws -> TestReport {
    // All of them before the first library is loaded.
    let plans = try files.map { try PolicyTestPlan($0) }
    var none = TestReport()
    none.missing = plans.flatMap { plan in
      plan.tests.tests.map { .init(file: plan.file, line: $0.line, name: $0.name) }
    }
    let count = none.missing.count
    let report = Interim(none)
    let progress = CorpusProgress(total: count)
    let command = self
    let host = try SandboxOptions.makeHost {
      progress.end()
      do { try command.write(report.now) } catch {
        Output.note("the report isn't written: \((error as? Failure)?.message ?? "\(error)")")
      }
      Output.note("interrupted after \(report.now.results.count) of \(count) tests")
    }
    defer { host.stop() }
    let runner = PolicyTestRunner(host: host)
    for plan in plans {
      for test in plan.tests.tests {
        do throws(HostError) {
          let result = try await runner.run(test, of: plan.file, library: plan.library)
          report.update {
            $0.missing.removeFirst()
            $0.results.append(result)
          }
        } catch {
          throw Failure(error, at: "\(plan.file):\(test.line)")
        }
        progress.advance()
      }
    }
    progress.end()
    return report.now
  }

  private func write(_ report: TestReport) throws {
    let text = try report.text(json ? .json : format ?? .table, onlyFailures: failures)
    guard let output else { return Output.line(text) }
    try OutputFile.write(text + "\n", to: output)
    Output.note(report.summary)
  }
}

/// A test file as the command line names it.
struct PolicyTestPlan {
  let file: String
  /// As `PluginHost.load` takes it.
  let library: String
  let tests: PolicyTests

  /// `readsPolicies`: a recording is made before there is one.
  init(_ file: String, readsPolicies: Bool = true) throws {
    let text = try PolicyInput.text(of: file)
    let folder = file.parentFolder.map { $0 + "/" } ?? ""
    do {
      tests = try PolicyTests(parsing: text, file: file) { path in
        guard readsPolicies else { return Policy() }
        return try PolicyInput.policy(at: path.isAbsolutePath || PolicyInput.isShipped(path) ? path : folder + path)
      }
    } catch let error as YAMLFileError {
      throw Failure(64, error.description)
    } catch let error as PolicyTests.UnreadPolicy {
      guard let failure = error.reason as? Failure else { throw error.reason }
      throw Failure(failure.status, "\(error.place): \(failure.message)")
    }
    let isBeside = tests.plugin.hasSlash && !tests.plugin.isAbsolutePath
    library = isBeside ? folder + tests.plugin : tests.plugin
    self.file = file
  }
}

extension Failure {
  /// A host's error about one entry of a file.
  init(_ error: HostError, at place: String) {
    let status: Int32 =
      switch error {
      case .usage, .excess: 64
      case .input: 66
      default: 70
      }
    self.init(status, "\(place): \(Printable.text(error.description, limit: 900))")
  }
}
