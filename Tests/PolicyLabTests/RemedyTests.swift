import Foundation
import Glibc
import Sandbox
import TestSupport
import Testing

@testable import PluginHost
@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct RemedyTests {
  private static func denial(
    _ wall: String, _ operation: String, _ target: String, writes: Bool = false
  ) -> RunReport.Denial {
    RunReport.Denial(wall: wall, operation: operation, target: target, count: 1, writes: writes)
  }

  /// What ends in `d` is a folder, what ends in `0` isn't there, /dev/x is a device, and /mounts leads into /proc. Who runs this may
  /// not search /closed.
  private static var machine: Remedy.Machine {
    var machine = Remedy.Machine {
      $0.hasSuffix("d") ? true : $0.hasSuffix("0") || $0.hasSuffix("\u{fffd}") ? nil : false
    }
    machine.isDevice = { $0 == "/dev/x" || $0 == "/dev/null" }
    machine.real = { $0 == "/mounts" ? "/proc/17/mounts" : $0 }
    machine.isLink = { $0.hasSuffix("link") }
    machine.isHidden = { $0.hasPrefix("/closed/") }
    machine.whyUnreadable = { $0 == "/data/secret" ? "which you may not read" : nil }
    machine.hops = { $0 == "/dev/stdout" ? ["/proc/self/fd/1"] : [] }
    return machine
  }

  @Test("what is granted below the scratch folder is the machine's, whose code another line lets it map")
  func grantedBelowTemporary() {
    var policy = Policy()
    policy.read = ["/tmp/data"]
    let remedy = Remedy(for: Self.denial("seccomp", "mmap", "/tmp/data/a.so"), under: policy, on: Self.machine)
    #expect(remedy.line == "executableMemory: later\nfiles: {execute: [/tmp/data/a.so]}")
    #expect(Remedy(for: Self.denial("seccomp", "mmap", "/tmp/a.so"), under: policy, on: Self.machine).line == nil)
  }

  @Test(
    "each denial has the line of a policy that would allow it, or says what else helps",
    arguments: [
      (denial("files", "openat", "/data/a"), "files: {read: [/data/a]}", "that file"),
      (denial("files", "readlink", "/data/link"), "files: {list: [/data]}", "where that link leads"),
      (denial("files", "readlink", "/data/a"), "files: {read: [/data/a]}", "that file"),
      (denial("files", "openat", "/data/d"), "files: {read: [/data/d]}", "all that lies in it"),
      (denial("files", "chdir", "/data/d"), "files: {list: [/data/d]}", "the names in it"),
      (denial("files", "statfs", "/data/d"), "files: {list: [/data/d]}", "the names in it"),
      (denial("files", "chdir", "/tmp/d"), "files: {read: [/tmp/d]}", "all that lies in it"),
      (denial("files", "openat", "/data/a, b: #]"), "files: {read: [\"/data/a, b: #]\"]}", "that file"),
      (denial("files", "openat", "/data/0"), nil, "isn't on this machine"),
      (denial("files", "openat", "/closed/0"), nil, "in a folder that you may not search"),
      (denial("files", "execve", "/closed/0"), nil, "in a folder that you may not search"),
      (denial("files", "mkdir", "/closed/0/0", writes: true), nil, "in a folder that you may not search"),
      (
        denial("files", "openat", "/data/secret"), "files: {read: [/data/secret]}", "that file, which you may not read"
      ),
      (denial("seccomp", "mmap", "0x5, 0x812"), "executableMemory: later", "--observe names the file"),
      (denial("seccomp", "mmap", "/tmp/w.so"), nil, "what a plugin may write is never code"),
      (denial("seccomp", "mmap", "/container/w.so"), nil, "what a plugin may write is never code"),
      (denial("seccomp", "mmap", "/bundle/libhelper.so"), "executableMemory: later", "code of its bundle"),
      (denial("files", "execve", "/bundle/tool"), "executableMemory: later", "programs of its bundle"),
      (denial("seccomp", "execve", "/bundle/tool"), "processes: 1\nexecutableMemory: later", "programs of its bundle"),
      (denial("seccomp", "mmap", "/manifest"), nil, "the manifest is data"),
      // Huge and locked, of no file, and of one.
      (denial("seccomp", "mmap", "0x3, 0x40022"), nil, "no policy grants huge pages"),
      (denial("seccomp", "mmap", "0x3, 0x2022"), nil, "or locked memory"),
      (denial("seccomp", "mmap", "0x7, 0x40022"), nil, "programs normally go on without"),
      (denial("seccomp", "mmap", "0x1, 0x2002"), nil, "programs normally go on without"),
      (denial("seccomp", "mlock", ""), nil, "or locked memory"),
      (denial("seccomp", "uselib", "0x1"), nil, "ld.so(8)"),
      (denial("files", "openat", "/sys/kernel/a", writes: true), nil, "/sys/kernel/a lies in /sys"),
      (denial("files", "unlink", "/proc/sys/d/a", writes: true), nil, "/proc/sys/d lies in /proc"),
      (denial("files", "access", "/sys/d", writes: true), nil, "no policy lets it write there"),
      (denial("seccomp", "flock", "0x3, 0x2"), nil, "locks of fcntl(2)"),
      (denial("seccomp", "fchown", "0x3, 0x0, 0x0"), nil, "has the owner"),
      (denial("files", "openat", "/"), nil, "no policy grants it: it is everything"),
      (denial("seccomp", "socket", "0x2, 0x80001, 0x0"), "network: pairs", "report then names the host and port"),
      (denial("seccomp", "socket", "0xa, 0x1, 0x6"), "network: pairs", "report then names the host and port"),
      (denial("seccomp", "socket", "0x2, 0x2, 0x0"), nil, "no network"),
      (denial("files", "openat", "/data/*[a]?\\"), "files: {read: [\"/data/\\\\*\\\\[a]\\\\?\\\\\\\\\"]}", "that file"),
      (denial("files", "openat", "/data/\u{fffd}"), nil, "isn't UTF-8"),
      (denial("files", "openat", "/mounts"), nil, "leads to /proc/17/mounts"),
      (denial("files", "openat", "/dev/x"), nil, "no policy grants a device"),
      (denial("files", "openat", "/etc/hosts"), "files: {read: [/etc/hosts]}", "under 'network' instead"),
      (denial("files", "access", "/data/a", writes: true), "files: {write: [$CONTAINER, $TMP, /data/a]}", "only asked"),
      (denial("files", "access", "/data/d", writes: true), "files: {write: [$CONTAINER, $TMP, /data/d]}", "only asked"),
      (denial("seccomp", "mmap", "0x7, 0x22"), "executableMemory: jit", "has written itself"),
      (denial("seccomp", "mprotect", "0x5"), "executableMemory: jit", "has written itself"),
      (denial("seccomp", "mmap", "0x7, 0x21"), nil, "never writable"),
      (
        denial("files", "openat", "/data/a", writes: true), "files: {write: [$CONTAINER, $TMP, /data/a]}",
        "change that file"
      ),
      (
        denial("files", "unlink", "/data/d/a", writes: true), "files: {write: [$CONTAINER, $TMP, /data/d]}",
        "change all"
      ),
      (
        denial("files", "openat", "/data/d/0", writes: true), "files: {write: [$CONTAINER, $TMP, /data/d]}",
        "change all"
      ),
      // A file without a name (O_TMPFILE).
      (
        denial("files", "openat", "/data/d", writes: true), "files: {write: [$CONTAINER, $TMP, /data/d]}",
        "all that lies in it"
      ),
      (denial("files", "readlink", "/proc/self/exe"), nil, "no policy grants it"),
      (
        denial("files", "mmap", "/data/a"), "executableMemory: later\nfiles: {execute: [/data/a]}",
        "map that file's code"
      ),
      (denial("files", "mmap", "/container/a"), nil, "never code"),
      (denial("seccomp", "socketpair", "0x1, 0x80801, 0x0"), "network: pairs", "two ends of a TCP connection"),
      (denial("seccomp", "socketpair", "0x1, 0x2, 0x0"), nil, "a pair of stream sockets is all"),
      (denial("seccomp", "socketpair", "0x2, 0x1, 0x0"), nil, "a pair of stream sockets is all"),
      (denial("files", "openat", "/data/0/0", writes: true), nil, "isn't on this machine"),
      (denial("files", "mkdir", "/x", writes: true), nil, "root"),
      (denial("files", "openat", "/proc/self/status"), nil, "no policy grants it"),
      (denial("files", "openat", "/proc/1/environ"), nil, "no policy grants it"),
      (denial("files", "openat", "/dev"), nil, "no policy grants it"),
      (denial("files", "openat", "/dev/stdout"), nil, "it leads to /proc/self/fd/1, which shows"),
      (denial("files", "openat", "/dev/stdout", writes: true), nil, "it leads to /proc/self/fd/1, which shows"),
      (denial("files", "openat", "/dev/pts/0", writes: true), nil, "isn't on this machine"),
      (denial("files", "openat", "/dev/d", writes: true), "files: {write: [$CONTAINER, $TMP, /dev/d]}", "all"),
      (denial("files", "openat", "/proc/cpuinfo"), "files: {read: [/proc/cpuinfo]}", "that file"),
      (denial("files", "openat", "/usr/lib", writes: true), nil, "change the runtime"),
      (denial("files", "openat", "/bundle/x", writes: true), nil, "only reads its bundle"),
      (denial("files", "openat", "/container/x", writes: true), "files: {write: [$CONTAINER, $TMP]}", "its container"),
      (denial("files", "openat", "/tmp/x", writes: true), "files: {write: [$CONTAINER, $TMP]}", "scratch folder"),
      (denial("limits", "mmap", "0x3, 0x21"), "limits: {memory: 16MiB}", "memory"),
      (denial("limits", "clone", "0x3d0f00"), "limits: {threads: 128}", "threads"),
      (denial("limits", "openat", "256 open files"), "limits: {openFiles: 512}", "twice as many open files"),
      (denial("limits", "fallocate", "0x1, 0x0, 0x1"), "limits: {fileSize: 2048MiB}", "twice as long"),
      (denial("limits", "write", "1073741824 bytes in a file"), "limits: {fileSize: 2048MiB}", "twice as long"),
      (
        denial("network", "connect", "10.0.0.5:80"), "network: [\"10.0.0.5:80\"]",
        "everything that it can read to that port"
      ),
      (
        denial("network", "connect", "a.example:443"), "network: [\"a.example:443\"]",
        "everything that it can read to that port"
      ),
      (denial("network", "connect", "[fe80::1]:80"), nil, "no policy"),
      (denial("limits", "connect", "a:1: more than 64 at once"), nil, "fixed"),
      (denial("limits", "fcntl", "0x6"), nil, "fixed"), (denial("seccomp", "socket", "0x2"), nil, "no network"),
      (denial("seccomp", "mmap", "0x5"), nil, "never writable"),
      (
        denial("seccomp", "mmap", "/usr/lib/a.so"), "executableMemory: later\nfiles: {execute: [/usr/lib/a.so]}",
        "while it runs"
      ),
      (denial("seccomp", "execve", ""), nil, "no policy"), (denial("seccomp", "execveat", ""), nil, "no policy"),
      (
        denial("seccomp", "execve", "/bin/sh"), "processes: 1\nexecutableMemory: later\nfiles: {execute: [/bin/sh]}",
        "that program"
      ),
      (denial("files", "execve", "/bin/sh"), "executableMemory: later\nfiles: {execute: [/bin/sh]}", "that program"),
      (denial("files", "execve", "/bin/no0"), nil, "isn't on this machine"),
      (denial("files", "execve", "/bin/folder.d"), nil, "isn't on this machine"),
      (denial("seccomp", "clone", "0x1200011"), "processes: 1", "another process"),
      (denial("seccomp", "clone", "0x4111"), "processes: 1", "another process"),
      (denial("seccomp", "fork", ""), "processes: 1", "another process"),
      (denial("seccomp", "vfork", ""), "processes: 1", "another process"),
      (denial("seccomp", "clone", "0x12"), nil, "no policy"),
      (denial("seccomp", "clone", "0x20000011"), nil, "no policy"),
      (denial("seccomp", "clone", "0x111"), nil, "no policy"), (denial("seccomp", "clone", "odd"), nil, "no policy"),
      (denial("limits", "fork", "5 of 4"), "processes: 8", "it had 5"),
      (denial("limits", "fork", "9 of 3"), "processes: 9", "it had 9"),
      (denial("limits", "fork", "41 of 40"), "processes: 64", "it had 41"),
      (denial("limits", "fork", "65 of 64"), nil, "no policy allows more than 64"),
      (denial("seccomp", "syscall 999", ""), nil, "no policy"),
      (denial("seccomp", "openat", ""), nil, "set-user-ID or set-group-ID"),
      (denial("seccomp", "open", ""), nil, "leave these bits out of the mode"),
      (denial("seccomp", "creat", ""), nil, "set-user-ID or set-group-ID"),
      (denial("seccomp", "mknodat", ""), nil, "special files and FIFOs"),
      (denial("seccomp", "mknod", ""), nil, "special files and FIFOs"),
      (denial("seccomp", "prlimit64", "0x0, 0x7"), nil, "limits: {openFiles: …}"),
      (denial("seccomp", "prlimit64", "0x0, 0x9"), nil, "limits: {memory: …}"),
      (denial("seccomp", "prlimit64", "0x0, 0x4"), nil, "change its limits, which are the policy's"),
      (denial("seccomp", "setrlimit", ""), nil, "change its limits, which are the policy's"),
      (denial("seccomp", "rt_sigqueueinfo", ""), nil, "kill(2) to its own process works"),
      (denial("seccomp", "rt_tgsigqueueinfo", ""), nil, "kill(2) to its own process works"),
    ] as [(RunReport.Denial, String?, String)])
  func remedies(denial: RunReport.Denial, line: String?, words: String) throws {
    // What it may write by default is denied where a policy takes it away.
    var policy = Policy()
    policy.writesContainer = !denial.target.hasPrefix("/container")
    policy.writesTemporary = !denial.target.hasPrefix("/tmp")
    let remedy = Remedy(for: denial, under: policy, on: Self.machine)
    #expect(remedy.line == line && remedy.words.contains(words), "\(remedy)")
    // What is offered is a policy that says so.
    if let line { #expect(try Policy(parsing: "version: 2\n\(line)\n", file: "offered") != policy) }
  }

  @Test("a link that a plugin may have made isn't offered, and the reason and what it leads to are said") func planted()
  {
    var machine = Self.machine
    machine.plantedLink = { path, _ in path.hasPrefix("/data/own") ? "sub" : nil }
    machine.real = { $0 == "/data/own/sub" ? "/srv/target" : $0 }
    let found = ["/data/own/sub", "/data/own/x", "/data/a"].map {
      Remedy(for: Self.denial("files", "openat", $0), under: Policy(), on: machine)
    }
    #expect(found.map(\.line) == [nil, nil, "files: {read: [/data/a]}"])
    #expect(found[0].words.contains("the symbolic link 'sub' on the way lies in a folder that plugins may write to"))
    #expect(found[0].words.hasSuffix("if the plugin is to have /srv/target, grant that by its own name"))
    #expect(!found[1].words.contains("by its own name"))
  }

  @Test("who may have processes already is offered the program alone") func programs() throws {
    var policy = Policy()
    policy.processes = 4
    let denial = Self.denial("seccomp", "execve", "/usr/bin/sort")
    let remedy = Remedy(for: denial, under: policy, on: .init { _ in false })
    #expect(remedy.line == "executableMemory: later\nfiles: {execute: [/usr/bin/sort]}", "\(remedy)")
    #expect(Remedy(for: denial, under: Policy(), on: .init { _ in false }).line == "processes: 1\n\(remedy.line ?? "")")
    #expect(
      remedy.paragraph == [
        "  policy, these lines together, in one of version 2:  # \(remedy.words)", "executableMemory: later",
        "files: {execute: [/usr/bin/sort]}",
      ])
  }

  @Test("what a policy keeps a plugin from writing isn't called written", arguments: ["/tmp", "/container"])
  func keptFromWriting(folder: String) {
    for isWritten in [true, false] {
      var policy = Policy()
      (policy.writesContainer, policy.writesTemporary) = (isWritten, isWritten)
      let remedy = Remedy(for: Self.denial("seccomp", "mmap", folder + "/a.so"), under: policy, on: Self.machine)
      #expect(remedy.line == nil && remedy.words.hasPrefix("under another policy") != isWritten, "\(remedy)")
    }
  }

  @Test("of the bundle's code that may be mapped it is said why it wasn't", arguments: ["later", "jit"])
  func writableCode(executable: String) throws {
    let policy = try Policy(parsing: "version: 2\nexecutableMemory: \(executable)", file: "p")
    let remedy = Remedy(for: Self.denial("seccomp", "mmap", "/bundle/a.so"), under: policy, on: Self.machine)
    #expect(remedy.line == nil && remedy.words.hasSuffix("map it without PROT_WRITE"), "\(remedy)")
    let huge = Remedy(for: Self.denial("seccomp", "mmap", "0x7, 0x40022"), under: policy, on: Self.machine)
    #expect(huge.line == nil && huge.words.contains("huge pages"), "\(huge)")
  }

  @Test(
    "no processes are offered beside a rule of the policy against the calls for them",
    arguments: [("deny: [newThreads]", "clone"), ("kill: [programs]", "execve, fork, vfork")])
  func rulesAgainstProcesses(rules: String, named: String) throws {
    let policy = try Policy(parsing: "version: 2\nsystemCalls: {\(rules)}", file: "p")
    for denial in [Self.denial("seccomp", "clone", "0x1200011"), Self.denial("seccomp", "execve", "/bin/sh")] {
      let remedy = Remedy(for: denial, under: policy, on: Self.machine)
      #expect(remedy.line == nil && remedy.words.contains("denies \(named): remove that first"), "\(remedy)")
    }
  }

  @Test("what the policy's own rule denies is allowed without that rule") func rules() throws {
    let policy = try Policy(
      parsing: "version: 2\nsystemCalls: {deny: [{call: prctl, argument: 0, equals: 15}]}", file: "p")
    let rule = try #require(policy.systemCalls.rules.first)
    var denial = Self.denial("seccomp", "prctl", "option = 15")
    denial.rule = rule.policyLine
    let remedy = Remedy(for: denial, under: Policy(), on: .init { _ in nil })
    #expect(remedy.line == nil && remedy.text == remedy.words)
    #expect(remedy.words.contains("remove 'systemCalls: {deny: [{call: prctl, argument: 0, equals: 15}]}',"))
    #expect(!remedy.words.contains("group"))
    var refused = Self.denial("seccomp", "mkdir", "")
    refused.rule = "systemCalls: {deny: [mkdir]}"
    #expect(
      Remedy(for: refused, under: Policy(), on: .init { _ in nil }).words.contains(
        "remove 'systemCalls: {deny: [mkdir]}', or fileChanges, the group that it is in"))
  }

  @Test("a remedy says which line of the policy it can't stand beside") func lineInTheWay() throws {
    var policy = Policy()
    (policy.list, policy.read) = (["/data/d/s", "/data/d/t", "/data/e/s"], ["/data/a"])
    let folder = Remedy(for: Self.denial("files", "openat", "/data/d"), under: policy, on: .init { _ in true })
    #expect(folder.line == "files: {read: [/data/d]}")
    #expect(folder.words.hasSuffix("with either, take /data/d/s and 1 more in it out of 'list'"), "\(folder)")
    var denial = Self.denial("files", "openat", "/data/a")
    denial.writes = true
    let file = Remedy(for: denial, under: policy, on: .init { $0 != "/data/a" })
    #expect(file.words.hasSuffix("; take it out of 'read', which 'write' includes"), "\(file)")
    let code = Remedy(for: Self.denial("seccomp", "mmap", "/data/a"), under: policy, on: .init { _ in false })
    #expect(code.line == "executableMemory: later\nfiles: {execute: [/data/a]}")
    #expect(code.words.hasSuffix("; take it out of 'read', which 'execute' includes"), "\(code)")
    policy.list = ["/data/b"]
    let read = Remedy(for: Self.denial("files", "openat", "/data/b"), under: policy, on: .init { _ in true })
    #expect(
      read.line == "files: {read: [/data/b]}" && read.words.hasSuffix("; take it out of 'list', which 'read' includes"))
    let own = Remedy(for: Self.denial("files", "openat", "/data/ab"), under: policy, on: .init { _ in false })
    #expect(own.line == "files: {read: [/data/ab]}" && !own.words.contains("take it out"))
  }

  @Test("who asks for a link, or whether a folder is one, isn't offered what it leads to or holds")
  func askedForLinks() {
    var machine = Remedy.Machine { $0 == "/data/d" || $0 == "/data" ? true : false }
    machine.isLink = { $0.hasSuffix("/link") }
    // Only what leads through the link is refused, and not the folder that it lies in.
    machine.plantedLink = { path, _ in path.hasSuffix("/link") || path.hasPrefix("/lost/") ? "link" : nil }
    func remedy(_ path: String, _ call: String = "newfstatat", namesLink: Bool = true) -> Remedy {
      var denial = Self.denial("files", call, path)
      denial.namesLink = namesLink
      return Remedy(for: denial, under: Policy(), on: machine)
    }
    #expect(remedy("/data/d/link").line == "files: {list: [/data/d]}")
    #expect(remedy("/data/d/link", "readlink", namesLink: false).line == "files: {list: [/data/d]}")
    #expect(remedy("/data/d/link", namesLink: false).line == nil)
    #expect(remedy("/lost/d/link").line == nil)
    #expect(remedy("/data/d", "readlink").line == "files: {list: [/data/d]}")
    #expect(remedy("/data/d", "openat", namesLink: false).line == "files: {read: [/data/d]}")
    #expect(remedy("/data/a").line == "files: {read: [/data/a]}")
  }

  @Test("a folder around a part that may only be read is said to be held, and no line is offered") func heldFolder() {
    var policy = Policy()
    (policy.write, policy.read) = (["/data/d"], ["/data/d/e/part"])
    for (path, isHeld) in [("/data/d/e", true), ("/data/d/f", false)] {
      let remedy = Remedy(for: Self.denial("files", "rename", path, writes: true), under: policy, on: Self.machine)
      #expect((remedy.line == nil) == isHeld && remedy.words.contains("/data/d/e/part") == isHeld, "\(remedy)")
    }
  }

  @Test("what its own mode keeps from everybody is said to be so, as root as well") func unreadable() throws {
    let path = ProcessFolder.path + "/unreadable"
    try Data().write(to: URL(fileURLWithPath: path))
    for (mode, isUnreadable) in [(0, true), (0o400, false)] as [(mode_t, Bool)] {
      chmod(path, mode)
      let remedy = Remedy(for: Self.denial("files", "openat", path), under: Policy())
      #expect(remedy.line?.hasPrefix("files: {read: [") == true)
      #expect(remedy.words.hasPrefix("shows that file, wh") == isUnreadable, "\(remedy)")
    }
  }

  @Test("code in a folder that plugins may write to isn't offered") func codeOfPlugins() {
    var machine = Self.machine
    machine.isPlugins = { path, _ in path == "/data/marked.so" }
    let found = ["/data/marked.so", "/data/a"].map {
      Remedy(for: Self.denial("seccomp", "mmap", $0), under: Policy(), on: machine)
    }
    #expect(found[0].line == nil && found[0].words.contains("one could map what it wrote as code"))
    #expect(found[1].line == "executableMemory: later\nfiles: {execute: [/data/a]}")
    let started = Remedy(for: Self.denial("seccomp", "execve", "/data/marked.so"), under: Policy(), on: machine)
    #expect(started == found[0])
  }
}
