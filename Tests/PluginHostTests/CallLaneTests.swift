import CLinux
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import PluginHost

/// A lane's calls, with a process in place of its runner that does nothing but sleep.
@Suite(.timeLimit(.minutes(1))) struct CallLaneTests {
  private final class Count: Sendable {
    let rang = Atomic(0)
  }

  private final class World {
    let loop: EventLoop
    let lane: CallLane
    let process = TestProcess()
    let pidfd: OwnedDescriptor
    private let count = Count()

    init() throws {
      loop = try EventLoop("lane")
      let alarm = try LaneAlarm()
      guard let region = try CallRegion.make() else { throw HostError.failed("no memory for calls") }
      lane = CallLane(CallLink(region), wallTime: .seconds(1), frameBytes: 1 << 20, alarm: alarm)
      process.executableURL = URL(fileURLWithPath: "/bin/sleep")
      process.arguments = ["100"]
      try process.run()
      var number: Int32 = -1
      let sleeper = process.processIdentifier
      try check("pidfd_open", "sleep") { ol_pidfd_open(sleeper, &number) }
      pidfd = OwnedDescriptor(taking: number)
      loop.submit { [loop, count] in try? alarm.watch(on: loop) { count.rang.add(1, ordering: .relaxed) } }
      guard becomes({ alarm.isWatched }) else { throw HostError.failed("the alarm isn't watched") }
      var runner = CallLane.RunnerHandles()
      runner.process = pidfd.number
      lane.open(after: 7, runner)
    }

    /// How often the alarm has rung.
    var rang: Int { count.rang.load(ordering: .relaxed) }

    func freeze() -> Bool { lane.freeze { _ = ol_pidfd_signal(pidfd.number, SIGSTOP) } }

    var isStopped: Bool {
      let status = try? Files.text(of: "/proc/\(process.processIdentifier)/status")
      return status?.contains("State:\tT") == true
    }

    func end() {
      loop.shutDown()
      _ = ol_pidfd_signal(pidfd.number, SIGKILL)
      process.waitUntilExit()
    }
  }

  @Test(
    "a call that is announced lets its frozen runner go on, and one that fails has it looked at",
    .enabled(if: ol_usable_processors() > 1, "a runner is woken ahead where there are two processors"))
  func announced() throws {
    let world = try World()
    defer { world.end() }
    for round in 1...5 {
      #expect(world.freeze())
      #expect(becomes { world.isStopped })
      world.lane.announce()
      #expect(becomes { !world.isStopped })
      // Nobody looks at it before the call was made: in its way they would be.
      #expect(world.rang == round - 1)
      world.lane.callFailed()
      #expect(becomes { world.rang == round })
      #expect(world.lane.takeThaw() && !world.lane.takeThaw())
    }
  }

  @Test("nothing is let go on where the runner isn't frozen, the lane is closed, or calls go through the run")
  func notAnnounced() throws {
    let world = try World()
    defer { world.end() }
    world.lane.announce()
    world.lane.callFailed()
    #expect(!world.lane.takeThaw())
    #expect(world.freeze())
    _ = world.lane.queue()
    world.lane.announce()
    #expect(becomes { world.isStopped } && !world.lane.takeThaw())
    world.lane.arrived()
    #expect(world.lane.leave()?.last == 7)
    world.lane.announce()
    world.lane.callFailed()
    #expect(world.isStopped && !world.lane.takeThaw())
    // Through the run that was told of.
    #expect(world.rang == 0)
  }
}
