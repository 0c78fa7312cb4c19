import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct LibraryComparisonTests: RecorderScene {
  @Test(
    "hosts and just-in-time code that the new version doesn't try are permissions that it doesn't use",
    arguments: [false, true])
  func unused(isTried: Bool) throws {
    var policy = Policy()
    policy.network = [try NetworkEndpoint("a.example:443")]
    policy.executableMemory = .justInTime
    let denials =
      isTried
      ? [
        Observed.Denial(wall: "seccomp", call: "mprotect", target: "0x5"),
        Observed.Denial(wall: "seccomp", call: "socket", target: "0x2, 0x1, 0x0"),
        Observed.Denial(wall: "network", call: "connect", target: "a.example:443"),
      ] : []
    var recorder = PolicyRecorder(base: Policy())
    var step = recorder.handle([Self.observed(.returned, denials)], on: Self.machine)
    for _ in 0..<8 {
      guard case .run = step else { break }
      step = recorder.handle([Self.observed(.returned, denials)], on: Self.machine)
    }
    let side = LibraryComparison.Side(needed: [], exports: [], recording: recorder.soFar)
    let comparison = LibraryComparison(side, side, names: [], policy: policy)
    #expect(!comparison.matters)
    // Where it was refused a connection, it has tried that.
    #expect(comparison.unused.contains("executableMemory: jit") != isTried)
    #expect(comparison.unused.contains("network: a.example:443") != isTried)
  }
}
