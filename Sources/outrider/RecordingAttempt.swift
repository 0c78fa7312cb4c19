internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Glibc
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

/// What is run in each round, with the host that runs it.
struct RecordingAttempt {
  let host: PluginHost
  struct Round {
    /// Of what is run, in its order.
    var observed: [Observed]
    /// What was expected otherwise, of tests: only that of the last round says anything.
    var mismatches: [String] = []
  }

  /// Paths that are to be denied.
  var never: Set<String> = []
  /// Of what is run, in its order.
  var names: [String] = []
  /// What is known after each round, for a user who stops it.
  let interim: Interim<Recording?>
  let body: (Policy) async throws -> Round
  let cleanUp: () -> Void

  /// Rounds until nothing more is asked for. The text says why it doesn't come to its end. `granted`: what the next round has more.
  func record(
    from base: Policy, bounds: PolicyRecorder.Bounds, granted: (PolicyDifference.Change) -> Void = { _ in }
  ) async throws -> (Recording, String?) {
    var bounds = bounds
    bounds.never = never
    bounds.grantsLists = try await host.walls()[.landlock]?.state == .full
    var recorder = PolicyRecorder(base: base, bounds: bounds)
    var policy = recorder.first
    while true {
      let round: Round
      do {
        round = try await body(policy)
      } catch let error as HostError {
        guard policy != base else { throw error }
        switch error {
        case .excess(let text):
          return (recorder.soFar, "\(text); --folder-from COUNT grants a folder in the place of so many files in it")
        // The host takes no such policy, for a path that a plugin may have made, or took away in an earlier round.
        case .usage(let text): return (recorder.soFar, text)
        case .input(let text) where recorder.soFar.rounds > 0: return (recorder.soFar, text)
        default: throw error
        }
      } catch let failure as Failure where recorder.soFar.rounds > 0 {
        // What an earlier round left behind may be why.
        return (recorder.soFar, failure.message)
      }
      let step = recorder.handle(round.observed, on: Self.machine)
      interim.update { $0 = recorder.soFar }
      if case .run(let next) = step {
        for change in PolicyDifference(from: policy, to: next).changes where change.isWider { granted(change) }
        policy = next
        continue
      }
      for mismatch in round.mismatches { Output.note(mismatch) }
      switch step {
      case .run: continue
      case .finished(let recording): return (recording, nil)
      case .stopped(let recording, let why): return (recording, why)
      }
    }
  }

  private static var machine: PolicyRecorder.Machine {
    var machine = PolicyRecorder.Machine(
      kind: { path in Files.isFolder(path).map { $0 ? .folder : .file } ?? .absent },
      real: { path in (try? Files.real(path)) ?? path },
      isPrivate: { path in Files.mode(of: path).map { $0 & S_IFMT == S_IFREG && $0 & S_IROTH == 0 } ?? false })
    machine.matches = { pattern in
      var policy = Policy()
      policy.patterns = [PatternGrant(.read, pattern, isOptional: true)]
      return try? PatternExpansion.resolved(policy).read
    }
    machine.hops = { LinkHops.all(from: $0, link: Files.link) }
    machine.isLink = { Files.link($0) != nil }
    machine.plantedLinks = { policy in PluginReach(under: policy).plantedLink }
    machine.isPlugins = { policy in PluginReach(under: policy).holds }
    machine.isOpenToAll = PolicyPath.isOpenToAll
    machine.isDevice = { path in (try? Files.identity(of: path))?.isDevice ?? false }
    return machine
  }

  func end() {
    host.stop()
    cleanUp()
  }

  /// `stopped`: by an interrupt, with what is known by then.
  static func made(
    of words: [String], policy: String?, stopped: @escaping @Sendable (Recording) -> Void
  ) throws -> (RecordingAttempt, Policy) {
    let interim = Interim<Recording?>(nil)
    let stop: @Sendable () -> Void = {
      guard let recording = interim.now else { return Output.note("stopped in its first round: nothing was recorded") }
      stopped(recording)
    }
    switch words[0] {
    case "call", "run":
      guard policy == nil else {
        throw Failure(64, "give --policy to '\(words[0])': … record \(words[0]) … --policy FILE")
      }
      let rest = Array(words.dropFirst())
      return words[0] == "call" ? try call(rest, interim, stop) : try wake(rest, interim, stop)
    default:
      if words[0].hasPrefix("-") {
        throw Failure(64, "'\(words[0])' isn't an option of record; see 'outrider policy record --help'")
      }
      return try tests(words, policy, interim: interim, stop: stop)
    }
  }

