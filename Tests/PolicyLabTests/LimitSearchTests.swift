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
}
