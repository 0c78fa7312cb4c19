import Basics
import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct SharedMemoryTests {
  @Test("What is unmapped is given back, what is mapped in part counts in full") func givesBack() {
    var ledger = SharedMemoryLedger()
    ledger.add(6 << 20)
    ledger.look([7])
    #expect(ledger.total == 6 << 20)
    ledger.add(64 << 10)
    ledger.look([7, 8])
    ledger.look([8])
    #expect(ledger.total == 64 << 10, "which of them is left is known")
    ledger.look([])
    #expect(ledger == SharedMemoryLedger())
  }

  @Test("Where it can't be told which of several is left, it is the largest") func worstCase() {
    var ledger = SharedMemoryLedger()
    for bytes in [1, 6, 2] { ledger.add(bytes << 20) }
    ledger.look([3, 4])
    #expect(ledger.total == 8 << 20)
    ledger.look([4])
    #expect(ledger.total == 6 << 20)
    ledger.look([])
    #expect(ledger.total == 0)
  }

  /// What a plugin does, and what is really there.
  private struct Plugin {
    var files: [UInt64: Int] = [:]
    var next: UInt64 = 1
    var real: Int { files.values.reduce(0, +) }

    mutating func map(_ bytes: Int) {
      files[next] = bytes
      next += 1
    }
  }

  @Test(
    "Never less than what is there, whatever is freed and whenever it is looked at", arguments: 0..<40 as Range<UInt64>
  )
  func neverLess(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (ledger, plugin) = (SharedMemoryLedger(), Plugin())
    for _ in 0..<400 {
      switch random.next() % 4 {
      case 0, 1:
        let bytes = Int(random.next() % 512 + 1) << 12
        plugin.map(bytes)
        ledger.add(bytes)
      case 2: if let file = plugin.files.keys.sorted().randomElement(using: &random) { plugin.files[file] = nil }
      default: ledger.look(Set(plugin.files.keys))
      }
      #expect(ledger.total >= plugin.real)
    }
    plugin.files = [:]
    ledger.look([])
    #expect(ledger.total == 0)
  }

  @Test("Exact where each grant is looked at before the next", arguments: 0..<20 as Range<UInt64>)
  func exact(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (ledger, plugin) = (SharedMemoryLedger(), Plugin())
    for _ in 0..<400 {
      ledger.look(Set(plugin.files.keys))
      #expect(ledger.total == plugin.real)
      let bytes = Int(random.next() % 512 + 1) << 12
      plugin.map(bytes)
      ledger.add(bytes)
      while random.next() % 2 == 0, let file = plugin.files.keys.sorted().randomElement(using: &random) {
        plugin.files[file] = nil
      }
    }
  }

  @Test("One grant that isn't known is told by the one file that isn't, while the plugin goes on") func identified() {
    var ledger = SharedMemoryLedger()
    ledger.add(6 << 20)
    #expect(ledger.hasOneUnknown)
    ledger.identify([])
    #expect(ledger.hasOneUnknown, "it isn't mapped yet")
    #expect(ledger.confusion(with: 6 << 20) == 0 && ledger.confusion(with: 7 << 20) == 1 << 20)
    ledger.identify([7])
    #expect(!ledger.hasOneUnknown)
    ledger.add(64 << 10)
    // The first is just being moved.
    ledger.identify([8])
    ledger.look([8])
    #expect(ledger.total == 64 << 10)
    ledger.add(1 << 20)
    ledger.add(2 << 20)
    let before = ledger
    ledger.identify([8, 9])
    #expect(ledger == before, "it may be either of them")
  }

  /// As a host tells it: the next grant waits until it is known what the last one became, or until nothing moves.
  @Test(
    "Mixed sizes in several threads are exact at each look, where each was told before the next",
    arguments: 0..<40 as Range<UInt64>)
  func severalThreads(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (ledger, plugin) = (SharedMemoryLedger(), Plugin())
    for _ in 0..<400 {
      // A file that is being moved is missed.
      ledger.identify(Set(plugin.files.keys.filter { _ in random.next() % 4 > 0 }))
      #expect(ledger.total >= plugin.real)
      if ledger.hasOneUnknown || random.next() % 8 == 0 {
        ledger.look(Set(plugin.files.keys))
        #expect(ledger.total == plugin.real)
      }
      let bytes = Int(random.next() % 512 + 1) << 12
      plugin.map(bytes)
      ledger.add(bytes)
      while random.next() % 2 == 0, let file = plugin.files.keys.sorted().randomElement(using: &random) {
        plugin.files[file] = nil
      }
    }
    plugin.files = [:]
    ledger.look([])
    #expect(ledger.total == 0)
  }

  @Test("What can't be told apart is told from what is granted afterwards") func groups() {
    var ledger = SharedMemoryLedger()
    for bytes in [4, 20, 8] { ledger.add(bytes << 10) }
    #expect(ledger.hasUnknown && !ledger.hasOneUnknown && ledger.confusion(with: 5 << 20) == (5 << 20) - (4 << 10))
    ledger.look([1, 2, 3])
    #expect(!ledger.hasUnknown && ledger.total == 32 << 10)
    for turn in 0..<40 as Range<UInt64> {
      ledger.add(5 << 20)
      ledger.look([1, 2, 3, 100 + turn])
      #expect(ledger.total == (5 << 20) + (32 << 10))
      ledger.look([1, 2, 3])
      #expect(ledger.total == 32 << 10)
    }
    ledger.look([2])
    #expect(ledger.total == 20 << 10, "at worst the largest")
    ledger.look([])
    #expect(ledger == SharedMemoryLedger())
  }

  @Test("Never less than what is there, whatever is seen of it", arguments: 0..<40 as Range<UInt64>)
  func neverLessWhileItGoesOn(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    // Granted, and not mapped yet.
    var (ledger, plugin, pending) = (SharedMemoryLedger(), Plugin(), [Int]())
    for _ in 0..<1000 {
      switch random.next() % 6 {
      case 0, 1:
        let bytes = Int(random.next() % 512 + 1) << 12
        pending.append(bytes)
        ledger.add(bytes)
      case 2: if !pending.isEmpty { plugin.map(pending.remove(at: Int(random.next() % UInt64(pending.count)))) }
      case 3: if let file = plugin.files.keys.sorted().randomElement(using: &random) { plugin.files[file] = nil }
      case 4: ledger.identify(Set(plugin.files.keys.filter { _ in random.next() % 4 > 0 }))
      default:
        // Everything stands still.
        for bytes in pending { plugin.map(bytes) }
        pending = []
        ledger.look(Set(plugin.files.keys))
      }
      #expect(ledger.total >= plugin.real)
    }
  }

  @Test("Where not every grant is kept, none is told by what is seen") func cutLedgersTellNothing() {
    var ledger = SharedMemoryLedger()
    for _ in 0..<4096 { ledger.add(4096) }
    ledger.look([])
    ledger.add(6 << 20)
    #expect(ledger.hasOneUnknown)
    for _ in 0..<4096 { ledger.add(4096) }
    ledger.look([1])
    #expect(!ledger.hasOneUnknown)
  }

  @Test("What is beyond the most grants stays counted") func bounded() {
    var ledger = SharedMemoryLedger()
    for _ in 0..<5000 { ledger.add(4096) }
    ledger.look([])
    #expect(ledger.total == (5000 - 4096) * 4096)
  }

  @Test("Shared memory is told by its filesystem, whatever it is called") func mappings() throws {
    let maps = """
      7f0000000000-7f0000600000 rw-s 00000000 00:01 41                         /dev/zero (deleted)
      7f0000600000-7f0000601000 ---s 005ff000 00:01 42                         [anon_shmem:stack]
      7f0000700000-7f0000701000 rw-p 00000000 00:01 43                         /dev/zero (deleted)
      7f0000800000-7f0000801000 rw-s 00000000 08:01 44                         /dev/zero (deleted)
      7f0000900000-7f0000901000 rw-p 00000000 00:00 0                          [heap]
      7f0000a00000-7f0000a01000 rw-s 00001000 00:01 41
      nonsense

      """
    #expect(SharedMappings.inodes(in: maps, device: "00:01") == [41, 42])
    let device = try #require(SharedMappings.device)
    let page = try #require(mmap(nil, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
    let own = {
      SharedMappings.inodes(in: try Files.text(of: "/proc/self/maps", limit: 1 << 20), device: device)
    }
    let before = try own()
    munmap(page, 4096)
    let after = try own()
    #expect(!before.subtracting(after).isEmpty)
  }

  @Test("A run is looked at where that may help, and ends where it grows meanwhile") func looks() {
    let mib = 1 << 20
    var look = SharedMemoryLook()
    #expect(look.isWorthwhile(memory: 9 * mib, shared: 6 * mib, limit: 8 * mib))
    for (memory, shared) in [(8, 6), (9, 0), (20, 6)] {
      #expect(!look.isWorthwhile(memory: memory * mib, shared: shared * mib, limit: 8 * mib))
    }
    let now = Duration.seconds(1)
    #expect(look.begin(at: now, memory: 9 * mib) == now + .milliseconds(1))
    #expect(look.isWorthwhile(memory: 10 * mib, shared: 6 * mib, limit: 8 * mib))
    #expect(!look.isWorthwhile(memory: 10 * mib + 1, shared: 6 * mib, limit: 8 * mib))
    #expect(look.next(at: now + .milliseconds(2), .moves([:]), cost: .zero) == now + .milliseconds(3))
    for time in 3..<500 {
      #expect(look.next(at: now + .milliseconds(time), .moves([:]), cost: .zero) == now + .milliseconds(time + 1))
    }
    #expect(look.next(at: now + .milliseconds(500), .moves([:]), cost: .zero) == nil)
    look.ended(at: now, cost: .milliseconds(2))
    #expect(!look.isUnderWay)
    #expect(!look.isDue(at: now + .milliseconds(19)) && look.isDue(at: now + .milliseconds(20)))
    #expect(look.begin(at: now, memory: 0) == now + .milliseconds(20), "nine tenths of the time are the plugin's")
  }

  @Test(
    "what all tries of a look and a search cost is paid for by a rest, also where each try costs more than it waits")
  func costsAddUp() {
    var look = SharedMemoryLook()
    _ = look.begin(at: .zero, memory: 0)
    for time in 1...3 {
      let now = Duration.milliseconds(100 * time)
      #expect(look.next(at: now, .moves([:]), cost: .milliseconds(5)) == now + .milliseconds(20))
    }
    look.ended(at: .milliseconds(400), cost: .milliseconds(5))
    #expect(!look.isDue(at: .milliseconds(599)) && look.isDue(at: .milliseconds(600)), "ten times 20 ms")
    look.searched(at: .milliseconds(600), cost: .milliseconds(25))
    #expect(!look.isDue(at: .milliseconds(699)) && look.isDue(at: .milliseconds(700)))
    look.searched(at: .milliseconds(610), cost: .milliseconds(1))
    #expect(!look.isDue(at: .milliseconds(699)), "one search doesn't shorten the rest after another")
  }

  @Test("a host that had no processor while it waited for a run to stand still tries again") func looksAfterAGap() {
    var look = SharedMemoryLook()
    var now = look.begin(at: .zero, memory: 0) + .seconds(3)
    for _ in 1..<100 {
      #expect(look.next(at: now, .moves([:]), cost: .zero) == now + .milliseconds(1))
      now += .milliseconds(1)
    }
    #expect(look.next(at: now, .moves([:]), cost: .zero) == nil)
  }

  @Test("a thread that has had no processor since the last try isn't taken for one that refuses to stop")
  func waitsForAProcessor() {
    var look = SharedMemoryLook()
    var now = look.begin(at: .zero, memory: 0)
    func tries(_ stillness: (Int) -> Stillness) -> Int {
      _ = look.begin(at: now, memory: 0)
      for count in 1...1000 {
        now += .milliseconds(10)
        if look.next(at: now, stillness(count), cost: .zero) == nil { return count }
      }
      return 1001
    }
    #expect(tries { _ in .moves(["7": .milliseconds(3)]) } == 1001, "the first counts, and no other")
    #expect(tries { .moves(["7": .milliseconds($0)]) } == 100)
    #expect(tries { .moves(["7": .milliseconds($0 / 4)]) } == 396, "as the kernel adds it with each fourth")
    #expect(tries { .moves(["7": .milliseconds(3), "8": .milliseconds($0)]) } == 100)
    #expect(tries { _ in .moves(["7": .milliseconds(3), "8": nil]) } == 100, "where the kernel doesn't say")
    #expect(tries { _ in .moves([:]) } == 100, "where no thread is seen")
    #expect(tries { _ in .stands(["7": ["State:\tT"]]) } == 100, "continued while it was looked at")
  }
}
