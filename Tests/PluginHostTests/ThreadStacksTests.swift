import HostProtocol
import Testing

@testable import PluginHost

/// What threads tell when the plugin's time is over.
@Suite(.timeLimit(.minutes(1))) struct ThreadStacksTests {
  private static func frame(_ index: UInt32) -> RunnerMessage.StackFrame {
    .init(index: index, library: "/bundle/a.so", symbol: "f", symbolOffset: 1, address: 0x1000)
  }

  @Test("nothing is taken before they are asked, nor of a thread that has told all") func order() {
    var threads = ThreadStacks()
    threads.note(Self.frame(0), of: 1)
    threads.noteTold(1, name: "a")
    #expect(threads.ofPlugin.isEmpty && !threads.isComplete)
    threads.ask(1, of: 3)
    threads.note(Self.frame(0), of: 1)
    #expect(!threads.isComplete)
    threads.noteTold(1, name: "\u{1b}[31m")
    threads.note(Self.frame(1), of: 1)
    #expect(threads.isComplete && threads.ofPlugin.map(\.frames.count) == [1])
    #expect(threads.untold == 2 && ThreadStacks().untold == 0)
    #expect(!threads.ofPlugin[0].name.contains("\u{1b}"))
  }

  @Test("of a million threads that a plugin makes up, 32 are kept") func bounded() {
    var threads = ThreadStacks()
    threads.ask(1_000_000, of: 1_000_000)
    for number in 0..<10_000 as Range<UInt32> {
      for index in 0..<40 as Range<UInt32> where number < 100 { threads.note(Self.frame(index), of: number) }
      threads.noteTold(number, name: "x")
    }
    #expect(threads.isComplete && threads.ofPlugin.count == ThreadStacks.maxThreads)
    #expect(threads.ofPlugin.allSatisfy { $0.frames.count == CrashStack.maxFrames })
  }

  @Test("a plugin of which no thread tells is killed when the last thread has answered, or when it takes too long")
  func end() {
    for isOverdue in [false, true] {
      var machine = RunMachineTests.machine(in: "calling")
      #expect(machine.handle(.kill(Outcome(.cpuTimeExceeded, ""))).map(\.name) == ["stop", "askThreads"])
      #expect(machine.handle(.threadTold(9, name: "early")).isEmpty)
      #expect(machine.handle(.threadsAsked(2)).isEmpty)
      #expect(machine.handle(.threadTold(1, name: "a")).isEmpty)
      #expect(machine.handle(.threadTold(1, name: "again")).isEmpty)
      let last: RunEvent = isOverdue ? .threadsOverdue : .threadTold(2, name: "b")
      #expect(machine.handle(last).map(\.name) == ["kill"])
      #expect(machine.handle(last).isEmpty && machine.handle(.threadsOverdue).isEmpty)
    }
  }

  @Test("a plugin none of whose threads can tell is killed at once") func none() {
    var machine = RunMachineTests.machine(in: "loading")
    #expect(machine.handle(.kill(Outcome(.wallTimeExceeded, ""))).map(\.name) == ["stop", "askThreads"])
    #expect(machine.handle(.threadsAsked(0)).map(\.name) == ["kill"])
  }

  @Test(
    "a thread that blocks the signal or has another answer to it isn't asked",
    arguments: [
      ("SigBlk:\t0000000000000000\nSigCgt:\t0000000000400000\n", true),
      ("SigBlk:\t0000000000400000\nSigCgt:\t0000000000400000\n", false),
      ("SigBlk:\t0000000000000000\nSigCgt:\tffffffffffbfffff\n", false),
      ("SigBlk:\tx\nSigCgt:\t0000000000400000\n", false), ("", false),
    ] as [(String, Bool)])
  func masks(status: String, takes: Bool) { #expect(Meters.takes(23, status: status) == takes) }
}
