internal import Basics
internal import LinuxSystem
internal import PluginHost
package import Sandbox

/// What is tried to find out what a plugin can still do: calls of the C library, each in a process of its own. One succeeds where
/// the last call returns neither -1 nor a null pointer, or what it says.
package enum ResidualProbes {
  /// What is tried under this policy, in its order: also each path that it grants.
  package static func tests(for policy: Policy) throws -> [PolicyTests.Test] {
    let fixed = try PolicyTests(parsing: text, file: "probes") { (_) in Policy() }.tests
    let own = try triedGrants(of: policy).flatMap { path in try attempts(at: path, policy) }
    return (fixed + own).map { test in
      var test = test
      test.policy = policy
      return test
    }
  }

  /// What the policy allows and isn't tried: it would reach other machines, or run a program for what it does.
  package static func untried(under policy: Policy) -> [String] {
    let tried = Set(triedGrants(of: policy))
    var all = policy.network.map { "connect to \($0.text)" }
    if policy.startsPrograms {
      all.append("start programs of its bundle and of the runtime")
      all += policy.codePaths.map { "start \($0), or what lies in it" }
    }
    all += policy.grants.filter { !tried.contains($0) }.map { path in
      let words =
        switch policy.access(to: path) {
        case .write: "read and write"
        case .list: "list"
        default: policy.codePaths.contains(path) ? "read, and map as code," : "read"
        }
      return "\(words) \(path)"
    }
    return all
  }

  private static let maxGrants = 64

  /// Patterns are looked up only as a plugin is loaded.
  private static func triedGrants(of policy: Policy) -> [String] {
    Array(policy.grants.filter { !PathPattern.isPattern($0) && $0.isAbsolutePath }.prefix(maxGrants))
  }

  private static func attempts(at path: String, _ policy: Policy) throws -> [PolicyTests.Test] {
    let isFolder = Files.isFolder(path) == true
    func open(_ flags: Int) throws -> CallStep {
      CallStep(
        symbol: "open", signature: try CallSignature(parsing: "i32(cstring,i32,u32)"),
        arguments: [path, "\(flags)", "384"])
    }
    // What lies in a folder that is only listed can't be read; the folder itself is opened to see its names.
    let verb = policy.access(to: path) == .list ? "list" : "read"
    var all = [
      PolicyTests.Test(name: "\(verb) \(path)", steps: [try open(0)], policy: policy, expectations: [], line: 0)
    ]
    if policy.access(to: path) == .write {
      // A folder is written by making a file in it, here one without a name (O_TMPFILE).
      let step = try open(isFolder ? 0x41_0002 : 1)
      all.append(.init(name: "write \(path)", steps: [step], policy: policy, expectations: [], line: 0))
    }
    if policy.codePaths.contains(path), !isFolder {
      var opening = try open(0)
      opening.save = ["file": .result]
      let mapping = CallStep(
        symbol: "mmap", signature: try CallSignature(parsing: "i64(u64,u64,i32,i32,i32,i64)"),
        arguments: ["0", "4096", "5", "2", "$file", "0"])
      all.append(
        .init(name: "map code of \(path)", steps: [opening, mapping], policy: policy, expectations: [], line: 0))
    }
    return all
  }

  /// Whether the last call did what was tried.
  package static func hasSucceeded(_ test: PolicyTests.Test, _ observed: Observed) -> Bool {
    guard observed.outcome.kind == .returned, let value = observed.value else { return false }
    let wanted = test.expectations.filter { $0.text != "returned" }
    if !wanted.isEmpty { return wanted.allSatisfy { $0.mismatch(with: observed) == nil } }
    return value != "-1" && value != "0x0" && value != "null"
  }

  private static let text = """
    version: 1
    plugin: libc.so.6
    tests:
      - {name: make a file in its container, call: open, signature: "i32(cstring,i32,u32)", arguments: [$CONTAINER/x, 65, 384]}
      - {name: make a file in its scratch folder, call: open, signature: "i32(cstring,i32,u32)", arguments: [/tmp/x, 65, 384]}
      - {name: make a folder in its container, call: mkdir, signature: "i32(cstring,u32)", arguments: [$CONTAINER/d, 448]}
      - {name: make a symbolic link in its container, call: symlink, signature: "i32(cstring,cstring)", arguments: [/etc/passwd, $CONTAINER/l]}
      - {name: make a FIFO in its container, call: mkfifo, signature: "i32(cstring,u32)", arguments: [$CONTAINER/f, 384]}
      - {name: list its container, call: opendir, signature: pointer(cstring), arguments: [$CONTAINER]}
      - {name: read the time zones, call: opendir, signature: pointer(cstring), arguments: [/usr/share/zoneinfo]}
      - {name: list the system's libraries, call: opendir, signature: pointer(cstring), arguments: [/usr/lib]}
      - {name: list the root, call: opendir, signature: pointer(cstring), arguments: [/]}
      - {name: read /etc/passwd, call: open, signature: "i32(cstring,i32)", arguments: [/etc/passwd, 0]}
      - {name: read /etc/shadow, call: open, signature: "i32(cstring,i32)", arguments: [/etc/shadow, 0]}
      - {name: list /home, call: opendir, signature: pointer(cstring), arguments: [/home]}
      - {name: list /root, call: opendir, signature: pointer(cstring), arguments: [/root]}
      - {name: learn whether /etc/shadow is there, call: access, signature: "i32(cstring,i32)", arguments: [/etc/shadow, 0]}
      - {name: read /proc/self/maps, call: open, signature: "i32(cstring,i32)", arguments: [/proc/self/maps, 0]}
      - {name: list /sys, call: opendir, signature: pointer(cstring), arguments: [/sys]}
      - {name: write to /usr/lib, call: open, signature: "i32(cstring,i32,u32)", arguments: [/usr/lib/x, 65, 384]}
      - {name: open /dev/null, call: open, signature: "i32(cstring,i32)", arguments: [/dev/null, 2]}
      - {name: open /dev/urandom, call: open, signature: "i32(cstring,i32)", arguments: [/dev/urandom, 0]}
      - {name: open /dev/tty, call: open, signature: "i32(cstring,i32)", arguments: [/dev/tty, 2]}
      - {name: open /dev/mem, call: open, signature: "i32(cstring,i32)", arguments: [/dev/mem, 0]}
      - {name: fork, call: fork, signature: i32()}
      - {name: start a program, call: execl, signature: "i32(cstring,cstring,pointer)", arguments: [/bin/true, "true", "null"]}
      - name: make a thread
        steps:
          - {call: dlsym, signature: "pointer(pointer,cstring)", arguments: ["null", sched_yield], save: {start: result}}
          - {call: pthread_create, signature: "i32(out(8),pointer,pointer,pointer)", arguments: ["null", $start, "null"]}
        expect: [returned 0]
      - {name: signal the first process that it sees, call: kill, signature: "i32(i32,i32)", arguments: [1, 0]}
      - {name: signal every process of the user, call: kill, signature: "i32(i32,i32)", arguments: [-1, 0]}
      - {name: have itself signalled at a time, call: alarm, signature: u32(u32), arguments: [1000], expect: [returned 0]}
      - {name: make a timer, call: timerfd_create, signature: "i32(i32,i32)", arguments: [1, 0]}
      - {name: become more urgent than others, call: nice, signature: i32(i32), arguments: [-5]}
      - {name: make a socket for the internet, call: socket, signature: "i32(i32,i32,i32)", arguments: [2, 1, 0]}
      - {name: make a datagram socket, call: socket, signature: "i32(i32,i32,i32)", arguments: [2, 2, 0]}
      - {name: make a socket for IPv6, call: socket, signature: "i32(i32,i32,i32)", arguments: [10, 1, 0]}
      - {name: make a local socket, call: socket, signature: "i32(i32,i32,i32)", arguments: [1, 1, 0]}
      - {name: make a pair of sockets, call: socketpair, signature: "i32(i32,i32,i32,out(8))", arguments: [1, 1, 0]}
      - {name: ask the kernel for interfaces, call: socket, signature: "i32(i32,i32,i32)", arguments: [16, 3, 0]}
      - {name: make a pipe, call: pipe, signature: i32(out(8))}
      - {name: map private memory, call: mmap, signature: "i64(u64,u64,i32,i32,i32,i64)", arguments: [0, 4096, 3, 34, -1, 0]}
      - {name: map shared memory, call: mmap, signature: "i64(u64,u64,i32,i32,i32,i64)", arguments: [0, 4096, 3, 33, -1, 0]}
      - {name: make memory that it wrote executable, call: mmap, signature: "i64(u64,u64,i32,i32,i32,i64)", arguments: [0, 4096, 7, 34, -1, 0]}
      - {name: load a system library later, call: dlopen, signature: "pointer(cstring,i32)", arguments: [libBrokenLocale.so.1, 2]}
      - {name: make a file in memory, call: memfd_create, signature: "i32(cstring,u32)", arguments: [x, 0]}
      - {name: make shared memory of System V, call: shmget, signature: "i32(i32,u64,i32)", arguments: [0, 4096, 896]}
      - {name: lock memory, call: mlock, signature: "i32(bytes,u64)", arguments: [x, 1]}
      - {name: look into a process, call: ptrace, signature: "i64(i32,i32,pointer,pointer)", arguments: [16, 1, "null", "null"]}
      - {name: load a program into the kernel, call: syscall, signature: "i64(i64,i64,bytes,i64)", arguments: [321, 0, x, 1]}
      - {name: make new namespaces, call: unshare, signature: i32(i32), arguments: [0x10000000]}
      - {name: mount a filesystem, call: mount, signature: "i32(cstring,cstring,cstring,u64,pointer)", arguments: [none, /tmp, tmpfs, 0, "null"]}
      - {name: become root, call: setuid, signature: i32(u32), arguments: [0]}
      - {name: read the clock, call: clock, signature: i64()}
      - {name: learn the kernel's version, call: uname, signature: i32(out(400))}
      - {name: "learn how much memory the machine has, and its load", call: sysinfo, signature: i32(out(128))}
      - {name: get random numbers, call: getrandom, signature: "i64(out(8),u64,u32)", arguments: [8, 0]}
    """
}
