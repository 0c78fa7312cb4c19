import Basics
import CLinux
import Glibc
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct FileLockTests {
  /// A plugin whose threads take and give back locks, closes files, and has the kernel carry out granted calls later.
  @Test("It never holds more locks than it may, whatever it does", arguments: 0..<10 as Range<UInt64>)
  func isBounded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var ledger = EstimatedObjects(max: FileLockLedger.maxHeld, maxTakenByOne: FileLockLedger.maxTakenByOne)
    let threads = 8
    // Of the kernel's list; and what granted calls that it hasn't come to yet will add.
    var (held, coming) = (0, [Int]())
    var (granted, now, lastCounted) = (0, Duration.seconds(1), 0)
    for step in 0..<60_000 {
      now += .microseconds(random.below(50))
      if coming.count == threads || random.chance(3), let first = coming.popLast() { held = max(held + first, 0) }
      if random.chance(20_000) { held = 0 }
      if ledger.verdict(at: now) == .count {
        lastCounted = held
        ledger.count(held, threads: threads, at: now, cost: .microseconds(random.below(300)))
        #expect(ledger.verdict(at: now) != .count)
      }
      // Who was refused had that much, but for what was given back since the last count.
      if ledger.verdict(at: now) == .full {
        #expect(lastCounted + threads * 2 + FileLockLedger.maxHeld / 32 > FileLockLedger.maxHeld)
      }
      guard ledger.verdict(at: now) == .room, coming.count < threads else { continue }
      ledger.add()
      granted += 1
      coming.append(step < 30_000 ? random.below(FileLockLedger.maxTakenByOne + 1) : -random.below(2))
      guard held + coming.reduce(0, +) > FileLockLedger.maxHeld else { continue }
      Issue.record("\(held) held, \(coming) to come at step \(step)")
      return
    }
    #expect(granted > 2 * FileLockLedger.maxHeld / FileLockLedger.maxTakenByOne, "what was given back can be had again")
  }

  @Test("The kernel's list is read by its owner's column, for locks that wait, too") func list() {
    let list = """
      1: POSIX  ADVISORY  READ  3801 fe:00:1311013 128 128
      2: POSIX  ADVISORY  WRITE 3801 fe:00:1311013 0 EOF
      2: -> POSIX  ADVISORY  WRITE 3801 fe:00:1311013 0 EOF
      3: FLOCK  ADVISORY  WRITE 380 fe:00:3801 0 EOF
      4: OFDLCK ADVISORY  WRITE -1 fe:00:3801 0 EOF
      5: POSIX

      : 3801 3801 3801
      """
    #expect(LockList.locks(of: 3801, in: Array(list.utf8)) == 3)
    #expect(LockList.locks(of: 380, in: Array(list.utf8)) == 1)
    #expect(LockList.locks(of: 1, in: Array(list.utf8)) == 0)
  }

  @Test("Who gives back what it takes is made to wait for a count, and never refused") func givesBack() {
    var ledger = EstimatedObjects(max: 100, maxTakenByOne: 2)
    var now = Duration.seconds(1)
    for _ in 0..<10_000 {
      switch ledger.verdict(at: now) {
      case .room: ledger.add()
      case .count: ledger.count(1, threads: 1, at: now, cost: .milliseconds(10))
      case .wait: break
      case .full: Issue.record("refused with one held at \(now)")
      }
      now += .microseconds(10)
    }
  }

  @Test("The kernel tells of each descriptor what epoll watches by it") func watches() throws {
    var epoll: Int32 = -1
    #expect(ol_epoll_create(&epoll) == 0)
    defer { close(epoll) }
    let before = try #require(HeldObjects.watches(of: [getpid()]))
    var events: [Int32] = []
    defer { for event in events { close(event) } }
    for _ in 0..<500 {
      var event: Int32 = -1
      #expect(ol_eventfd(&event) == 0)
      events.append(event)
      #expect(ol_epoll_add(epoll, event, 1) == 0)
    }
    // Others of this process come and go.
    #expect(try #require(HeldObjects.watches(of: [getpid()])) - before > 400)
  }

  @Test("A process's own locks are seen as it takes and gives them back") func own() throws {
    let stream = try #require(tmpfile())
    defer { fclose(stream) }
    let file = fileno(stream)
    // Other tests of this process lock files, too.
    let before = try #require(LockList.locks(of: [getpid()]))
    for at in 0..<1000 {
      var lock = flock(l_type: Int16(F_WRLCK), l_whence: Int16(SEEK_SET), l_start: at * 2, l_len: 1, l_pid: 0)
      #expect(fcntl(file, F_SETLK, &lock) == 0)
    }
    let during = try #require(LockList.locks(of: [getpid()]))
    #expect(during - before > 900)
    var lock = flock(l_type: Int16(F_UNLCK), l_whence: Int16(SEEK_SET), l_start: 0, l_len: 0, l_pid: 0)
    #expect(fcntl(file, F_SETLK, &lock) == 0)
    #expect(try #require(LockList.locks(of: [getpid()])) < during - 900)
  }
}
