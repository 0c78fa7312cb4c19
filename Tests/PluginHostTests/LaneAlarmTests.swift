import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct LaneAlarmTests {
  /// Both are in the same look of the loop: that the host goes, and that the alarm has rung.
  @Test("an alarm that has rung while its host goes harms nobody") func ringsWhileItsHostGoes() async throws {
    let loop = try EventLoop("alarm")
    defer { loop.shutDown() }
    let held = Mutex<LaneAlarm?>(try LaneAlarm())
    let rang = Atomic(0)
    await withCheckedContinuation { continuation in
      loop.submit {
        held.withLock { try? $0?.watch(on: loop) { rang.add(1, ordering: .relaxed) } }
        // Done in the loop's next look, which finds the alarm, too.
        loop.submit { held.withLock { $0 = nil } }
        held.withLock { $0?.set() }
        usleep(5000)
        loop.submit { continuation.resume() }
      }
    }
    // One more look, for what came after it.
    await withCheckedContinuation { continuation in loop.submit { loop.submit { continuation.resume() } } }
    #expect(rang.load(ordering: .relaxed) == 1)
  }
}
