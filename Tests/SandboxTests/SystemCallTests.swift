import Glibc
import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct SystemCallTests {
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

  @Test func everyPathCallHasItsPaths() {
    let plain: Set = ["stat", "lstat", "creat"]
    for name in SystemCalls.paths {
      let paths = SystemCalls.pathArguments(of: name)
      #expect(paths.count == (["rename", "renameat", "renameat2", "link", "linkat"].contains(name) ? 2 : 1), "\(name)")
      // Those that name a folder by its descriptor have it just before the path.
      for argument in paths { #expect(argument.folder ?? argument.path - 1 == argument.path - 1) }
      let isBesideFolder = name == "statx" || name.hasSuffix("at2") || name.hasSuffix("at") && !plain.contains(name)
      #expect((paths[0].folder != nil) == isBesideFolder, "\(name)")
    }
    for name in SystemCalls.allowed { #expect(SystemCalls.pathArguments(of: name).isEmpty) }
  }
}