  private static func refuse(
    _ sandbox: SandboxOptions, _ development: DevelopmentOptions, _ tracing: TraceOptions
  ) throws {
    if let option = development.option ?? tracing.option {
      throw Failure(64, "\(option): what is recorded is a run as it will be; leave it out")
    }
    if sandbox.json { throw Failure(64, "--json: what is recorded is a policy, which is YAML; leave it out") }
  }

  private static func call(
    _ words: [String], _ interim: Interim<Recording?>, _ stop: @escaping @Sendable () -> Void
  ) throws -> (RecordingAttempt, Policy) {
    let command = try parsed(CallCommand.self, words)
    try refuse(command.sandbox, command.development, command.tracing)
    let base = try command.sandbox.makePolicy()
    var checked = base
    _ = try command.values(&checked)
    let host = try command.sandbox.makeHost(cleanUp: stop)
    let attempt = RecordingAttempt(
      host: host, interim: interim,
      body: { policy in
        var policy = policy
        let values = try command.values(&policy)
        let (report, result) = try await command.perform(host, policy, values)
        return Round(observed: [Observed(report, result, under: policy)])
      }, cleanUp: {})
    return (attempt, base)
  }

  private static func wake(
    _ words: [String], _ interim: Interim<Recording?>, _ stop: @escaping @Sendable () -> Void
  ) throws -> (RecordingAttempt, Policy) {
    let command = try parsed(RunCommand.self, words)
    try refuse(command.sandbox, command.development, command.tracing)
    let base = try command.sandbox.makePolicy()
    let prepared = try command.prepare(base)
    let host = try command.sandbox.makeHost {
      stop()
      prepared.manifest.remove()
    }
    let attempt = RecordingAttempt(
      host: host, interim: interim,
      body: { policy in
        let (report, verdict, failure) = try await command.wake(host, policy, prepared)
        if let failure { throw failure }
        return Round(observed: [Observed(report, verdict, under: policy)])
      }, cleanUp: { prepared.manifest.remove() })
    return (attempt, base)
  }

  /// `library`: in the place of the one that the files name.
  static func tests(
    _ files: [String], _ policy: String?, library: String? = nil, interim: Interim<Recording?> = Interim(nil),
    stop: @escaping @Sendable () -> Void = {}
  ) throws -> (RecordingAttempt, Policy) {
    let base = try policy.map(PolicyInput.policy) ?? Policy()
    let plans = try files.map { try PolicyTestPlan($0, readsPolicies: false) }
    let host = try SandboxOptions.makeHost(cleanUp: stop)
    let runner = PolicyTestRunner(host: host)
    let tests = plans.flatMap { plan in plan.tests.tests.map { (plan, $0) } }
    // One that has something denied isn't to get it.
    let asking = tests.filter { !$0.1.expectations.contains(where: \.isOfDenial) }
    guard !asking.isEmpty else {
      throw Failure(64, "each test expects something to be denied: there is nothing to record")
    }
    let denied = tests.flatMap { $0.1.expectations.compactMap(\.deniedPath) }
    let attempt = RecordingAttempt(
      host: host, never: Set(denied + denied.compactMap { try? Files.real($0) }), names: asking.map(\.1.name),
      interim: interim,
      body: { policy in
        var round = Round(observed: [])
        for (plan, test) in asking {
          var test = test
          let limits = policy.limits.taking(test.ownLimits, from: test.policy.limits)
          test.policy = policy
          test.policy.limits = limits
          do throws(HostError) {
            var (observed, failed) = try await runner.observe(test, library ?? plan.library)
            observed.ownLimits = test.ownLimits
            observed.endsAsExpected = test.expectations.contains { $0.expects(observed.outcome.kind) }
            if let failed {
              let seen = Printable.text("\(failed.expectation); \(failed.mismatch ?? "")", limit: 400)
              round.mismatches.append("\(plan.file):\(test.line): expected \(seen)")
            }
            round.observed.append(observed)
          } catch {
            if case .excess = error { throw error }
            throw Failure(error, at: "\(plan.file):\(test.line)")
          }
        }
        return round
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
