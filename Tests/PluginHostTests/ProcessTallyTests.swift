import Basics
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import PluginHost

/// Processes as they are: what the kernel would say of them at each moment, and what they have really used.
private struct Machine {
  struct Process {
    var pid: Int32
    var parent: Int32
    var began: UInt64
    var cpu = Duration.zero
    var waited = Duration.zero
    var threads = 1
    var isZombie = false
    /// Its children aren't waited for (SA_NOCLDWAIT).
    var forgets = false
    var wasSeen = false
  }

  static let step = Duration.microseconds(100)
  let cores: Int
  var random: SeededGenerator
  var now = Duration.zero
  var processes: [Int32: Process] = [1: Process(pid: 1, parent: 0, began: 0)]
  var used = Duration.zero
  /// Of those that ended and were never seen.
  var unseen = Duration.zero
  /// Numbers are used again at once where no process is left of that number.
  let reusesNumbers: Bool

  /// In an order that the seed decides alone.
  private var all: [Process] { processes.values.sorted { $0.pid < $1.pid } }

  mutating func run() {
    now += Self.step
    var running = all.filter { !$0.isZombie }.flatMap { Array(repeating: $0.pid, count: $0.threads) }
    running.shuffle(using: &random)
    for pid in running.prefix(Int.random(in: 0...cores, using: &random)) {
      processes[pid]?.cpu += Self.step
      used += Self.step
    }
  }

