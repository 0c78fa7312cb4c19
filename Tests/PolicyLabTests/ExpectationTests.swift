import AssetModel
import HostProtocol
import Sandbox
import TestSupport
import Testing

@testable import PluginHost
@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct ExpectationTests {
  private static func observed(
    _ kind: Outcome.Kind = .returned, value: String? = "42", outputs: [[UInt8]] = [],
    denials: [Observed.Denial] = [], log: [String] = [], memory: Int = 2 << 20, wall: Double = 0.5
  ) -> Observed {
    var observed = Observed(outcome: Outcome(kind, ""))
    observed.value = kind == .returned ? value : nil
    (observed.outputs, observed.denials, observed.log) = (outputs, denials, log)
    observed.leading = { path in
      path == "/etc/localtime" ? "/usr/share/zoneinfo/UTC" : path.hasPrefix("/lib/") ? "/usr" + path : path
    }
    (observed.memoryBytes, observed.wallSeconds, observed.cpuSeconds) = (memory, wall, wall)
    return observed
  }

  private static let open = Observed.Denial(wall: "files", call: "openat", target: "/etc/passwd")
  private static let starred = Observed.Denial(wall: "files", call: "openat", target: "/etc/x*y")
  private static let written = Observed.Denial(wall: "files", call: "openat", target: "/etc/x", writes: true)
  private static let readAndWritten = Observed.Denial(
    wall: "files", call: "openat", target: "/etc/x", writes: true, readsToo: true)
  private static let library = Observed.Denial(wall: "files", call: "openat", target: "/opt/codec.so.6")
  private static let asked = Observed.Denial(wall: "files", call: "access", target: "/opt/x", asksToExecute: true)
  private static let connected = Observed.Denial(wall: "network", call: "connect", target: "127.0.0.1:18555")
  private static let executed = Observed.Denial(wall: "files", call: "execve", target: "/usr/bin/id")
  private static let own = Observed.Denial(
    wall: "files", call: "unlink", target: RunnerView.container + "/x", writes: true)
  private static let folded = Observed.Denial(wall: "files", call: "openat", target: "/usr/lib", writes: true)
  private static let zones = Observed.Denial(
    wall: "files", call: "openat", target: "/usr/share/zoneinfo", writes: true)
  private static let socket = Observed.Denial(wall: "seccomp", call: "socket", target: "0x2, 0x1, 0x0")

  @Test(
    "what isn't on this machine either counts as no denial, unless the plugin could have made it",
    arguments: [
      ("openat", "/data/none", false, true), ("openat", "/data/file", false, false),
      ("readlink", "/data/dangling", false, false), ("openat", "/data/dangling", false, true),
      ("unlink", "/none/x", true, true), ("openat", "/data/none", true, false),
      ("openat", RunnerView.container + "/none/x", true, false),
      ("mkdir", RunnerView.temporary + "/none/x", true, false),
      ("openat", RunnerView.bundle + "/none/x", true, false),
    ])
  func absence(_ call: String, _ path: String, _ writes: Bool, _ isAbsent: Bool) {
    let denial = Observed.Denial(
      RunReport.Denial(wall: "files", operation: call, target: path, count: 1, writes: writes),
      exists: { ["/data", "/data/file"].contains($0) },
      isNamed: { ["/data", "/data/file", "/data/dangling"].contains($0) })
    #expect(denial.isAbsent == isAbsent)
  }

  @Test(
    "what may hide among denials that weren't kept isn't known not to be there",
    arguments: [
      ("no denials", false), ("allow /etc/passwd", false), ("allow write /etc", false), ("returned 42", true),
    ])
  func denialsThatWerentKept(_ text: String, _ holds: Bool) throws {
    var observed = Self.observed()
    observed.droppedDenials = 3
    let why = try PolicyLab.Expectation(parsing: text).mismatch(with: observed)
    #expect(holds ? why == nil : why == "it can't be told: 3 more denials than a report keeps")
  }

  @Test(
    "an expectation holds where it was seen, and says what was seen where it doesn't",
    arguments: [
      ("returned", observed(), true), ("returned 42", observed(), true), ("returned 43", observed(), false),
      ("returned", observed(.crashed), false), ("outcome crashed", observed(.crashed), true),
      ("outcome crashed", observed(), false), ("no denials", observed(), true),
      ("no denials", observed(denials: [socket]), false), ("deny socket", observed(denials: [socket]), true),
      ("deny socket", observed(denials: [open]), false), ("deny /etc/passwd", observed(denials: [open]), true),
      ("deny /etc/passw", observed(denials: [open]), false),
      ("deny openat /etc/passwd", observed(denials: [open]), true),
      ("deny openat /etc/shadow", observed(denials: [open]), false),
      ("deny socket /etc/passwd", observed(denials: [open, socket]), false),
      ("allow /etc/passwd", observed(denials: [open]), false), ("allow /etc/passwd", observed(denials: [socket]), true),
      // With an access, what lies in a folder counts, and what a variable stands for.
      ("deny read /etc/passwd", observed(denials: [open]), true), ("deny read /etc", observed(denials: [open]), true),
      ("deny read /et", observed(denials: [open]), false), ("deny write /etc", observed(denials: [open]), false),
      ("deny write /etc", observed(denials: [written]), true), ("deny read /etc", observed(denials: [written]), false),
      ("deny /etc/x\\*y", observed(denials: [starred]), true),
      ("allow read /etc/x\\*y", observed(denials: [starred]), false),
      ("deny execute /usr", observed(denials: [executed]), true),
      ("deny read /usr", observed(denials: [executed]), false),
      ("deny read /etc", observed(denials: [readAndWritten]), true),
      ("allow read /etc/x", observed(denials: [readAndWritten]), false),
      ("deny write /etc/x", observed(denials: [readAndWritten]), true),
      ("allow execute /opt/codec.so.6", observed(denials: [library]), false),
      ("deny execute /opt", observed(denials: [library]), true),
      ("allow execute /etc", observed(denials: [open]), true),
      ("allow execute /opt", observed(denials: [asked]), false),
      ("deny execute /opt/x", observed(denials: [asked]), true),
      ("denied by network", observed(denials: [connected]), true),
      ("denied by network", observed(denials: [open]), false),
      ("deny connect 127.0.0.1:18555", observed(denials: [connected]), true),
      ("deny connect 127.0.0.1:18556", observed(denials: [connected]), false),
      ("deny connect", observed(denials: [connected]), true),
      ("allow write /etc", observed(denials: [open]), true), ("allow read /etc", observed(denials: [open]), false),
      ("allow write $CONTAINER", observed(denials: [own]), false),
      ("allow read $CONTAINER", observed(denials: [own]), true),
      ("deny $CONTAINER/x", observed(denials: [own]), true),
      ("deny unlink $CONTAINER/x", observed(denials: [own]), true),
      ("allow $TMP", observed(denials: [own]), true), ("deny write /", observed(denials: [own]), true),
      // Of what would have been written in the runtime the report has the folder.
      ("allow write /usr/lib/x", observed(denials: [folded]), false),
      ("allow /usr/lib/x", observed(denials: [folded]), false), ("allow /lib/x", observed(denials: [folded]), false),
      ("deny write /usr/lib/x", observed(denials: [folded]), true),
      ("deny /usr/lib/x", observed(denials: [folded]), true), ("deny write /usr", observed(denials: [folded]), true),
      ("deny openat /usr/lib/x", observed(denials: [folded]), true),
      ("deny mkdir /usr/lib/x", observed(denials: [folded]), false),
      ("allow read /usr/lib/x", observed(denials: [folded]), true),
      ("deny read /usr/lib/x", observed(denials: [folded]), false),
      ("allow write /usr/library", observed(denials: [folded]), true),
      ("allow write /etc/localtime", observed(denials: [zones]), false),
      ("deny write /etc/localtime", observed(denials: [zones]), true),
      ("allow write /etc/hostname", observed(denials: [zones, folded]), true),
      ("allow write /etc/x/y", observed(denials: [written]), true),
      ("denied by files", observed(denials: [open]), true), ("denied by seccomp", observed(denials: [open]), false),
      ("memory <= 2MiB", observed(), true), ("memory < 2MiB", observed(), false), ("memory<=1MiB", observed(), false),
      ("wall <= 500ms", observed(), true), ("wall < 0.5s", observed(), false), ("cpu <= 1s", observed(), true),
      ("log hello", observed(log: ["say hello"]), true), ("log hello", observed(), false),
      ("output hi", observed(outputs: [[0x68, 0x69, 0, 7]]), true),
      ("output hex:686900", observed(outputs: [[1], [0x68, 0x69, 0]]), true),
      ("output hex:6869", observed(outputs: [[0x68, 0x69, 0]]), false), ("output hi", observed(), false),
      // Spaces around it are a part of the text, but for the one after the word.
      ("output  hi", observed(outputs: [[0x20, 0x68, 0x69, 0]]), true),
      ("output  hi", observed(outputs: [[0x68, 0x69, 0]]), false),
      ("output hi ", observed(outputs: [[0x68, 0x69, 0x20, 0]]), true),
      ("output hi ", observed(outputs: [[0x68, 0x69, 0]]), false),
      ("log  two ", observed(log: ["one two"]), false), ("log  two ", observed(log: ["one two three"]), true),
    ] as [(String, Observed, Bool)])
  func verdicts(text: String, observed: Observed, holds: Bool) throws {
    guard !text.hasPrefix("memory<=") else {
      #expect(throws: PolicyLab.Expectation.Invalid.self) { try PolicyLab.Expectation(parsing: text) }
      return
    }
    let mismatch = try PolicyLab.Expectation(parsing: text).mismatch(with: observed)
    #expect((mismatch == nil) == holds, "\(mismatch ?? "no mismatch")")
    #expect(mismatch?.isEmpty != true)
  }

  @Test(
    "what isn't an expectation is refused with what there is",
    arguments: [
      ("", "there are"), ("return 42", "there are"), ("no denial", "there are"), ("outcome", "wallTimeExceeded"),
      ("outcome fine", "isn't an outcome"), ("deny", "there are"), ("deny read", "system call"),
      ("deny nosuchcall", "system call"), ("deny read /etc", nil), ("deny openat etc", "absolute"),
      ("deny connect nowhere", "a.example:443"),
      ("deny connect :1", "a.example:443"),
      ("allow etc", "there are"), ("denied by landlock", "seccomp, files, limits"), ("memory 4MiB", "<="),
      ("memory <= much", "4MiB"), ("wall <= 3MiB", "2s"), ("log", "there are"), ("output hex:1", "two digits"),
      ("output hex:zz", "two digits"), ("allow read", "there are"), ("allow read etc", "$CONTAINER"),
      ("allow read /etc/*", "is a pattern"), ("deny /etc/[a-p]asswd", "is a pattern"),
      ("deny openat /etc/x?", "is a pattern"),
      ("allow write $TMP/*", "is a pattern"), ("allow read /etc /usr", "more than one path"),
      ("allow write $CONTAINER $TMP", "more than one path"), ("deny /etc/x\\", "is a pattern"),
      ("deny $HOME/x", "$CONTAINER"), ("allow $CONTAINERS", "$CONTAINER"), ("\u{1b}[2J", "there are"),
    ] as [(String, String?)])
  func refusals(text: String, words: String?) {
    do throws(PolicyLab.Expectation.Invalid) {
      _ = try PolicyLab.Expectation(parsing: text)
      // `read` is a system call, too.
      #expect(words == nil || text == "deny read")
    } catch {
      #expect(words.map { error.message.contains($0) } ?? false, "\(error.message)")
      #expect(!error.message.contains("\u{1b}"))
    }
  }

  @Test(
    "a text is expected as it is, or as it is printed where a terminal may not see it",
    arguments: [
      ("first\n", "first\n", true), ("first\\u{a}", "first\n", true), ("first\\u{a}", "first\\u{a}", true),
      ("first\n", "first\\u{a}", false), ("first", "first\n", false), (" x ", " x ", true), ("x", " x ", false),
      (" x ", "x", false), ("\n", "\n", true), ("é", "é", true),
    ])
  func texts(wanted: String, returned: String, holds: Bool) throws {
    var observed = Self.observed(value: CallWords.text(of: .cstring(Array(returned.utf8))))
    observed.text = returned
    let mismatch = try PolicyLab.Expectation(parsing: "returned \(wanted)").mismatch(with: observed)
    #expect((mismatch == nil) == holds, "\(mismatch ?? "")")
    // What is shown of both isn't the same.
    #expect(mismatch != Printable.text("returned \(wanted)") && mismatch?.contains("\n") != true)
  }

  @Test("spaces around a value that is no text are none of it") func aligned() throws {
    #expect(try PolicyLab.Expectation(parsing: "returned   42 ").mismatch(with: Self.observed()) == nil)
  }

  @Test("expectations of paths, or of no denials at all, have the host observe") func observation() throws {
    for (text, needs) in [
      ("deny /a", true), ("allow /a", true), ("denied by files", true), ("deny openat", true),
      ("deny mkdir", true), ("deny socket", false), ("denied by limits", true), ("denied by seccomp", false),
      ("deny read $TMP", true), ("allow write /a", true), ("no denials", true),
    ] {
      #expect(try PolicyLab.Expectation(parsing: text).needsObservation == needs, "\(text)")
    }
  }

  @Test(
    "a run that a limit ended has the line that would let it go on, in the policy or in the test where that has the limit",
    arguments: [
      (Outcome.Kind.memoryExceeded, "memory", "limits: {memory: 24MiB}"),
      (.wallTimeExceeded, "wall", "limits: {wall: 3s}"),
      (.cpuTimeExceeded, "cpu", "limits: {cpu: 500ms}"), (.crashed, "wall", nil),
    ] as [(Outcome.Kind, String, String?)])
  func limits(kind: Outcome.Kind, name: String, line: String?) throws {
    let limits = Limits(wallTime: .milliseconds(1500), cpu: .milliseconds(250), memory: 12 << 20)
    var observed = Self.observed(kind)
    observed.limitRemedy = LimitRemedy(for: kind, limits)
    for (own, place) in [([], "policy"), ([name], "test")] as [(Set<String>, String)] {
      observed.ownLimits = own
      for text in ["returned", "outcome loadFailed"] {
        let mismatch = try Expectation(parsing: text).mismatch(with: observed)
        #expect(mismatch == kind.rawValue + (line.map { "; \(place): \($0)  # twice as much" } ?? ""))
      }
    }
    if let line { #expect(try Policy(parsing: "version: 2\n\(line)\n", file: "offered").limits != Limits()) }
  }

  @Test(
    "a path is the same however the plugin or the test spells it, or by what it leads to",
    arguments: [
      ("/srv/a/b", nil, "/srv/a", true), ("/srv/./a//b", nil, "/srv/a/", true), ("/x/../srv/a/b", nil, "/srv//a", true),
      ("/srv/a/b", nil, "/srv/x/../a", true), ("/link/b", "/srv/a/b", "/srv/a", true),
      ("/srv/ab", nil, "/srv/a", false),
      ("/link/b", "/srv/ab", "/srv/a/", false),
    ] as [(String, String?, String, Bool)])
  func spellings(target: String, real: String?, path: String, isOf: Bool) throws {
    var denial = Observed.Denial(wall: "files", call: "openat", target: target)
    denial.real = real
    var observed = Self.observed()
    observed.denials = [denial]
    func holds(_ text: String) throws -> Bool {
      try PolicyLab.Expectation(parsing: text).mismatch(with: observed) == nil
    }
    #expect(try holds("allow read \(path)") == !isOf && holds("deny read \(path)") == isOf)
    let whole = path.hasSuffix("/") ? "\(path)b" : "\(path)/b"
    #expect(
      try holds("allow \(whole)") == !isOf && holds("deny \(whole)") == isOf && holds("deny openat \(whole)") == isOf)
  }

  @Test("what is to be denied is named plainly, so that recording never grants it") func deniedPaths() throws {
    for (text, path) in [
      ("deny read /etc/", "/etc"), ("deny //etc/./x/../passwd", "/etc/passwd"), ("deny write $TMP/a/", "/tmp/a"),
      ("deny openat $CONTAINER/../etc/shadow", "/etc/shadow"),
    ] {
      #expect(try PolicyLab.Expectation(parsing: text).deniedPath == path, "\(text)")
    }
  }
}
