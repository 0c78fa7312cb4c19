internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

struct PolicyRecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Runs a plugin until it gets what it asks for, and writes the smallest policy for that.",
    usage: """
      outrider policy record [<options>] call <library> <symbol> <signature> [<argument> ...]
      outrider policy record [<options>] run <extension> --request <name> --manifest <file>
      outrider policy record [<options>] <test file> ...
      """,
    discussion: """
      Each round runs the same under all walls and observes what is asked for; the next one grants the files that were \
      denied, and raises a limit that ended it. Nothing else is widened. When nothing more is asked for, the limits \
      are made as small as what was used allows, and a last round proves them. Each line of the policy says what \
      needed it. Read it before you use it: what a plugin asks for isn't always what it should get.

      Tests that expect something to be denied ask for nothing, and what they expect to be denied is never granted.

      What nobody would grant unread is listed and not granted: homes, /proc, /run, /etc/shadow, whole folders of the \
      system. A policy that has it already, given with --policy to 'call' and 'run' or to this command for test files, \
      is where recording starts from.

      The exit status is 0 where everything ran to its end and nothing was denied any more, 1 where something still is, \
      and otherwise that of the run that failed.

      EXAMPLES
        outrider policy record call libxml2.so.2 xmlReadFile 'pointer(cstring,cstring,i32)' /usr/share/a.xml null 0
        outrider policy record --output policy.yaml run c.so --request install --manifest m.json
        outrider policy record --output sqlite.yaml Examples/policies/sqlite.test.yaml
      """)

  @Option(help: "Write the policy to this file instead of standard output.", completion: .file()) var output: String?
  @Option(help: "For test files: the policy to start from; theirs aren't used.", completion: .file()) var policy:
    String?
  @Option(help: ArgumentHelp("Grant a folder in the place of so many files in it.", valueName: "count"))
  var folderFrom: Int?
  @Option(help: "The most rounds.") var rounds = 16
  @Option(help: "The most memory to try with.") var maxMemory = "1GiB"
  @Option(help: "The longest time to try with.") var maxTime = "60s"
  @Argument(parsing: .captureForPassthrough, help: "'call' or 'run' with what follows it, or test files.") var command:
    [String]

  func validate() throws {
    // What captures what follows it captures that, too.
    if let first = command.first, ["--help", "-h"].contains(first) { throw CleanExit.helpRequest(Self.self) }
    guard !command.isEmpty, command != ["--"] else {
      throw ValidationError("name what to run: call …, run … or test files")
    }
    guard (1...100).contains(rounds) else { throw ValidationError("--rounds is a number from 1 to 100") }
    guard folderFrom.map({ $0 >= 2 }) ?? true else { throw ValidationError("--folder-from is a number from 2") }
  }

  func run() async {
    do {
      var words = command
      if words.first == "--" { words.removeFirst() }
      let (attempt, base) = try Attempt.made(of: words, policy: policy)
      defer { attempt.end() }
      let recording = try await record(attempt, base, words)
      attempt.end()
      Interrupts.yieldToHandler()
      Exit.leave(recording)
    } catch {
      Exit.with(error)
    }
  }

  private func bounds() throws -> PolicyRecorder.Bounds {
    var bounds = PolicyRecorder.Bounds()
    bounds.rounds = rounds
    bounds.filesOfFolder = folderFrom
    guard let memory = Quantity.bytes(maxMemory) else {
      throw Failure(64, "--max-memory '\(maxMemory)' isn't a size, for example 256MiB")
    }
    guard let time = Quantity.duration(maxTime) else {
      throw Failure(64, "--max-time '\(maxTime)' isn't a time, for example 60s")
    }
    (bounds.memory, bounds.wall) = (memory, time)
    return bounds
  }

  /// The exit status.
  private func record(_ attempt: Attempt, _ base: Policy, _ words: [String]) async throws -> Int32 {
    var bounds = try bounds()
    bounds.never = attempt.never
    var recorder = PolicyRecorder(base: base, bounds: bounds)
    var policy = recorder.first
    while true {
      let round = try await attempt.run(under: policy)
      let before = policy
      switch recorder.handle(round, kind: Self.kind) {
      case .run(let next):
        for change in PolicyDifference(from: before, to: next).changes where change.isWider {
          Output.note("granting \(Printable.text(change.text, limit: 400))")
        }
        policy = next
      case .finished(let recording):
        try write(recording, words)
        summarize(recording)
        return recording.denials.isEmpty ? 0 : 1
      case .stopped(let recording, let why):
        try write(recording, words)
        summarize(recording)
        Output.error("it didn't come to its end: \(why)")
        let failed = recording.observed.first { $0.outcome.kind != .returned }
        return failed?.outcome.kind.exitStatus ?? 1
      }
    }
  }

  private func summarize(_ recording: Recording) {
    if let note = recording.note { Output.note(Printable.text(note, limit: 400)) }
    for (path, reason) in recording.refused {
      Output.note("not granted: \(Printable.text(path, limit: 400)); \(reason)")
    }
    for denial in recording.denials { Output.note("still denied by \(Printable.text(denial.text, limit: 400))") }
  }

  private func write(_ recording: Recording, _ words: [String]) throws {
    let text = PolicyText(
      recording, command: "outrider policy record " + words.map(Self.shellWord).joined(separator: " ")
    ).text
    guard let output else { return Output.line(String(text.dropLast())) }
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: output), options: .atomic)
    } catch {
      throw Failure(73, "\(output): \((error as NSError).localizedDescription)")
    }
    Output.note("\(output): written after \(recording.rounds) rounds")
  }

  private static func shellWord(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20) || "/._-+:=@,".utf8.contains(byte)
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }

  private static func kind(_ path: String) -> PolicyRecorder.PathKind {
    Files.isFolder(path).map { $0 ? .folder : .file } ?? .absent
  }
}