  mutating func change() {
    guard let one = all.filter({ !$0.isZombie }).randomElement(using: &random) else { return }
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1:
      guard processes.count < 12 else { return }
      let pid = reusesNumbers ? (2...20).first { processes[$0] == nil } ?? 0 : Int32(now.inNanoseconds / 1000)
      guard pid > 1, processes[pid] == nil else { return }
      processes[pid] = Process(
        pid: pid, parent: one.pid, began: UInt64(now.inNanoseconds), threads: .random(in: 1...3, using: &random),
        forgets: .random(using: &random))
    case 2: processes[one.pid]?.forgets.toggle()
    case 3: processes[one.pid]?.threads = .random(in: 1...4, using: &random)
    case 4: if one.pid != 1 { end(one.pid) }
    default:
      // wait(2)
      guard let child = all.first(where: { $0.parent == one.pid && $0.isZombie }) else { return }
      processes[one.pid]?.waited += child.cpu + child.waited
      processes[child.pid] = nil
    }
  }

  private mutating func end(_ pid: Int32) {
    guard let process = processes[pid] else { return }
    for child in all where child.parent == pid {
      // The first process of the namespace takes them over.
      processes[child.pid]?.parent = 1
      if child.isZombie, processes[1]?.forgets == true { processes[child.pid] = nil }
    }
    if !process.wasSeen { unseen += process.cpu }
    guard processes[process.parent]?.forgets == true else {
      processes[pid]?.isZombie = true
      processes[pid]?.threads = 1
      return
    }
    processes[pid] = nil
  }

  /// In the order in which the host reads: all accounts, and then who is there. Things happen in between.
  mutating func looks(_ between: (inout Machine) -> Void) -> [ProcessLook] {
    let accounts = processes.mapValues { ($0.began, $0.waited) }
    between(&self)
    return all.map { process in
      processes[process.pid]?.wasSeen = true
      var waited = process.waited
      if let account = accounts[process.pid], account.0 == process.began { waited = account.1 }
      return ProcessLook(
        pid: process.pid, began: process.began, cpu: process.cpu, waited: waited, threads: process.threads,
        isZombie: process.isZombie)
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct ProcessTallyTests {
  @Test(
    "no process that was seen uses CPU time that isn't counted, and little more than what was used is",
    arguments: 0..<200 as Range<UInt64>)
  func nothingIsLost(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let cores = Int.random(in: 1...4, using: &random)
    var machine = Machine(cores: cores, random: random, reusesNumbers: seed.isMultiple(of: 2))
    var tally = ProcessTally(cores: cores, at: .zero)
    var (last, allowance) = (Duration.zero, Duration.zero)
    for _ in 0..<120 {
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        machine.run()
        for _ in 0..<Int.random(in: 0...2, using: &random) { machine.change() }
      }
      let looks = machine.looks { if Bool.random(using: &random) { $0.change() } }
      tally.take(looks, at: machine.now)
      let gap = machine.now - last
      last = machine.now
      allowance += gap * cores
      #expect(tally.counted >= tally.certain)
      #expect(tally.certain <= machine.used, "what is certain was used")
      #expect(tally.counted <= allowance, "no more than the processors had")
    }
    // All end, and the last look finds the first alone.
    for _ in 0..<3 { tally.take(machine.looks { _ in }, at: machine.now) }
    #expect(tally.counted >= machine.used - machine.unseen, "seed \(seed)")
  }

  private func look(_ pid: Int32, _ cpu: Int, waited: Int = 0, threads: Int = 1, zombie: Bool = false) -> ProcessLook {
    ProcessLook(
      pid: pid, began: UInt64(pid), cpu: .milliseconds(cpu), waited: .milliseconds(waited), threads: threads,
      isZombie: zombie)
  }

  @Test("what a child used counts once, whether its parent's account grows before or after it is gone") func once() {
    for isLate in [false, true] {
      var tally = ProcessTally(cores: 2, at: .zero)
      tally.take([look(1, 5), look(2, 40)], at: .milliseconds(50))
      tally.take([look(1, 5), look(2, 41, zombie: true)], at: .milliseconds(51))
      if isLate { tally.take([look(1, 5)], at: .milliseconds(52)) }
      tally.take([look(1, 5, waited: 41)], at: .milliseconds(53))
      #expect(tally.certain == .milliseconds(46) && tally.counted == .milliseconds(46), "\(isLate)")
      #expect(tally.pids == [1])
    }
  }

  @Test(
    "who is gone and isn't waited for may have run until then, on all of its threads, but on no more than there are processors"
  )
  func forgotten() {
    for (threads, more) in [(1, 3), (2, 6), (9, 6)] {
      var tally = ProcessTally(cores: 2, at: .zero)
      tally.take([look(1, 5), look(2, 40, threads: threads)], at: .milliseconds(50))
      tally.take([look(1, 5)], at: .milliseconds(53))
      #expect(tally.certain == .milliseconds(45) && tally.counted == .milliseconds(45 + more), "\(threads)")
      // No account grows by what was forgotten, and what another one used is seen all the same.
      tally.take([look(1, 5), look(3, 7)], at: .milliseconds(54))
      tally.take([look(1, 5, waited: 7)], at: .milliseconds(55))
      #expect(tally.certain == .milliseconds(52))
    }
  }

  @Test("who was never seen, and was waited for, counts") func waitedFor() {
    var tally = ProcessTally(cores: 1, at: .zero)
    for time in 1...50 { tally.take([look(1, 5, waited: time * 2)], at: .milliseconds(time * 3)) }
    #expect(tally.certain == .milliseconds(105) && tally.counted == .milliseconds(105))
  }

  @Test("a look after a long time doesn't count all of it") func gap() {
    var tally = ProcessTally(cores: 2, at: .zero)
    tally.take([look(1, 5), look(2, 40)], at: .milliseconds(50))
    tally.take([look(1, 5)], at: .seconds(5))
    #expect(tally.counted == .milliseconds(45) + ProcessTally.longestGap)
  }

  @Test("a process of the same number is another one") func numbers() {
    var tally = ProcessTally(cores: 1, at: .zero)
    tally.take([look(1, 5), look(2, 40)], at: .milliseconds(50))
    var other = look(2, 3)
    other.began = 99
    tally.take([look(1, 5, waited: 40), other], at: .milliseconds(51))
    #expect(tally.certain == .milliseconds(48))
  }

  @Test("what /proc says of a process is read whatever its name is") func stat() throws {
    func stat(_ name: String, _ state: String, threads: Int = 1) -> String {
      "17 (\(name)) \(state) 1 17 17 0 -1 4194304 1 2 3 4 110 20 300 40 20 0 \(threads) 0 987654 1 2 3 4 5"
    }
    for name in ["sh", "a b", "x) Z 9 9", "(", ")", "", "\u{600}", "e\u{301}", "\u{1F1E9}"] {
      let look = try #require(ProcessLook(stat: stat(name, "S"), pid: 17, cpu: .microseconds(7)))
      #expect(look.cpu == .microseconds(7) && look.waited == .milliseconds(3400) && look.began == 987_654)
      #expect(look.threads == 1 && !look.isZombie)
      #expect(ProcessLook(stat: stat(name, "R"), pid: 17, cpu: nil)?.cpu == .milliseconds(1300))
      #expect(ProcessLook(stat: stat(name, "Z"), pid: 17, cpu: nil)?.isZombie == true)
      // Its first thread has ended, and others go on.
      #expect(ProcessLook(stat: stat(name, "Z", threads: 2), pid: 17, cpu: nil)?.isZombie == false)
    }
    for text in ["", "17", "17 (sh", "17 (sh) S", stat("sh", "S").replacing("987654", with: "x"), "17 (sh) S 1 2 3"] {
      #expect(ProcessLook(stat: text, pid: 17, cpu: nil) == nil, "\(text)")
    }
  }

  @Test("a cgroup of version 2 tells the time of all") func clock() throws {
    #expect(CgroupClock.time(in: "usage_usec 1234567\nuser_usec 3\nsystem_usec 4\n") == .microseconds(1_234_567))
    #expect(CgroupClock.time(in: "nr_periods 0\nusage_usec 5") == .microseconds(5))
    for text in ["", "usage_usec", "usage_usec x", "usage 5"] { #expect(CgroupClock.time(in: text) == nil) }
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-test-")
    defer { Files.removeTree(folder) }
    func write(_ microseconds: Int) throws {
      try "usage_usec \(microseconds)\n".write(toFile: "\(folder)/cpu.stat", atomically: false, encoding: .utf8)
    }
    try write(5000)
    let clock = try #require(CgroupClock(RunCgroup(path: folder, version: .two), used: .milliseconds(2)))
    #expect(clock.time == .milliseconds(2))
    try write(9000)
    #expect(clock.time == .milliseconds(6))
    #expect(CgroupClock(RunCgroup(path: folder, version: .one), used: .zero) == nil)
  }
}
