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
