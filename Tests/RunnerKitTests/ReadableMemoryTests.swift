import CLinux
import Foundation
import Glibc
import Testing

@Suite(.timeLimit(.minutes(1))) struct ReadableMemoryTests {
  private static let page = 4096

  /// Three pages of which the last can't be read.
  private func withPages(_ body: (UnsafeMutableRawPointer) throws -> Void) throws {
    let base = try #require(
      mmap(nil, 3 * Self.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    defer { munmap(base, 3 * Self.page) }
    #expect(mprotect(base + 2 * Self.page, Self.page, PROT_NONE) == 0)
    try body(base)
  }

  @Test("What can't be read is found without a fault") func bytes() throws {
    try withPages { base in
      #expect(ol_check_readable(base, 2 * Self.page) == 0)
      #expect(ol_check_readable(base + 1, 2 * Self.page) == EFAULT)
      #expect(ol_check_readable(base + 2 * Self.page - 1, 1) == 0)
      #expect(ol_check_readable(base + 2 * Self.page, 1) == EFAULT)
      #expect(ol_check_readable(base + 2 * Self.page, 0) == 0)
      #expect(ol_check_readable(base, .max) == EFAULT)
    }
    for address in [0, 8, 0x5000, UInt.max, 0x8000_0000_0000_0000, UInt.max - 4096] {
      #expect(ol_check_readable(UnsafeRawPointer(bitPattern: address), 1) == EFAULT, "\(address)")
    }
    #expect(ol_check_readable(nil, 1) == EFAULT)
  }

  @Test("A text is read as far as it goes, and no further") func text() throws {
    try withPages { base in
      let bytes = base.bindMemory(to: CChar.self, capacity: 3 * Self.page)
      memset(base, 0x61, 2 * Self.page)
      var length = 0
      #expect(ol_check_text(bytes, 1 << 16, &length) == EFAULT, "it has no end before what can't be read")
      #expect(ol_check_text(bytes, 2 * Self.page, &length) == 0 && length == 2 * Self.page)
      bytes[2 * Self.page - 1] = 0
      #expect(ol_check_text(bytes + 7, 1 << 16, &length) == 0 && length == 2 * Self.page - 8)
      #expect(ol_check_text(bytes, 5, &length) == 0 && length == 5)
      bytes[Self.page] = 0
      #expect(ol_check_text(bytes, 1 << 16, &length) == 0 && length == Self.page)
      #expect(ol_check_text(bytes + Self.page, 1 << 16, &length) == 0 && length == 0)
    }
    var length = 0
    #expect(ol_check_text(nil, 9, &length) == EFAULT)
  }

  @Test("Asking changes no signal mask and no errno") func leavesNoTrace() {
    var before = sigset_t()
    var after = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &before)
    var mask: (UInt64, UInt64) = (.max, .max)
    errno = 7
    #expect(ol_check_readable(&mask, 16) == 0)
    #expect(errno == 7)
    pthread_sigmask(SIG_BLOCK, nil, &after)
    for number in 1...64 as ClosedRange<Int32> {
      #expect(sigismember(&before, number) == sigismember(&after, number))
    }
  }

  @Test("A copy of what can be read, and of nothing else") func copies() throws {
    try withPages { base in
      memset(base, 0x61, 2 * Self.page)
      var copy = [UInt8](repeating: 0, count: 2 * Self.page)
      #expect(ol_copy_readable(&copy, base + 1, copy.count - 1) == 0)
      #expect(copy == Array(repeating: 0x61, count: copy.count - 1) + [0])
      #expect(ol_copy_readable(&copy, base + Self.page + 1, Self.page) == EFAULT)
      #expect(ol_copy_readable(nil, nil, 0) == 0)
    }
  }

  /// As one finds it who has asked before another thread unmapped it. The handlers are the process's.
  @Test("What was unmapped since it was asked about is found by its fault") func copiesAfterAll() async {
    await #expect(processExitsWith: .exitCode(7)) {
      guard ol_install_stack_handlers(-1, ol_stack_messages()) == 0,
        let base = mmap(nil, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        mprotect(base + 4096, 4096, PROT_NONE) == 0
      else { exit(1) }
      var copy = [UInt8](repeating: 0, count: 8192)
      // Again and again: the first leaves nothing behind.
      for _ in 0..<3 {
        guard ol_copy_guarded(&copy, base, 8192) == EFAULT, ol_copy_guarded(&copy, base, 4096) == 0,
          ol_copy_guarded(&copy, UnsafeRawPointer(bitPattern: UInt(1) << 63), 8) == EFAULT
        else { exit(2) }
      }
      // Another thread's stack isn't the handler's.
      let ended = Thread { guard ol_copy_guarded(nil, nil, 8) == EFAULT else { exit(3) } }
      ended.start()
      while !ended.isFinished { usleep(100) }
      exit(7)
    }
    // A fault elsewhere is a crash as ever.
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      guard ol_install_stack_handlers(-1, ol_stack_messages()) == 0 else { exit(1) }
      var copy = [UInt8](repeating: 0, count: 8)
      _ = ol_copy_guarded(&copy, UnsafeRawPointer(bitPattern: 0x5000), 8)
      UnsafeMutablePointer<UInt8>(bitPattern: 0x5000)?.pointee = 1
    }
  }
}
