internal import CLinux
internal import Glibc
internal import LinuxSystem

/// What two threads can do through two words in memory, spinning for each other or asleep (futex(2)): what a call is
/// measured by.
///
/// @unchecked Sendable: one thread at a time asks; the words are atomic.
package final class WordPingPong: @unchecked Sendable {
  package enum Way: Sendable { case spinning, blocking }

  /// Two words on different lines of the cache, and what ends the other thread.
  private final class Words: @unchecked Sendable {
    let memory = UnsafeMutablePointer<UInt32>.allocate(capacity: 192)
    let way: Way
    var question: UnsafeMutablePointer<UInt32> { memory }
    var answer: UnsafeMutablePointer<UInt32> { memory + 64 }
    var end: UnsafeMutablePointer<UInt32> { memory + 128 }

    init(_ way: Way) {
      memory.initialize(repeating: 0, count: 192)
      self.way = way
    }

    deinit { memory.deallocate() }

    func wait(_ word: UnsafeMutablePointer<UInt32>, _ before: UInt32) {
      while ol_region_load(word) == before, ol_region_load(end) == 0 {
        switch way {
        case .spinning: _ = ol_region_spin(word, before, 1_000_000)
        case .blocking: ol_region_sleep(word, before, 1_000_000_000)
        }
      }
    }

    func tell(_ word: UnsafeMutablePointer<UInt32>, _ value: UInt32) {
      ol_region_store(word, value)
      if way == .blocking { ol_region_wake(word) }
    }

    func echo() {
      var last: UInt32 = 0
      while ol_region_load(end) == 0 {
        wait(question, last)
        last = ol_region_load(question)
        tell(answer, last)
      }
    }
  }

  private let words: Words
  private var last: UInt32 = 0

  package init(_ way: Way) throws {
    words = Words(way)
    try Threads.detach("outrider.echo") { [words] in words.echo() }
  }

  deinit {
    ol_region_store(words.end, 1)
    ol_region_wake(words.question)
  }

  /// Seconds.
  package func roundTrip() -> Double {
    let start = BootClock.now
    last &+= 1
    words.tell(words.question, last)
    words.wait(words.answer, last &- 1)
    return (BootClock.now - start).inSeconds
  }
}
