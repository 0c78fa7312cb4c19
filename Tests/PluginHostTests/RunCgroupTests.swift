import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

/// The control files of a memory cgroup, as kernels write them and expect them (cgroup-v2.rst, memory.rst).
@Suite(.timeLimit(.minutes(1))) struct RunCgroupTests {
  private static func folder(_ files: [String: String]) throws -> String {
    let path = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-test-")
    for (name, text) in files { try text.write(toFile: "\(path)/\(name)", atomically: false, encoding: .utf8) }
    return path
  }

  private static func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  @Test func secondVersion() throws {
    let path = try Self.folder([
      "memory.stat": "anon 4096\nfile 999999\nkernel 8192\nkernel_stack 16384\nshmem 12288\nanon_thp 77\n",
      "memory.max": "max\n",
      "memory.events": "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n",
    ])
    defer { Files.removeTree(path) }
    let cgroup = RunCgroup(path: path, version: .two)
    #expect(cgroup.usage() == 24_576)
    #expect(try cgroup.limit(cgroup.usage() + 1000))
    #expect(try Self.text("\(path)/memory.max").hasPrefix("25576"))
    #expect(cgroup.kill == .noProcess)
    // At the limit, but something could be reclaimed.
    try "max 4\noom 1\noom_kill 2\n".write(toFile: "\(path)/memory.events", atomically: false, encoding: .utf8)
    #expect(cgroup.kill == .noProcess)
    try "max 4\noom 1\noom_kill 3\n".write(toFile: "\(path)/memory.events", atomically: false, encoding: .utf8)
    #expect(cgroup.kill == .around)
    try "max 5\noom 2\noom_kill 3\n".write(toFile: "\(path)/memory.events", atomically: false, encoding: .utf8)
    #expect(cgroup.kill == .atLimit)
    cgroup.lift()
    #expect(try Self.text("\(path)/memory.max").hasPrefix("max"))
  }

  @Test("Before Linux 5.18 kernel memory is told in parts") func kernelMemoryInParts() throws {
    let path = try Self.folder([
      "memory.stat":
        "anon 4096\nfile 999999\nkernel_stack 16384\npagetables 8192\npercpu 512\nsock 0\nshmem 12288\nslab_reclaimable 1000\nslab_unreclaimable 500\nslab 1500\n"
    ])
    defer { Files.removeTree(path) }
    #expect(RunCgroup(path: path, version: .two).usage() == 4096 + 12288 + 16384 + 8192 + 512 + 1500)
  }

  @Test("Without the files of a kernel that has fewer, nothing is taken for a kill") func missingFiles() throws {
    let path = try Self.folder([:])
    defer { Files.removeTree(path) }
    for version in [Cgroups.Version.one, .two] {
      var cgroup = RunCgroup(path: path, version: version)
      cgroup.beginPeak()
      #expect(cgroup.kill == .noProcess && cgroup.usage() == 0 && cgroup.peak(beyond: 0) == 0)
      #expect(throws: SystemCallError.self) { try cgroup.limit(1 << 20) }
    }
  }

  @Test func firstVersion() throws {
    let path = try Self.folder([
      "memory.stat": "cache 999999\nrss 4096\nshmem 8192\nrss_huge 55\ntotal_rss 66\n",
      "memory.kmem.usage_in_bytes": "12288\n", "memory.limit_in_bytes": "9223372036854771712\n",
      "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", "memory.failcnt": "7\n",
    ])
    defer { Files.removeTree(path) }
    let cgroup = RunCgroup(path: path, version: .one)
    #expect(cgroup.usage() == 24_576)
    #expect(try cgroup.limit(cgroup.usage() + 1000))
    #expect(try Self.text("\(path)/memory.limit_in_bytes").hasPrefix("25576"))
    try "oom_kill 1\n".write(toFile: "\(path)/memory.oom_control", atomically: false, encoding: .utf8)
    #expect(cgroup.kill == .around)
    try "9\n".write(toFile: "\(path)/memory.failcnt", atomically: false, encoding: .utf8)
    #expect(cgroup.kill == .atLimit)
    cgroup.lift()
    #expect(try Self.text("\(path)/memory.limit_in_bytes").hasPrefix("-1"))
  }

  /// What is limited isn't swapped out instead.
  @Test(arguments: [Cgroups.Version.one, .two]) func swapIsBounded(_ version: Cgroups.Version) throws {
    let swap = version == .one ? "memory.swappiness" : "memory.swap.max"
    let path = try Self.folder([swap: "60\n"])
    defer { Files.removeTree(path) }
    RunCgroup(path: path, version: version).keepFromSwap()
    #expect(try Self.text("\(path)/\(swap)").hasPrefix("0"))
  }

  private static func mayHaveCgroups() -> Bool {
    var reason = ""
    return geteuid() == 0 && Cgroups(reason: &reason) != nil
  }

  @Test(.enabled(if: mayHaveCgroups(), "needs root and a memory cgroup that may have children"))
  func theKernelTakesIt() throws {
    var reason = ""
    let found = Cgroups(reason: &reason)
    let cgroups = try #require(found, "\(reason)")
    let cgroup = try cgroups.take()
    for bytes in [8 << 20, 4 << 20, 16 << 20] {
      #expect(try cgroup.limit(bytes))
      cgroup.lift()
    }
    let swap = cgroup.path + (cgroup.version == .one ? "/memory.swappiness" : "/memory.swap.max")
    if Files.exists(swap) { #expect(try Self.text(swap) == "0\n") }
    cgroups.giveBack(cgroup)
  }

  /// The highest figure counts page cache; what of that is left is taken off.
  @Test(
    "a cgroup that is still in use when its host ends is left, and the next host removes it (H128)",
    .enabled(if: mayHaveCgroups(), "needs root and a memory cgroup that may have children"))
  func inUse() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sleep")
    process.arguments = ["100"]
    try process.run()
    defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
    var reason = ""
    let path: String
    do {
      let found = Cgroups(reason: &reason)
      let cgroups = try #require(found, "\(reason)")
      let cgroup = try cgroups.take()
      path = cgroup.path
      try Files.control("\(path)/cgroup.procs", "\(process.processIdentifier)")
      cgroups.giveBack(cgroup)
    }
    #expect(Files.exists(path), "EBUSY: it isn't waited for")
    _ = Cgroups(reason: &reason)
    #expect(Files.exists(path))
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    while Files.exists(path) { _ = Cgroups(reason: &reason) }
  }

  @Test func peaks() throws {
    let first = try Self.folder([
      "memory.stat": "cache 40960\nrss 0\nshmem 8192\n", "memory.max_usage_in_bytes": "1000000\n",
      "memory.failcnt": "0\n",
    ])
    let second = try Self.folder([
      "memory.stat": "anon 0\nfile 40960\nshmem 8192\n", "memory.peak": "1000000\n", "memory.events": "max 3\n",
    ])
    defer { for path in [first, second] { Files.removeTree(path) } }
    var cgroup = RunCgroup(path: first, version: .one)
    #expect(cgroup.peak(beyond: 999_999) == 967_232)
    #expect(cgroup.peak(beyond: 1_000_000) == 0)
    cgroup.beginPeak()
    #expect(try Self.text("\(first)/memory.max_usage_in_bytes").hasPrefix("0"))
    try "1000000\n".write(toFile: "\(first)/memory.max_usage_in_bytes", atomically: false, encoding: .utf8)
    // An earlier run's, which version 2 can't set back.
    var again = RunCgroup(path: second, version: .two)
    again.beginPeak()
    #expect(again.peak(beyond: 0) == 8192)
    try "2000000\n".write(toFile: "\(second)/memory.peak", atomically: false, encoding: .utf8)
    #expect(again.peak(beyond: 0) == 1_967_232)
    // Page cache was made to go.
    try "4\n".write(toFile: "\(first)/memory.failcnt", atomically: false, encoding: .utf8)
    try "max 4\n".write(toFile: "\(second)/memory.events", atomically: false, encoding: .utf8)
    #expect(cgroup.peak(beyond: 0) == 8192 && again.peak(beyond: 0) == 8192)
  }
}
