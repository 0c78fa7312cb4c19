import LinuxSystem
import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct FilterSupplyTests {
  @Test("a filter that is wanted again is compacted for later runs")
  func compacted() async throws {
    let (loop, workers) = (try EventLoop("filters"), WorkerThreads())
    nonisolated(unsafe) let supply = FilterSupply(loop: loop, workers: workers)
    func program() async throws -> SeccompProgram {
      let result = await withCheckedContinuation { continuation in
        loop.submit {
          continuation.resume(returning: Result { () throws(SystemCallError) in try supply.program(.init()) })
        }
      }
      return try result.get()
    }
    let plain = try SeccompProgram(.init())
    #expect(plain.compacted.bytes.count < plain.bytes.count)
    #expect(try await program() == plain)
    workers.wait()
    #expect(try await program() == plain)
    // What it gives the loop to do comes before the next question.
    workers.wait()
    #expect(try await program() == plain.compacted)
    #expect(try await program() == plain.compacted)
    loop.shutDown()
  }
}
