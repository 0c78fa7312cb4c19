import Basics
import PluginHost
import Sandbox
import TestSupport
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct PolicyRecorderTests {
  private static func observed(
    _ kind: Outcome.Kind = .returned, _ denials: [Observed.Denial] = [], value: String? = "0",
    memory: Int = 300 << 10
  ) -> Observed {
    var observed = Observed(outcome: Outcome(kind, ""))
    observed.value = kind == .returned ? value : nil
    (observed.denials, observed.memoryBytes) = (denials, memory)
    (observed.wallSeconds, observed.cpuSeconds) = (0.25, 0.01)
    return observed
  }

  private static func file(_ path: String, _ call: String = "openat", writes: Bool = false) -> Observed.Denial {
    var denial = Observed.Denial(wall: "files", call: call, target: path)
    denial.writes = writes
    return denial
  }

  /// What ends in `d` is a folder, what ends in `0` isn't there.
  private static func kind(_ path: String) -> PolicyRecorder.PathKind {
    path.hasSuffix("d") ? .folder : path.hasSuffix("0") ? .absent : .file
  }

  /// What begins with /link leads to /etc.
  private static var machine: PolicyRecorder.Machine {
    PolicyRecorder.Machine(kind: kind) { path in
      path == "/link" || path.hasPrefix("/link/") ? "/etc" + path.dropFirst(5) : path
    }
  }

  @Test(
    "what was denied is granted as it was asked for, and nothing else",
    arguments: [
      (file("/data/a"), ["/data/a"], []), (file("/data/d"), ["/data/d"], []), (file("/data/d/"), ["/data/d"], []),
      (file("/data/0"), [], []), (file("/data/a", writes: true), [], ["/data/a"]),
      (file("/data/d/0", writes: true), [], ["/data/d"]), (file("/data/x0/0", writes: true), [], []),
      (file("/data/d/a", "unlink", writes: true), [], ["/data/d"]),
      (file("/data/d/d", "mkdir", writes: true), [], ["/data/d"]),
      (file("/data/a", "utimensat", writes: true), [], ["/data/a"]), (file("/0", writes: true), [], []),
      (file("/etc/shadow"), [], []), (file("/link/shadow"), [], []), (file("/link/hosts"), ["/link/hosts"], []),
      (file("/link/0", writes: true), [], []), (file("/etc/ssl/d"), ["/etc/ssl/d"], []), (file("/etc/ssl"), [], []),
      (file("/home/me/key"), [], []), (file("/etc"), [], []),
      (file("/homed"), ["/homed"], []),
      (file("/proc/self/maps"), [], []), (file("relative"), [], []),
      (file("/data/x/../a"), ["/data/a"], []), (file("/../data//./a"), ["/data/a"], []),
      (Observed.Denial(wall: "seccomp", call: "socket", target: "0x2"), [], []),
    ] as [(Observed.Denial, [String], [String])])
  func grants(denial: Observed.Denial, read: [String], write: [String]) throws {
    var recorder = PolicyRecorder(base: Policy())
    guard case .run(let policy) = recorder.handle([Self.observed(.returned, [denial])], on: Self.machine) else {
      Issue.record("it goes on")
      return
    }
    #expect(policy.read == read && policy.write == write && policy.observesFiles)
    #expect(policy.systemCalls.onDenied.isEmpty && policy.require.isEmpty && policy.limits.memory <= Limits().memory)
  }

  @Test(
    "a file that was denied to readers and to writers may be read at first, and written where that is still asked for")
  func readingFirst() throws {
    for isStillWritten in [false, true] {
      let both = [Self.file("/data/a"), Self.file("/data/a", writes: true)]
      var merged = both[1]
      merged.count = 2
      for denials in [both, both.reversed(), [merged]] {
        var recorder = PolicyRecorder(base: Policy())
        guard case .run(let first) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine),
          case .run(let second) = recorder.handle(
            [Self.observed(.returned, isStillWritten ? [both[1]] : [])], on: Self.machine)
        else {
          Issue.record("it goes on")
          return
        }
        #expect(first.read == ["/data/a"] && first.write.isEmpty)
        #expect(
          second.write == (isStillWritten ? ["/data/a"] : []) && second.read == (isStillWritten ? [] : ["/data/a"]))
      }
    }
  }

  @Test("a folder of which only was asked whether it is there is granted where what is granted in it doesn't show it")
  func foldersThatAreThere() throws {
    let look = Self.file("/data/d", "access")
    for call in ["access", "openat"] {
      var recorder = PolicyRecorder(base: Policy())
      let round = [Self.observed(.returned, [look, Self.file("/data/d", call), Self.file("/data/d/a")])]
      guard case .run(let first) = recorder.handle(round, on: Self.machine),
        case .run(let second) = recorder.handle([Self.observed(.returned, [look])], on: Self.machine)
      else {
        Issue.record("it goes on")
        return
      }
      #expect(first.read == (call == "access" ? ["/data/d/a"] : ["/data/d"]))
      #expect(second.read == (call == "access" ? ["/data/d", "/data/d/a"] : ["/data/d"]))
    }
  }

  @Test("where a folder is granted, what a link in it leads to is granted as well, unless nobody would grant that")
  func linksThatLeadOut() throws {
    var base = Policy()
    base.read = ["/data/d"]
    let machine = PolicyRecorder.Machine(kind: Self.kind) { path in
      ["/data/d/link": "/srv/target", "/data/d/bad": "/etc/shadow"][path] ?? path
    }
    let round = [Self.observed(.returned, [Self.file("/data/d/link"), Self.file("/data/d/bad")])]
    var recorder = PolicyRecorder(base: base)
    guard case .run(let policy) = recorder.handle(round, on: machine) else {
      Issue.record("it goes on")
      return
    }
    #expect(policy.read.sorted() == ["/data/d", "/srv/target"])
    guard case .run(let last) = recorder.handle([Self.observed()], on: machine),
      case .finished(let recording) = recorder.handle([Self.observed()], on: machine)
    else {
      Issue.record("it comes to its end")
      return
    }
    #expect(last.read.sorted() == policy.read.sorted())
    #expect(PolicyText(recording, command: "x").text.contains("/srv/target  # openat"))
  }

  @Test(
    "a limit that ended a run is doubled up to the bound, and no other",
    arguments: [
      (Outcome.Kind.memoryExceeded, "memory"), (.wallTimeExceeded, "wall"), (.cpuTimeExceeded, "cpu"),
      (.crashed, nil), (.policyViolation, nil), (.loadFailed, nil),
    ] as [(Outcome.Kind, String?)])
  func limits(kind: Outcome.Kind, limit: String?) {
    var bounds = PolicyRecorder.Bounds()
    (bounds.memory, bounds.wall) = (20 << 20, .seconds(50))
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let first = recorder.handle([Self.observed(kind)], on: Self.machine)
    guard let limit else {
      guard case .stopped = first else {
        Issue.record("there is nothing to raise")
        return
      }
      return
    }
    guard case .run(let policy) = first else {
      Issue.record("it is raised")
      return
    }
    let names = zip(LimitValues.all(Limits()), LimitValues.all(policy.limits)).filter { $0.number != $1.number }.map(
      \.0.name)
    #expect(names == [limit])
    // Up to the bound, and then no more.
    var rounds = 0
    while case .run(let policy) = recorder.handle([Self.observed(kind)], on: Self.machine), rounds < 20 {
      #expect(
        policy.limits.memory <= 20 << 20 && policy.limits.wall <= .seconds(50) && policy.limits.cpu <= .seconds(50))
      rounds += 1
    }
    #expect(rounds < 5)
  }

  @Test("the last round proves the smallest limits; where it ends otherwise, those that were enough hold")
  func confirmation() throws {
    // What the run under the smallest limits gives, and a further one under those before.
    for (last, again, isSmall) in [
      (Self.observed(), nil, true), (Self.observed(.memoryExceeded), Self.observed(), false),
      (Self.observed(value: "1"), Self.observed(), false), (Self.observed(memory: 1), nil, true),
      // What it changed in one run is there in the next.
      (Self.observed(value: "1"), Self.observed(value: "1"), true),
    ] as [(Observed, Observed?, Bool)] {
      var recorder = PolicyRecorder(base: Policy())
      guard case .run(let policy) = recorder.handle([Self.observed()], on: Self.machine) else { throw Missing() }
      #expect(policy.limits.memory == 4 << 20 && policy.limits.wall == .seconds(10) && policy.limits.cpu == .seconds(2))
      var step = recorder.handle([last], on: Self.machine)
      if let again {
        guard case .run(let policy) = step else { throw Missing() }
        #expect(policy.limits == Limits())
        step = recorder.handle([again], on: Self.machine)
      }
      guard case .finished(let recording) = step else { throw Missing() }
      #expect((recording.policy.limits.memory == 4 << 20) == isSmall)
      #expect((recording.note == nil) == (again == nil))
    }
  }

  @Test("a folder is granted for its names at first, and then the files that are still denied, a test's own ones never")
  func lists() throws {
    var bounds = PolicyRecorder.Bounds()
    (bounds.grantsLists, bounds.never) = (true, ["/data/d/b"])
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let rounds: [([Observed.Denial], [String], [String])] = [
      ([Self.file("/data/d")], ["/data/d"], []),
      ([Self.file("/data/d/a"), Self.file("/data/d/b")], ["/data/d"], ["/data/d/a"]),
    ]
    for (denials, list, read) in rounds {
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
        throw Missing()
      }
      #expect(policy.list == list && policy.read == read && policy.write.isEmpty)
    }
    let text = try Self.text(&recorder)
    #expect(
      text.contains("  list:\n    - /data/d  # openat") && text.contains("  read:\n    - /data/d/a  # openat"),
      "\(text)")
    #expect(text.contains("# not granted: /data/d/b; a test expects /data/d/b to be denied"), "\(text)")
  }

  @Test("who wants to connect isn't granted the machine's files of names, which no policy with hosts has")
  func networkFiles() throws {
    var recorder = PolicyRecorder(base: Policy())
    let rounds = [[Self.socket, Self.file("/etc/resolv.conf")], [Self.connection("b.example:443")]]
    for denials in rounds {
      guard case .run = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else { throw Missing() }
    }
    let last = Self.observed(.returned, [Self.socket, Self.file("/etc/resolv.conf")])
    guard case .run = recorder.handle([last], on: Self.machine),
      case .finished(let recording) = recorder.handle([last], on: Self.machine)
    else { throw Missing() }
    #expect(recording.policy.read.isEmpty && !recording.denials.isEmpty)
    #expect(
      PolicyText(recording, command: "x").text.contains("# not granted: /etc/resolv.conf; with hosts under 'network'"))
  }

  @Test("what isn't used in the end is dropped, unless the last round is denied it", arguments: [false, true])
  func unused(isNeeded: Bool) throws {
    var base = Policy()
    base.read = ["/data/own"]
    var recorder = PolicyRecorder(base: base)
    let denials = [Self.file("/data/a"), Self.file("/data/b")]
    guard case .run = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else { throw Missing() }
    var round = Self.observed()
    round.usedGrants = ["/data/a"]
    guard case .run(let smallest) = recorder.handle([round], on: Self.machine) else { throw Missing() }
    #expect(smallest.read == ["/data/a", "/data/own"])
    let last = Self.observed(.returned, isNeeded ? [Self.file("/data/b")] : [])
    var step = recorder.handle([last], on: Self.machine)
    if isNeeded {
      guard case .run(let before) = step else { throw Missing() }
      #expect(before.read == ["/data/a", "/data/b", "/data/own"])
      step = recorder.handle([Self.observed()], on: Self.machine)
    }
    guard case .finished(let recording) = step else { throw Missing() }
    #expect(recording.policy.read == (isNeeded ? ["/data/a", "/data/b", "/data/own"] : ["/data/a", "/data/own"]))
    #expect((recording.note != nil) == isNeeded)
  }

  private static func text(_ recorder: inout PolicyRecorder) throws -> String {
    guard case .run(let policy) = recorder.handle([observed()], on: machine),
      case .finished(let recording) = recorder.handle([observed()], on: machine)
    else { throw Missing() }
    let text = PolicyText(recording, command: "x").text
    #expect(try Policy(parsing: text, file: "recorded").list == policy.list, "\(text)")
    return text
  }

  private struct Missing: Error {}

  private static let socket = Observed.Denial(wall: "seccomp", call: "socket", target: "0x2, 0x1, 0x0")

  private static func connection(_ target: String, _ call: String = "connect") -> Observed.Denial {
    Observed.Denial(wall: "network", call: call, target: target)
  }

  @Test("whoever is denied a socket has a round in which its host sees where it connects", arguments: [true, false])
  func network(grants: Bool) throws {
    for first in [Self.socket, Self.file("/etc/resolv.conf")] {
      var bounds = PolicyRecorder.Bounds()
      bounds.grantsNetwork = grants
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      guard case .run(let searching) = recorder.handle([Self.observed(.returned, [first])], on: Self.machine) else {
        throw Missing()
      }
      #expect(searching.observesNetwork && searching.network.isEmpty && searching.read.isEmpty)
      let seen = [
        Self.connection("b.example:443"), Self.connection("[::1]:80"), Self.connection("c.example", "lookup"),
      ]
      guard case .run(let next) = recorder.handle([Self.observed(.returned, seen)], on: Self.machine) else {
        throw Missing()
      }
      #expect(next.network.map(\.text) == (grants ? ["b.example:443", "[::1]:80"] : []))
      #expect(next.observesNetwork == grants, "a policy without hosts is proved without a network")
      // Without hosts it is denied its socket again, and asks for nothing that could be granted.
      let rest = grants ? [Self.connection("c.example", "lookup")] : [Self.socket]
      guard case .run = recorder.handle([Self.observed(.returned, rest)], on: Self.machine),
        case .finished(let recording) = recorder.handle([Self.observed(.returned, rest)], on: Self.machine)
      else { throw Missing() }
      let text = PolicyText(recording, command: "outrider").text
      if grants {
        #expect(text.contains("network:\n  - \"b.example:443\"  # connect\n  - \"[::1]:80\"  # connect\n"), "\(text)")
      } else {
        #expect(text.contains("# not granted: b.example:443; --network lets it connect") && !text.contains("network:"))
      }
      #expect(text.contains("# not granted: c.example; it asked for that name, and connected to nothing"))
    }
  }

  @Test("processes and programs are granted where that was asked for, and otherwise named", arguments: [true, false])
  func processes(grants: Bool) throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsProcesses = grants
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let fork = Observed.Denial(wall: "seccomp", call: "clone", target: "0x4111")
    let more = { (count: Int) in Observed.Denial(wall: "limits", call: "fork", target: "\(count + 1) of \(count)") }
    let program = Observed.Denial(wall: "seccomp", call: "execve", target: "/usr/bin/file")
    // A shell looks for it first.
    let look = Observed.Denial(wall: "files", call: "newfstatat", target: "/usr/bin/file")
    // A thread, and what no policy allows.
    let others = ["0x3d0f00", "0x12"].map { Observed.Denial(wall: "seccomp", call: "clone", target: $0) }
    guard
      case .run(let first) = recorder.handle([Self.observed(.returned, [fork, program] + others)], on: Self.machine)
    else { throw Missing() }
    #expect(first.processes == (grants ? 1 : 0) && first.libraries == (grants ? ["/usr/bin/file"] : []))
    var steps = [Self.observed(.returned, [fork])]
    if grants {
      guard
        case .run(let second) = recorder.handle([Self.observed(.policyViolation, [more(1), look])], on: Self.machine),
        case .run(let third) = recorder.handle([Self.observed(.policyViolation, [more(2)])], on: Self.machine)
      else { throw Missing() }
      #expect(second.read.isEmpty, "what is executed is read as well")
      #expect(second.processes == 2 && third.processes == 4)
      var seen = Self.observed()
      seen.processes = 3
      steps = [seen, seen]
    }
    var recording: Recording?
    for step in steps { if case .finished(let end) = recorder.handle([step], on: Self.machine) { recording = end } }
    let text = PolicyText(try #require(recording), command: "outrider").text
    if grants {
      #expect(text.contains("processes: 6\n") && text.contains("- /usr/bin/file  # execve"), "\(text)")
      #expect(try Policy(parsing: text, file: "recorded").processes == 6)
    } else {
      #expect(text.contains("# not granted: processes; --processes lets it start them"), "\(text)")
      #expect(text.contains("# not granted: /usr/bin/file; --processes lets it start that"), "\(text)")
    }
  }

  @Test("where no such network can be had, recording goes on without one") func withoutNetwork() throws {
    var recorder = PolicyRecorder(base: Policy())
    _ = recorder.handle([Self.observed(.returned, [Self.socket])], on: Self.machine)
    guard case .run(let next) = recorder.handle([Self.observed(.wallUnavailable)], on: Self.machine) else {
      throw Missing()
    }
    #expect(!next.observesNetwork)
    var granted = Policy()
    granted.read = ["/etc/hosts"]
    var other = PolicyRecorder(base: granted)
    guard case .run(let policy) = other.handle([Self.observed(.returned, [Self.socket])], on: Self.machine) else {
      throw Missing()
    }
    #expect(!policy.observesNetwork, "the machine's file is granted, so that the run can't have its own")
  }

  @Test("addresses that differ from run to run are no difference") func addresses() throws {
    var recorder = PolicyRecorder(base: Policy())
    _ = recorder.handle([Self.observed(value: "0x10")], on: Self.machine)
    guard case .finished(let recording) = recorder.handle([Self.observed(value: "0x20")], on: Self.machine) else {
      throw Missing()
    }
    #expect(recording.note == nil)
  }

  @Test("a folder takes the place of many files in it only where that was asked for") func folding() throws {
    let denials = ["/data/a", "/data/b", "/data/c", "/other/a"].map { Self.file($0) }
    for (count, read) in [(nil, ["/data/a", "/data/b", "/data/c", "/other/a"]), (3, ["/data", "/other/a"])]
      as [(Int?, [String])]
    {
      var bounds = PolicyRecorder.Bounds()
      bounds.filesOfFolder = count
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
        throw Missing()
      }
      #expect(policy.read == read)
    }
  }

  @Test("what lies in a folder that has taken the place of its files has no line of its own") func held() throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.filesOfFolder = 3
    var base = Policy()
    base.read = ["/data/d/base"]
    var recorder = PolicyRecorder(base: base, bounds: bounds)
    let first = ["/data/d/a", "/data/d/d/a", "/other/a"].map { Self.file($0) }
    let next = ["/data/d/b", "/data/d/c", "/data/d/e"].map { Self.file($0) }
    guard case .run(let before) = recorder.handle([Self.observed(.returned, first)], on: Self.machine),
      case .run(let after) = recorder.handle([Self.observed(.returned, next)], on: Self.machine)
    else { throw Missing() }
    #expect(before.read == ["/data/d/a", "/data/d/base", "/data/d/d/a", "/other/a"])
    // What a person wrote stays.
    #expect(after.read.contains("/data/d") && after.read.contains("/data/d/base"))
    #expect(!after.read.contains("/data/d/a") && after.read.contains("/other/a"), "\(after.read)")
    #expect(after.read.contains("/data/d/d/a") == (after.access(to: "/data/d/d") != .read))
  }

  @Test("code that is mapped later is granted by its file, or by its folder where that was asked for") func code()
    throws
  {
    let denials = ["/lib/a", "/lib/b", "/other/a", "/root/a", "0x5, 0x812"].map {
      Observed.Denial(wall: "seccomp", call: "mmap", target: $0)
    }
    for (count, libraries) in [(nil, ["/lib/a", "/lib/b", "/other/a"]), (2, ["/other/a"])] as [(Int?, [String])] {
      var bounds = PolicyRecorder.Bounds()
      bounds.filesOfFolder = count
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
        throw Missing()
      }
      // /lib as a whole is nothing to grant unread.
      #expect(policy.libraries == (count == nil ? libraries : ["/lib/a", "/lib/b"] + libraries) && policy.read.isEmpty)
    }
  }

  @Test("a file that was granted to be read and is mapped as code then is granted for that") func readThenMapped()
    throws
  {
    var recorder = PolicyRecorder(base: Policy())
    guard
      case .run(let first) = recorder.handle([Self.observed(.returned, [Self.file("/opt/m")])], on: Self.machine),
      case .run(let second) = recorder.handle(
        [Self.observed(.returned, [Self.file("/opt/m", "mmap")], value: "1")], on: Self.machine)
    else { throw Missing() }
    #expect(first.read == ["/opt/m"] && first.libraries.isEmpty)
    #expect(second.read.isEmpty && second.libraries == ["/opt/m"])
    var recording: Recording?
    for _ in 0..<2 {
      if case .finished(let end) = recorder.handle([Self.observed()], on: Self.machine) { recording = end }
    }
    let text = PolicyText(try #require(recording), command: "outrider").text
    #expect(text.contains("execute:\n    - /opt/m") || text.contains("libraries:\n  - /opt/m"), "\(text)")
    #expect(!text.contains("read:"), "\(text)")
  }

  @Test("little memory that was left is not enough the next time", arguments: [(6, 8), (7, 11), (8, 12)])
  func shortMemory(used: Int, limit: Int) throws {
    var recorder = PolicyRecorder(base: Policy(limits: Limits(wall: .seconds(30), memory: 8 << 20)))
    let observed = Self.observed(memory: used << 20)
    guard case .run(let policy) = recorder.handle([observed], on: Self.machine) else { throw Missing() }
    #expect(policy.limits.memory == limit << 20)
    recorder = PolicyRecorder(base: Policy(limits: Limits(wall: .seconds(30), memory: 256 << 20)))
    guard case .run(let smaller) = recorder.handle([observed], on: Self.machine) else { throw Missing() }
    #expect(smaller.limits.memory == ((used * 3 + 1) / 2) << 20)
  }

  @Test("there is room for as many processes as were seen also where smaller limits aren't enough") func roomStays()
    throws
  {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsProcesses = true
    var base = Policy()
    base.processes = 1
    var recorder = PolicyRecorder(base: base, bounds: bounds)
    var seen = Self.observed()
    seen.processes = 2
    guard case .run = recorder.handle([seen], on: Self.machine),
      case .run(let policy) = recorder.handle([Self.observed(.memoryExceeded)], on: Self.machine),
      case .finished(let recording) = recorder.handle([seen], on: Self.machine)
    else { throw Missing() }
    #expect(policy.processes == 4 && recording.policy.processes == 4)
  }

  @Test(
    "whatever a plugin asks for, recording ends, and grants nothing unread or not asked for",
    arguments: [PolicySeed.current])
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let paths = [
      "/data/a", "/data/b", "/data/d", "/data/d/a", "/data/d/0", "/data/0", "/etc/shadow", "/root/x", "/etc", "/", "",
      "//",
      "/data/\u{1b}[2J", "/proc/1/mem",
    ]
    let kinds: [Outcome.Kind] = [.returned, .returned, .returned, .memoryExceeded, .wallTimeExceeded, .crashed]
    for _ in 0..<2000 {
      var recorder = PolicyRecorder(base: Policy())
      var asked: Set<String> = []
      var rounds = 0
      var isOver = false
      while !isOver {
        rounds += 1
        let denials = (0..<random.below(4)).map { _ in
          let path = paths[random.below(paths.count)]
          asked.insert(path)
          return Self.file(path, ["openat", "unlink", "newfstatat"][random.below(3)], writes: random.chance(3))
        }
        let step = recorder.handle(
          [Self.observed(kinds[random.below(kinds.count)], denials, memory: random.below(4 << 20))], on: Self.machine)
        let policy: Policy
        switch step {
        case .run(let next): policy = next
        case .finished(let recording), .stopped(let recording, _):
          policy = recording.policy
          isOver = true
          let text = PolicyText(recording, command: "x\ny").text
          #expect(
            text.unicodeScalars.allSatisfy { $0 == "\n" || (" "..."~").contains($0) || $0.value > 0x9f }, "\(text)")
          do {
            let read = try Policy(parsing: text, file: "recorded")
            #expect(read.read == policy.read && read.write == policy.write && read.limits == policy.limits)
          } catch {
            Issue.record("\(error) in \(text)")
          }
        }
        for path in policy.read + policy.write {
          #expect(asked.contains { $0 == path || $0.hasPrefix(path + "/") || path == "/data/d" }, "\(path)")
          #expect(
            !path.hasPrefix("/etc") && !path.hasPrefix("/root") && !path.hasPrefix("/proc") && path != "/"
              && !path.isEmpty)
        }
      }
      #expect(rounds <= PolicyRecorder.Bounds().rounds + 1)
    }
  }
}
