internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

extension TestReport.Format: ExpressibleByArgument {}

struct PolicyTestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: "Calls libraries under policies, and compares what they do with what is expected.",
    discussion: """
      A test file names a library, a policy and calls; each call has a process and an empty container of its own. \
      docs/policy-testing.md describes it. The exit status is 0 where everything is as expected, 1 where \
      something isn't, 64 and 66 for files that are wrong or missing.

      EXPECTATIONS
        returned [VALUE]               also expected where a test says nothing of the outcome
        outcome KIND                   for example wallTimeExceeded
        no denials                     nothing was tried in vain
        deny CALL | deny PATH          that was denied; deny openat /etc/passwd names both
        allow PATH                     that wasn't denied
        denied by seccomp|files|limits
        memory <= 4MiB, wall <= 2s, cpu < 500ms
        log TEXT, output TEXT|hex:BYTES

      EXAMPLES
        outrider policy test Examples/policies/zlib.test.yaml
        outrider policy test *.test.yaml --format junit --output results.xml
        outrider policy test tests.yaml --format html --output results.html
      """)
  @Argument(help: "Test files.", completion: .file(extensions: ["yaml", "yml"])) var files: [String]
  @Option(help: "table, json, junit or html.") var format: TestReport.Format = .table
  @Option(help: "Write the report to this file instead of standard output.", completion: .file()) var output: String?
  @Flag(help: "The same as --format json.") var json = false

  func run() async {
    do {
      // All of them before the first library is loaded.
      var plans: [(file: String, library: String, tests: PolicyTests)] = []
      for file in files { plans.append(try Self.plan(file)) }
      let host = try SandboxOptions.makeHost()
      let runner = PolicyTestRunner(host: host)
      var report = TestReport()
      for plan in plans {
        for test in plan.tests.tests {
          do throws(HostError) {
            report.results.append(try await runner.run(test, of: plan.file, library: plan.library))
          } catch {
            host.stop()
            Interrupts.yieldToHandler()
            throw Failure(
              Self.status(of: error), "\(plan.file):\(test.line): \(Printable.text(error.description, limit: 900))")
          }
        }
      }
      host.stop()
      Interrupts.yieldToHandler()
      try write(report)
      Exit.leave(report.failures == 0 ? 0 : 1)
    } catch {
      Exit.with(error)
    }
  }

  private static func plan(_ file: String) throws -> (file: String, library: String, tests: PolicyTests) {
    let text = String(decoding: try InputFile.content(of: file, limit: 1 << 20), as: UTF8.self)
    let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
    do {
      let tests = try PolicyTests(parsing: text, file: file) { path in
        try PolicyInput.policy(at: path.hasPrefix("/") ? path : folder + path)
      }
      let isBeside = tests.plugin.contains("/") && !tests.plugin.hasPrefix("/")
      return (file, isBeside ? folder + tests.plugin : tests.plugin, tests)
    } catch let error as PolicyFileError {
      throw Failure(64, error.description)
    }
  }

  private static func status(of error: HostError) -> Int32 {
    switch error {
    case .usage: 64
    case .input: 66
    default: 70
    }
  }

  private func write(_ report: TestReport) throws {
    let text = try report.text(json ? .json : format)
    guard let output else { return Output.line(text) }
    do {
      try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
    } catch {
      throw Failure(73, "\(output): \((error as NSError).localizedDescription)")
    }
    Output.note(report.summary)
  }
}
