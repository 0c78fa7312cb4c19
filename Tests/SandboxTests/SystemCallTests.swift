import Glibc
import Testing

@testable import Sandbox

@Suite struct SystemCallTests {
  @Test func listsAreDisjointAndWithoutRepeats() {
    let all = SystemCalls.allowed + SystemCalls.paths
    #expect(Set(all).count == all.count)
  }

  @Test(
    arguments: [
      ("execve", EACCES), ("mmap", EACCES), ("socket", EAFNOSUPPORT), ("io_uring_setup", ENOSYS), ("mount", EPERM),
      (nil, ENOSYS),
    ] as [(String?, Int32)])
  func denials(_ name: String?, _ code: Int32) { #expect(SystemCalls.denial(of: name) == code) }

  @Test func namesAndNumbersMatch() {
    for name in SystemCalls.allowed {
      guard let number = SystemCalls.number(of: name) else { continue }
      #expect(SystemCalls.name(of: number) == name)
    }
    #expect(!SystemCalls.isKnown(""))
    #expect(!SystemCalls.isKnown("frobnicate"))
    #expect(SystemCalls.name(of: 600) == nil)
  }

  @Test func everyPathCallHasAPathArgument() {
    for name in SystemCalls.paths { #expect(SystemCalls.pathArgument(of: name) != nil) }
    for name in SystemCalls.allowed { #expect(SystemCalls.pathArgument(of: name) == nil) }
  }
}
