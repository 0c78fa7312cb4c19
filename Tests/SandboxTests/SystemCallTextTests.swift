import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct SystemCallTextTests {
  private static let here: UInt64 = 0xffff_ff9c

  @Test(
    arguments: [
      ("openat", [here, 7, 0o2000000, 0], [1: "/a"], "AT_FDCWD, \"/a\", O_RDONLY|O_CLOEXEC"),
      ("openat", [5, 7, 0o1102, 0o640], [1: "a"], "5, \"a\", O_RDWR|O_CREAT|O_TRUNC, 0640"),
      ("open", [7, 0o101, 0o600], [0: "/a\"b\\"], "\"/a\\\"b\\\\\", O_WRONLY|O_CREAT, 0600"),
      ("creat", [7, 0o600], [0: "/a"], "\"/a\", 0600"), ("mkdir", [7, 0o700], [0: "/a"], "\"/a\""),
      ("renameat", [here, 1, 6, 2], [1: "/a", 3: "b"], "AT_FDCWD, \"/a\", 6, \"b\""),
    ] as [(String, [UInt64], [Int: String], String)])
  func paths(_ name: String, _ values: [UInt64], _ paths: [Int: String], _ text: String) {
    let values = values + Array(repeating: 0, count: 6 - values.count)
    #expect(SystemCallText.arguments(of: name, values, paths: paths.mapValues { $0 }).joined(separator: ", ") == text)
  }

  @Test(
    arguments: [
      ("socket", [2, 0o2000001, 6], "AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 6"), ("socket", [77, 9, 0], "0x4d, 0x9, 0"),
      ("mmap", [0, 4096, 5, 2, 3, 0], "4096, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3"),
      ("mmap", [0, 1, 0, 0x8000_0000, ~0, 0], "1, PROT_NONE, 0x80000000, -1"),
      ("mprotect", [0x1000, 1, 4], "0x1000, 1, PROT_EXEC"), ("kill", [~0, 9], "-1, 9"),
      ("kill", [0xdead_beef_0000_0001, 9], "0xdeadbeef00000001, 9"), ("fork", [1, 2, 3], ""), ("unknown", [1], ""),
    ] as [(String, [UInt64], String)])
  func values(_ name: String, _ values: [UInt64], _ text: String) {
    let values = values + Array(repeating: 0, count: 6 - values.count)
    #expect(SystemCallText.arguments(of: name, values, paths: [:]).joined(separator: ", ") == text)
  }

  @Test func whatCantBeReadIsSaid() {
    let path: [Int: String?] = [1: String?.none]
    #expect(
      SystemCallText.arguments(of: "openat", [5, 0, 0, 0, 0, 0], paths: path) == ["5", "unreadable", "O_RDONLY"])
  }

  /// Whatever registers hold.
  @Test func anyNumbersHaveATextAndNoControlCharacters() {
    let values: [UInt64] = Array(repeating: ~0, count: 6)
    for number in Int32(0)...500 {
      guard let name = SystemCalls.name(of: number) else { continue }
      let places = SystemCalls.pathArguments(of: name).compactMap(\.path)
      let paths = Dictionary(uniqueKeysWithValues: places.map { ($0, String?.some("x")) })
      for value in [0, 1, 0x8000_0000, .max] as [UInt64] {
        _ = SystemCallText.arguments(of: name, Array(repeating: value, count: 6), paths: paths)
      }
      #expect(SystemCallText.arguments(of: name, values, paths: paths).count <= 6)
    }
  }

  @Test func tracedCallsAreHandedOver() throws {
    var options = SeccompProgram.Options()
    options.traced = ["getpgid", "nanosleep"]
    let machine = FilterMachine(try SeccompProgram(options).bytes)
    for name in ["getpgid", "nanosleep"] {
      #expect(machine.run(.init(number: UInt32(try #require(SystemCalls.number(of: name))))) == .notify)
    }
    #expect(machine.run(.init(number: UInt32(try #require(SystemCalls.number(of: "getpid"))))) == .allow)
  }

  @Test("what network and processes let through is handed over where it is traced") func grantedCallsAreHandedOver()
    throws
  {
    var options = SeccompProgram.Options()
    (options.connects, options.makesProcesses, options.startsPrograms) = (true, true, true)
    let calls: [(String, [UInt64])] = [
      ("socket", [2, 1, 0]), ("socket", [10, 0o2000001, 6]), ("connect", []), ("clone", [0x120_0011]), ("vfork", []),
      ("execve", []),
    ]
    for (isTraced, expected) in [(false, FilterMachine.Verdict.allow), (true, .notify)] {
      if isTraced {
        options.traced = SystemCalls.granted(connects: true, makesProcesses: true, startsPrograms: true)
      }
      let machine = FilterMachine(try SeccompProgram(options).bytes)
      for (name, arguments) in calls {
        let number = UInt32(try #require(SystemCalls.number(of: name)))
        let padded = arguments + Array(repeating: 0, count: 6 - arguments.count)
        #expect(machine.run(.init(number: number, arguments: padded)) == expected, "\(name)")
      }
    }
    #expect(SystemCalls.granted(connects: false, makesProcesses: false, startsPrograms: false).isEmpty)
  }

  @Test(
    "TCP of both versions is what a network gives",
    arguments: [
      ([2, 1, 0], true), ([10, 0o2004001, 6], true), ([0xdead_0000_0002, 1, 0], true), ([2, 2, 0], false),
      ([1, 1, 0], false), ([2, 1, 17], false), ([2, 3, 6], false), ([16, 3, 0], false),
    ] as [([UInt64], Bool)])
  func streams(arguments: [UInt64], isOne: Bool) {
    #expect(SystemCalls.makesStream(arguments) == isOne)
  }
}
