import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct LimitSearchTests: RecorderScene {
  @Test("little memory that was left is not enough the next time", arguments: [(6, 8), (7, 11), (8, 12)])
  func shortMemory(used: Int, limit: Int) throws {
    var recorder = PolicyRecorder(base: Policy(limits: Limits(wallTime: .seconds(30), memory: 8 << 20)))
    let observed = Self.observed(memory: used << 20)
    guard case .run(let policy) = recorder.handle([observed], on: Self.machine) else { throw MissingStep() }
    #expect(policy.limits.memory == limit << 20)
    recorder = PolicyRecorder(base: Policy(limits: Limits(wallTime: .seconds(30), memory: 256 << 20)))
    guard case .run(let smaller) = recorder.handle([observed], on: Self.machine) else { throw MissingStep() }
    #expect(smaller.limits.memory == ((used * 3 + 1) / 2) << 20)
  }

  @Test(
    "no round has more than its bounds, and what they ended says so",
    arguments: [
      (.wallTimeExceeded, [], "--max-time ended it, which is 2 s"), (.cpuTimeExceeded, [], "--max-time ended it"),
      (.memoryExceeded, [], "--max-memory ended it, which is 4 MiB"), (.crashed, [], nil),
      (.wallTimeExceeded, ["wall"], nil),
    ] as [(Outcome.Kind, Set<String>, String?)])
  func bounded(kind: Outcome.Kind, ownLimits: Set<String>, sentence: String?) throws {
    var bounds = PolicyRecorder.Bounds()
    (bounds.memory, bounds.time) = (4 << 20, .seconds(2))
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let limits = recorder.first.limits
    #expect(limits.memory == 4 << 20 && limits.wallTime == .seconds(2) && limits.cpu == .seconds(2))
    var observed = Self.observed(kind)
    observed.ownLimits = ownLimits
    guard case .stopped(let recording, let why) = recorder.handle([observed], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(recording.policy.limits == limits)
    #expect(why.contains("ended it") == (sentence != nil) && sentence.map(why.contains) != false, "\(why)")
  }

  @Test("a policy that has more than is tried by default keeps it") func larger() {
    let limits = Limits(wallTime: .seconds(100), memory: 2 << 30)
    #expect(PolicyRecorder(base: Policy(limits: limits)).first.limits == limits)
  }

  @Test(
    "what a test is to end by isn't raised, nor is a limit of its own",
    arguments: [(true, []), (false, ["wall"])] as [(Bool, Set<String>)])
  func own(endsAsExpected: Bool, ownLimits: Set<String>) throws {
    var observed = Self.observed(.wallTimeExceeded)
    observed.wallSeconds = 25
    (observed.endsAsExpected, observed.ownLimits) = (endsAsExpected, ownLimits)
    let other = Self.observed(.returned)
    var recorder = PolicyRecorder(base: Policy(limits: Limits(wallTime: .seconds(30), memory: 8 << 20)))
    let step = recorder.handle([observed, other], on: Self.machine)
    guard endsAsExpected else {
      // Its own time is over, and more of the policy's is no help.
      guard case .stopped = step else { throw MissingStep() }
      return
    }
    guard case .run(let policy) = step else { throw MissingStep() }
    // As much as the other one needs.
    #expect(policy.limits.wallTime == .seconds(10))
    guard case .finished = recorder.handle([observed, other], on: Self.machine) else { throw MissingStep() }
  }
}