/// What is run in each round, with the host that runs it.
private struct Attempt {
  let host: PluginHost
  /// Paths that are to be denied.
  var never: Set<String> = []
  let body: (Policy) async throws -> [Observed]
  let cleanUp: () -> Void

  func run(under policy: Policy) async throws -> [Observed] { try await body(policy) }

  func end() {
    host.stop()
    cleanUp()
  }

  static func made(of words: [String], policy: String?) throws -> (Attempt, Policy) {
    switch words[0] {
    case "call", "run":
      guard policy == nil else {
        throw Failure(64, "give --policy to '\(words[0])': … record \(words[0]) … --policy FILE")
      }
      return words[0] == "call" ? try call(Array(words.dropFirst())) : try wake(Array(words.dropFirst()))
    default:
      if words[0].hasPrefix("-") { throw Failure(64, "'\(words[0])' comes before 'call', 'run' or the test files") }
      return try tests(words, policy)
    }
  }

  private static func call(_ words: [String]) throws -> (Attempt, Policy) {
    let command = try parsed(CallCommand.self, words)
    let base = try command.sandbox.makePolicy()
    var checked = base
    _ = try command.values(&checked)
    let host = try command.sandbox.makeHost()
    let attempt = Attempt(
      host: host,
      body: { policy in
        var policy = policy
        let values = try command.values(&policy)
        let (report, result) = try await command.perform(host, policy, values)
        return [Observed(report, result)]
      }, cleanUp: {})
    return (attempt, base)
  }

  private static func wake(_ words: [String]) throws -> (Attempt, Policy) {
    let command = try parsed(RunCommand.self, words)
    let base = try command.sandbox.makePolicy()
    let prepared = try command.prepare(base)
    let host = try command.sandbox.makeHost { prepared.manifest.remove() }
    let attempt = Attempt(
      host: host,
      body: { policy in
        let (report, verdict, failure) = try await command.wake(host, policy, prepared)
        if let failure { throw failure }
        return [Observed(report, verdict)]
      }, cleanUp: { prepared.manifest.remove() })
    return (attempt, base)
  }

  private static func tests(_ files: [String], _ policy: String?) throws -> (Attempt, Policy) {
    let base = try policy.map(PolicyInput.policy) ?? Policy()
    let plans = try files.map { try PolicyTestPlan($0) }
    let host = try SandboxOptions.makeHost()
    let runner = PolicyTestRunner(host: host)
    let tests = plans.flatMap { plan in plan.tests.tests.map { (plan, $0) } }
    // One that has something denied isn't to get it.
    let asking = tests.filter { !$0.1.expectations.contains(where: \.isOfDenial) }
    guard !asking.isEmpty else {
      throw Failure(64, "each test expects something to be denied: there is nothing to record")
    }
    let attempt = Attempt(
      host: host, never: Set(tests.flatMap { $0.1.expectations.compactMap(\.deniedPath) }),
      body: { policy in
        var all: [Observed] = []
        for (plan, test) in asking {
          var test = test
          test.policy = policy
          do throws(HostError) {
            let (observed, failed) = try await runner.observe(test, plan.library)
            if let failed {
              let seen = Printable.text("\(failed.expectation); \(failed.objection ?? "")", limit: 400)
              Output.note("\(plan.file):\(test.line): expected \(seen)")
            }
            all.append(observed)
          } catch {
            throw Failure(error, at: "\(plan.file):\(test.line)")
          }
        }
        return all
      }, cleanUp: {})
    return (attempt, base)
  }

  private static func parsed<Command: ParsableCommand>(_ type: Command.Type, _ words: [String]) throws -> Command {
    do {
      return try type.parse(words)
    } catch {
      let text = type.fullMessage(for: error)
      guard type.exitCode(for: error).isSuccess else { throw Failure(64, type.message(for: error)) }
      Output.line(text)
      Exit.leave(0)
    }
  }
}
