import Basics
import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct PathSearchTests: RecorderScene {
  @Test("a folder takes the place of many files in it only where that was asked for") func folding() throws {
    // Bytes and characters of a folder's name differ in their number.
    for (count, data) in [(nil, "/data"), (3, "/data"), (3, "/d\u{e4}t\u{e4}")] as [(Int?, String)] {
      let names = ["\(data)/a", "\(data)/b", "\(data)/c"]
      let denials = (names + ["/other/a"]).map { Self.file($0) }
      let read = ((count == nil ? names : [data]) + ["/other/a"]).sorted()
      var bounds = PolicyRecorder.Bounds()
      bounds.filesOfFolder = count
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
        throw MissingStep()
      }
      #expect(policy.read == read)
    }
  }

  @Test("code of the bundle is granted by what says when code is mapped, once, and without a path")
  func bundle() throws {
    var recorder = PolicyRecorder(base: Policy())
    let denied = Observed.Denial(wall: "seccomp", call: "mmap", target: "/bundle/libhelper.so")
    guard case .run(let policy) = recorder.handle([Self.observed(.returned, [denied])], on: Self.machine),
      case .run = recorder.handle([Self.observed()], on: Self.machine),
      case .finished(let recording) = recorder.handle([Self.observed()], on: Self.machine)
    else { throw MissingStep() }
    #expect(policy.executableMemory == .later && policy.grants.isEmpty)
    let text = PolicyText(recording, command: "outrider").text
    #expect(text.contains("\nexecutableMemory: later  # mmap\n"), "\(text)")
    #expect(try Policy(parsing: text, file: "recorded").executableMemory == .later)
    // Nothing more is tried where code is mapped later anyway.
    var again = PolicyRecorder(base: policy)
    guard case .run(let tight) = again.handle([Self.observed(.returned, [denied])], on: Self.machine),
      case .finished(let same) = again.handle([Self.observed(.returned, [denied])], on: Self.machine)
    else { throw MissingStep() }
    #expect(tight.executableMemory == .later && same.denials == [denied])
  }

  @Test("memory that is locked or huge isn't granted as code", arguments: ["0x7, 0x40022", "0x5, 0x2022"])
  func huge(arguments: String) throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsWrittenCode = true
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let denied = Observed.Denial(wall: "seccomp", call: "mmap", target: arguments)
    guard case .run(let policy) = recorder.handle([Self.observed(.returned, [denied])], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(policy.executableMemory == .loading)
  }

  @Test(
    "a file that is read and then replaced in its folder is granted with that alone, and one that isn't keeps its line")
  func replacing() throws {
    for (call, path, read, write) in [
      ("rename", "/data/d/a", [], ["/data/d"]), ("unlink", "/data/d/b", [], ["/data/d"]),
      ("openat", "/data/d/new0", ["/data/d/a"], ["/data/d", "/data/d/b"]),
    ] {
      var recorder = PolicyRecorder(base: Policy())
      guard
        case .run(let first) = recorder.handle(
          [Self.observed(.returned, [Self.file("/data/d/a"), Self.file("/data/d/b", writes: true)])], on: Self.machine),
        case .run(let second) = recorder.handle(
          [Self.observed(.returned, [Self.file(path, call, writes: true)])], on: Self.machine)
      else { throw MissingStep() }
      #expect(first.read == ["/data/d/a"] && first.write == ["/data/d/b"], "\(first)")
      #expect(second.read == read && second.write == write, "\(call): \(second.read) \(second.write)")
    }
  }

  @Test("a line of its own goes where a file is moved in a folder that is granted already, and not one of a person's")
  func movedWithItsOwnLine() throws {
    for isInherited in [false, true] {
      var base = Policy()
      if isInherited { base.write = ["/data/d/b"] }
      var recorder = PolicyRecorder(base: base)
      let moved = [Self.file("/data/d/b", "rename", writes: true)]
      if !isInherited {
        _ = recorder.handle([Self.observed(.returned, [Self.file("/data/d/b", writes: true)])], on: Self.machine)
      }
      let made = Self.observed(.returned, [Self.file("/data/d/new0", writes: true)])
      guard case .run(let both) = recorder.handle([made], on: Self.machine) else { throw MissingStep() }
      #expect(both.write == ["/data/d", "/data/d/b"])
      let step = recorder.handle([Self.observed(.returned, moved)], on: Self.machine)
      guard case .run(let policy) = step else { throw MissingStep() }
      #expect(policy.write == (isInherited ? ["/data/d", "/data/d/b"] : ["/data/d"]))
      #expect((recorder.soFar.note != nil) == isInherited)
    }
  }

  @Test("to make a folder that is there asks for its presence, which what is granted in it gives")
  func folderThatIsThere() throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsLists = true
    let told = [Self.file("/srv", "mkdir"), Self.file("/data/d", "mkdir")]
    for (more, list, write) in [
      ([], ["/data/d"], []), ([Self.file("/data/d/new0", writes: true)], [], ["/data/d"]),
    ] as [([Observed.Denial], [String], [String])] {
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      let step = recorder.handle([Self.observed(.returned, told + more)], on: Self.machine)
      guard case .run(let policy) = step else { throw MissingStep() }
      #expect(policy.list == list && policy.write == write, "\(policy)")
    }
  }

  @Test("a folder that isn't granted, and is there for what is granted in it, isn't named any more")
  func presentFolder() throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsLists = true
    for isStillDenied in [false, true] {
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      let asked = Self.file("/srv", "stat")
      _ = recorder.handle([Self.observed(.returned, [asked, Self.file("/srv/d/a")])], on: Self.machine)
      #expect(recorder.soFar.refused.map(\.path) == ["/srv"])
      _ = recorder.handle([Self.observed(.returned, isStillDenied ? [asked] : [])], on: Self.machine)
      #expect(recorder.soFar.policy.read == ["/srv/d/a"])
      #expect(recorder.soFar.refused.map(\.path) == (isStillDenied ? ["/srv"] : []))
    }
  }

  @Test("where a link leads shows in its folder, and what is on the way to a grant is there without a line")
  func links() throws {
    var machine = Self.machine
    machine.isLink = { $0 == "/data/d/link" }
    func asked(_ path: String) -> Observed.Denial { Observed.Denial(wall: "files", call: "readlink", target: path) }
    for (denials, list) in [([asked("/data/d/link")], ["/data/d"]), ([asked("/data/d")], [])] {
      var bounds = PolicyRecorder.Bounds()
      bounds.grantsLists = true
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      guard case .run(let first) = recorder.handle([Self.observed(.returned, denials)], on: machine),
        case .run = recorder.handle([Self.observed(.returned, [Self.file("/data/d/a")])], on: machine),
        case .run(let smallest) = recorder.handle([Self.observed(.returned)], on: machine)
      else { throw MissingStep() }
      #expect(first.list == ["/data/d"])
      #expect(smallest.read == ["/data/d/a"] && smallest.list == list, "\(smallest)")
    }
  }

  @Test("files that are links out of a folder keep their names where others are folded") func foldedLinks() throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.filesOfFolder = 2
    var machine = Self.machine
    machine.real = { $0.hasPrefix("/data/link") ? "/else" + $0.dropFirst(5) : $0 }
    for (names, read) in [
      (["link1", "link2", "link3", "a"], ["/data/a", "/data/link1", "/data/link2", "/data/link3"]),
      (["link1", "a", "b"], ["/data"]),
    ] {
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      let denials = names.map { Self.file("/data/\($0)") }
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: machine) else {
        throw MissingStep()
      }
      #expect(policy.read == read)
    }
  }

  @Test("each name on the way of a chain of links is granted until what it leads to is there") func hops() throws {
    var machine = Self.machine
    machine.hops = { $0 == "/data/d/cur/f" ? ["/other/cur/f", "/data/d/v1/f"] : [] }
    var base = Policy()
    base.read = ["/data/d"]
    var recorder = PolicyRecorder(base: base)
    let denied = Self.observed(.returned, [Self.file("/data/d/cur/f")])
    guard case .run(let policy) = recorder.handle([denied], on: machine) else { throw MissingStep() }
    #expect(policy.read == ["/data/d", "/other/cur/f"])
    guard case .run = recorder.handle([denied], on: machine),
      case .finished(let end) = recorder.handle([denied], on: machine)
    else { throw MissingStep() }
    #expect(end.note?.contains("is granted, and still denied") == true)
  }

  @Test(
    "the names by which a path is followed",
    arguments: [
      ("/a/b", []), ("/l/x", ["/t/x"]), ("/c/x", ["/k/x", "/a/v/x"]), ("/r/x", ["/s/x"]), ("/r/u/x", ["/s/u/x", "/x"]),
      ("/loop", []), ("/o/x", ["/a/v/x"]),
    ] as [(String, [String])])
  func linkHops(path: String, names: [String]) {
    let links = [
      "/l": "t", "/c": "/k", "/k": "a/v", "/r": "./s", "/s/u": "../", "/loop": "loop", "/o": "k/../v", "/a/v": "",
    ].filter { !$0.value.isEmpty }
    #expect(LinkHops.all(from: path) { links[$0] } == names)
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
    else { throw MissingStep() }
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
        throw MissingStep()
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
    else { throw MissingStep() }
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

  @Test("a file that is denied in the last round, and that no other line is about, is named in the written policy")
  func deniedLast() throws {
    var recorder = PolicyRecorder(base: Policy())
    let last = [Self.file("/data/late"), Self.file("/data/a"), Self.file("/etc/shadow"), Self.file("/data/0")]
    guard
      case .run = recorder.handle([Self.observed(.returned, [Self.file("/data/a"), last[2]])], on: Self.machine),
      case .run = recorder.handle([Self.observed(.returned, [last[2]])], on: Self.machine),
      case .finished(let recording) = recorder.handle([Self.observed(.returned, [last[2]])], on: Self.machine)
    else { throw MissingStep() }
    #expect(!PolicyText(recording, command: "x").text.contains("denied in the last round"))
    var other = recording
    other.take([Self.observed(.returned, last)])
    let lines = PolicyText(other, command: "x").text.split(separator: "\n")
    let denied = lines.filter { $0.hasPrefix("# denied in the last round: ") }.map { $0.dropFirst(28) }
    #expect(denied == ["files: openat(/data/late)", "files: openat(/data/0)"])
  }
}
