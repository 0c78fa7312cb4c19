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

  @Test(
    "a call goes through a link that it names, unless it is about the link itself",
    arguments: [
      ("open", [0, 0], true), ("open", [0, 0o400000], false), ("open", [0, 0o301], false), ("open", [0, 0o101], true),
      ("openat", [0, 0, 0], true), ("openat", [0, 0, 0o400000], false), ("creat", [0, 0o600], true),
      ("lstat", [], false),
      ("stat", [], true), ("newfstatat", [0, 0, 0, 0], true), ("newfstatat", [0, 0, 0, 0x100], false),
      ("statx", [0, 0, 0x100, 0], false), ("statx", [0, 0, 0, 0x100], true), ("unlink", [], false), ("chmod", [], true),
      ("linkat", [0, 0, 0, 0, 0x400], true), ("linkat", [0, 0, 0, 0, 0], false), ("readlink", [], false),
    ] as [(String, [UInt64], Bool)])
  func lastLink(name: String, arguments: [UInt64], isFollowed: Bool) {
    #expect(SystemCalls.followsLast(name, arguments) == isFollowed)
  }

  @Test("a call means what its descriptor has open where it names no path") func descriptors() {
    for (name, arguments, isMeant) in [
      ("fchmod", [3, 0, 0, 0], true), ("utimensat", [3, 0, 0, 0], true), ("utimensat", [3, 8, 0, 0], false),
      ("utimensat", [3, 8, 0, 0x1000], true), ("futimesat", [3, 0, 0, 0], true), ("futimesat", [3, 8, 0, 0], false),
      ("newfstatat", [3, 8, 0, 0x1000], false), ("fchmodat", [3, 0, 0, 0], false),
    ] as [(String, [UInt64], Bool)] {
      #expect(SystemCalls.meansDescriptor(name, arguments) == isMeant, "\(name) \(arguments)")
    }
    #expect(SystemCalls.pathArguments(of: "fchmod") == [.init(folder: 0, path: nil)])
  }

  @Test func everyPathCallHasItsPaths() throws {
    let plain: Set = ["stat", "lstat", "creat"]
    for name in SystemCalls.paths {
      let paths = SystemCalls.pathArguments(of: name)
      #expect(paths.count == (["rename", "renameat", "renameat2", "link", "linkat"].contains(name) ? 2 : 1), "\(name)")
      // Those that name a folder by its descriptor have it just before the path.
      for argument in paths {
        let path = try #require(argument.path)
        #expect(argument.folder ?? path - 1 == path - 1)
      }
      let isBesideFolder = name == "statx" || name.hasSuffix("at2") || name.hasSuffix("at") && !plain.contains(name)
      #expect((paths[0].folder != nil) == isBesideFolder, "\(name)")
    }
    for name in SystemCalls.allowed { #expect(SystemCalls.pathArguments(of: name).isEmpty) }
  }
}
