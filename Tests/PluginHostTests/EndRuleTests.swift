import Glibc
import HostProtocol
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct EndRuleTests {
  private static let crash = RunnerMessage.CrashSite(
    signal: SIGSYS, address: 0, instruction: 0x1010, stackPointer: 0, library: "/x/libx.so", symbol: "", offset: 16)

  private func outcome(
    signal: Int32? = nil, status: Int32 = 0, cpu: Duration = .zero, _ change: (inout EndRule) -> Void = { _ in }
  ) -> Outcome {
    var rule = EndRule(phase: "in a call", cpuTotal: .seconds(2))
    change(&rule)
    return rule.outcome(
      of: .init(
        run: 1, status: signal ?? status, wasSignalled: signal != nil,
        cpuNanoseconds: UInt64(cpu / .nanoseconds(1))))
  }

  @Test("A SIGSYS is the plugin's own where the host answers what the filter stops") func ownSignal() {
    #expect(outcome(signal: SIGSYS) == Outcome(.crashed, "ended by SIGSYS in a call"))
    #expect(outcome(signal: SIGSYS) { $0.lastWord = .crashed(Self.crash) }.kind == .crashed)
    let unknown = outcome(signal: SIGSYS) { $0.filterKills = true }
    #expect(unknown.kind == .policyViolation)
    #expect(unknown.detail.contains("or sent itself SIGSYS"))
  }

  @Test(
    "A file that is cut short couldn't be loaded, where its loader found no more of it", arguments: [SIGBUS, SIGSEGV])
  func cutShort(signal: Int32) {
    var site = Self.crash
    site.signal = signal
    let found = outcome(status: 139) { ($0.lastWord, $0.cutShort) = (.crashed(site), "/x/libx.so") }
    #expect(found.kind == (signal == SIGBUS ? .loadFailed : .crashed))
    #expect(outcome(status: 139) { $0.lastWord = .crashed(site) }.kind == .crashed)
  }

  @Test("The kernel's CPU limit is believed of a run that used that much")
  func cpuLimit() {
    for signal in [SIGXCPU, SIGKILL] {
      #expect(outcome(signal: signal, cpu: .seconds(4)).kind == .cpuTimeExceeded)
      #expect(outcome(signal: signal, cpu: .milliseconds(3)).kind == .crashed)
    }
  }

  @Test("What ends before the walls are closed isn't the plugin's") func early() {
    for signal in [nil, SIGSEGV, SIGSYS, SIGXCPU] as [Int32?] {
      #expect(outcome(signal: signal, status: 70) { $0.hadBegun = false }.kind == .hostFailed)
    }
  }

  @Test("An address that can't be read is the plugin's mistake, not a library's")
  func wildPointers() {
    for source in RunnerMessage.WildPointer.Source.allCases {
      let found = outcome(status: 139) {
        $0.lastWord = .wildPointer(.init(source: source, address: 0x5000), call: "name\u{1b}")
      }
      #expect(found.kind == .crashed)
      #expect(found.detail.contains("0x5000") && !found.detail.contains("\u{1b}"))
      #expect(found.detail.hasPrefix("name") == (source == .result))
    }
  }

  @Test("A runner that ends because its channel is gone says who closed it") func closedChannel() {
    let found = outcome(status: RunnerExit.channelLost)
    #expect(found == Outcome(.protocolViolation, "the plugin closed its channel"))
    // exit(3) tells that it was called, and a status of the plugin's own is no word of the runner's.
    var exit = Self.crash
    exit.signal = 0
    #expect(outcome(status: RunnerExit.channelLost) { $0.lastWord = .crashed(exit) }.kind == .crashed)
    #expect(outcome(status: RunnerExit.channelLost) { $0.hadBegun = false }.kind == .hostFailed)
  }

  @Test("A function of the host's that is called within itself is the plugin's mistake") func reentered() {
    let found = outcome(status: 134) { $0.lastWord = .reenteredCallback }
    #expect(found.kind == .crashed && found.detail.contains("on which one was under way in a call"))
  }

  @Test("A machine without memory is no plugin's limit") func lackOfMemory() {
    let found = outcome(signal: SIGKILL, cpu: .seconds(9)) { $0.lackedMemory = true }
    #expect(found.kind == .hostFailed && found.detail.contains("in a call: the machine, or the cgroup"))
    #expect(outcome(signal: SIGKILL) { ($0.lackedMemory, $0.exceededMemory) = (true, 1) }.kind == .memoryExceeded)
  }

  @Test("Memory comes first, then where it crashed, then how it ended") func order() {
    let memory = outcome(signal: SIGKILL, cpu: .seconds(9)) {
      ($0.exceededMemory, $0.lastWord) = (8 << 20, .crashed(Self.crash))
    }
    #expect(memory.kind == .memoryExceeded && memory.detail.contains("8192 KiB"))
    #expect(
      outcome(status: 159) { $0.lastWord = .crashed(Self.crash) }.detail == "SIGSYS in +0x10 of libx.so in a call")
    #expect(outcome(status: 3) == Outcome(.crashed, "exited with status 3 in a call"))
  }
}
