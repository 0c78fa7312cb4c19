import Basics
import PluginHost
import Sandbox
import TestSupport
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct PolicyRecorderTests: RecorderScene {
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
      (file("/data/xd/../a"), ["/data/a"], []), (file("/../data//./a"), ["/data/a"], []),
      (file("/data/x0/../a"), [], []),
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

  @Test(
    "where a folder is granted, what a link in it leads to is granted as well, unless no recording would grant that")
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
    (bounds.memory, bounds.time) = (20 << 20, .seconds(50))
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
        policy.limits.memory <= 20 << 20 && policy.limits.wallTime <= .seconds(50) && policy.limits.cpu <= .seconds(50))
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
      guard case .run(let policy) = recorder.handle([Self.observed()], on: Self.machine) else { throw MissingStep() }
      #expect(
        policy.limits.memory == 4 << 20 && policy.limits.wallTime == .seconds(10) && policy.limits.cpu == .seconds(2))
      var step = recorder.handle([last], on: Self.machine)
      if let again {
        guard case .run(let policy) = step else { throw MissingStep() }
        #expect(policy.limits == Limits())
        step = recorder.handle([again], on: Self.machine)
      }
      guard case .finished(let recording) = step else { throw MissingStep() }
      #expect((recording.policy.limits.memory == 4 << 20) == isSmall)
      #expect((recording.note == nil) == (again == nil))
      // What made the difference isn't known.
      if isSmall, let note = recording.note {
        #expect(note.contains("under the same policy") && note.contains("may be why"))
      }
    }
  }

  @Test("a recording whose last round didn't return, which nothing expects, isn't one that came to its end")
  func lastRoundEndsBadly() throws {
    var expected = Self.observed(.crashed)
    expected.endsAsExpected = true
    for (last, again, why) in [
      (Self.observed(.memoryExceeded), Self.observed(.memoryExceeded), "in the last round memoryExceeded"),
      (Self.observed(value: "1"), Self.observed(.crashed), "in the last round crashed"),
      (Self.observed(.wallTimeExceeded), Self.observed(value: "1"), nil), (Self.observed(value: "1"), expected, nil),
    ] as [(Observed, Observed, String?)] {
      var recorder = PolicyRecorder(base: Policy())
      for round in [Self.observed(), last] {
        guard case .run = recorder.handle([round], on: Self.machine) else { throw MissingStep() }
      }
      switch recorder.handle([again], on: Self.machine) {
      case .run: throw MissingStep()
      case .finished(let recording): #expect(why == nil && recording.note != nil)
      case .stopped(let recording, let text):
        #expect(why.map { text.hasPrefix($0) } == true && recording.note != nil, "\(text)")
      }
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
        throw MissingStep()
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
      guard case .run = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
        throw MissingStep()
      }
    }
    let last = Self.observed(.returned, [Self.socket, Self.file("/etc/resolv.conf")])
    guard case .run = recorder.handle([last], on: Self.machine),
      case .finished(let recording) = recorder.handle([last], on: Self.machine)
    else { throw MissingStep() }
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
    guard case .run = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
      throw MissingStep()
    }
    var round = Self.observed()
    round.usedGrants = ["/data/a"]
    guard case .run(let smallest) = recorder.handle([round], on: Self.machine) else { throw MissingStep() }
    #expect(smallest.read == ["/data/a", "/data/own"])
    let last = Self.observed(.returned, isNeeded ? [Self.file("/data/b")] : [])
    var step = recorder.handle([last], on: Self.machine)
    if isNeeded {
      guard case .run(let before) = step else { throw MissingStep() }
      #expect(before.read == ["/data/a", "/data/b", "/data/own"])
      step = recorder.handle([Self.observed()], on: Self.machine)
    }
    guard case .finished(let recording) = step else { throw MissingStep() }
    #expect(recording.policy.read == (isNeeded ? ["/data/a", "/data/b", "/data/own"] : ["/data/a", "/data/own"]))
    #expect((recording.note != nil) == isNeeded)
  }

  private static func text(_ recorder: inout PolicyRecorder) throws -> String {
    guard case .run(let policy) = recorder.handle([observed()], on: machine),
      case .finished(let recording) = recorder.handle([observed()], on: machine)
    else { throw MissingStep() }
    let text = PolicyText(recording, command: "x").text
    #expect(try Policy(parsing: text, file: "recorded").list == policy.list, "\(text)")
    return text
  }

  private static let socket = Observed.Denial(wall: "seccomp", call: "socket", target: "0x2, 0x1, 0x0")

  private static func connection(_ target: String, _ call: String = "connect") -> Observed.Denial {
    Observed.Denial(wall: "network", call: call, target: target)
  }

  @Test(
    "a plugin that is denied a socket has a round in which its host sees where it connects", arguments: [true, false])
  func network(grants: Bool) throws {
    for first in [Self.socket, Self.file("/etc/resolv.conf")] {
      var bounds = PolicyRecorder.Bounds()
      bounds.grantsNetwork = grants
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      guard case .run(let searching) = recorder.handle([Self.observed(.returned, [first])], on: Self.machine) else {
        throw MissingStep()
      }
      #expect(searching.observation.network && searching.network.isEmpty && searching.read.isEmpty)
      let seen = [
        Self.connection("b.example:443"), Self.connection("[::1]:80"), Self.connection("c.example", "lookup"),
      ]
      guard case .run(let next) = recorder.handle([Self.observed(.returned, seen)], on: Self.machine) else {
        throw MissingStep()
      }
      #expect(next.network.map(\.text) == (grants ? ["b.example:443", "[::1]:80"] : []))
      #expect(next.observation.network == grants, "a policy without hosts is proved without a network")
      // Without hosts it is denied its socket again, and asks for nothing that could be granted.
      let rest = grants ? [Self.connection("c.example", "lookup")] : [Self.socket]
      guard case .run = recorder.handle([Self.observed(.returned, rest)], on: Self.machine),
        case .finished(let recording) = recorder.handle([Self.observed(.returned, rest)], on: Self.machine)
      else { throw MissingStep() }
      let text = PolicyText(recording, command: "outrider").text
      if grants {
        #expect(text.contains("network:\n  - \"b.example:443\"  # connect\n  - \"[::1]:80\"  # connect\n"), "\(text)")
      } else {
        #expect(text.contains("# not granted: b.example:443; --network lets it connect") && !text.contains("network:"))
      }
      #expect(text.contains("# not granted: c.example; it asked for that name, and connected to nothing"))
    }
  }

  @Test("where no such network can be had, recording goes on without one") func withoutNetwork() throws {
    var recorder = PolicyRecorder(base: Policy())
    _ = recorder.handle([Self.observed(.returned, [Self.socket])], on: Self.machine)
    guard case .run(let next) = recorder.handle([Self.observed(.wallUnavailable)], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(!next.observation.network)
    var granted = Policy()
    granted.read = ["/etc/hosts"]
    var other = PolicyRecorder(base: granted)
    guard case .run(let policy) = other.handle([Self.observed(.returned, [Self.socket])], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(!policy.observation.network, "the machine's file is granted, so that the run can't have its own")
  }

  @Test("pairs of sockets are granted where a run can have a network of its own, and no others") func pairs() throws {
    func denial(_ target: String) -> Observed.Denial {
      Observed.Denial(wall: "seccomp", call: "socketpair", target: target)
    }
    let stream = Self.observed(.returned, [denial("0x1, 0x80801, 0x0")])
    var recorder = PolicyRecorder(base: Policy())
    guard case .run(let next) = recorder.handle([stream], on: Self.machine) else { throw MissingStep() }
    #expect(next.socketPairs && next.network.isEmpty && !next.observation.network)
    guard case .run(let without) = recorder.handle([Self.observed(.wallUnavailable)], on: Self.machine),
      case .run = recorder.handle([stream], on: Self.machine),
      case .finished(let recording) = recorder.handle([stream], on: Self.machine)
    else { throw MissingStep() }
    #expect(!without.socketPairs && !recording.policy.socketPairs)
    #expect(recording.note?.contains("no namespaces") == true && recording.denials.map(\.call) == ["socketpair"])

    var names = Policy()
    names.read = ["/etc/hosts"]
    for (base, observed) in [
      (names, stream), (Policy(), Self.observed(.returned, [denial("0x1, 0x2, 0x0")])),
    ] {
      var other = PolicyRecorder(base: base)
      guard case .run(let confirming) = other.handle([observed], on: Self.machine) else { throw MissingStep() }
      #expect(!confirming.socketPairs)
    }
  }

  @Test("addresses that differ from run to run are no difference") func addresses() throws {
    var recorder = PolicyRecorder(base: Policy())
    _ = recorder.handle([Self.observed(value: "0x10")], on: Self.machine)
    guard case .finished(let recording) = recorder.handle([Self.observed(value: "0x20")], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(recording.note == nil)
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
