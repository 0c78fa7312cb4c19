import HostProtocol
import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

/// As what a path is granted: for what a call meant, and no wider than that.
@Suite(.timeLimit(.minutes(1))) struct RecordedAccessTests: RecorderScene {
  private static let bounds = {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsLists = true
    return bounds
  }()

  /// After so many rounds, each of which is denied the same, and some of none.
  private static func recorded(
    _ rounds: [[Observed.Denial]], _ bounds: PolicyRecorder.Bounds = bounds,
    _ machine: PolicyRecorder.Machine = machine
  ) -> Recording {
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    for denials in rounds + [[], [], []] {
      if case .finished(let end) = recorder.handle([observed(.returned, denials)], on: machine) { return end }
    }
    return recorder.soFar
  }

  @Test("who asks for a link gets the names in its folder, and who follows it what it leads to")
  func links() {
    var machine = Self.machine
    machine.isLink = { $0 == "/data/d/link" }
    var asked = Self.file("/data/d/link", "newfstatat")
    asked.namesLink = true
    #expect(Self.recorded([[asked]], machine: machine).policy.list == ["/data/d"])
    asked.namesLink = false
    let followed = Self.recorded([[asked]], machine: machine).policy
    #expect(followed.read == ["/data/d/link"] && followed.list.isEmpty)
    // Of what is no link the call gets the same either way.
    asked = Self.file("/data/d/plain", "newfstatat")
    asked.namesLink = true
    #expect(Self.recorded([[asked]], machine: machine).policy.read == ["/data/d/plain"])
  }

  private static func recorded(_ rounds: [[Observed.Denial]], machine: PolicyRecorder.Machine) -> Recording {
    recorded(rounds, bounds, machine)
  }

  @Test("folders that only have to be there have no line beside one for what lies in them")
  func presence() {
    let way = ["access", "mkdir", "newfstatat", "readlink"].map { Self.file("/srv/d", $0) }
    let recording = Self.recorded([way, [Self.file("/srv/d/x/d/new0", writes: true)]])
    #expect(recording.policy.list.isEmpty && recording.policy.write == ["/srv/d/x/d"], "\(recording.policy)")
    let listed = Self.recorded([way + [Self.file("/srv/d")], [Self.file("/srv/d/x/d/new0", writes: true)]])
    #expect(listed.policy.list == ["/srv/d"])
  }

  @Test("on the way to what may be granted a folder of the system is there, and its names aren't granted")
  func wayToReviewed() {
    var bounds = Self.bounds
    let machine = PolicyRecorder.Machine(kind: { $0.hasSuffix("status") ? .file : .folder })
    let way = ["/var", "/var/lib", "/var/lib/pkg"].map { Self.file($0, "readlink") }
    let refused = Self.recorded(way.map { [$0] }, bounds, machine)
    #expect(refused.policy.grants.isEmpty && refused.refused.contains { $0.path == "/var" })
    bounds.reviewed = ["/var/lib/pkg"]
    let recording = Self.recorded([[way[0]], [Self.file("/var/lib/pkg/status")]], bounds, machine)
    #expect(recording.policy.read == ["/var/lib/pkg/status"] && recording.policy.list.isEmpty, "\(recording.policy)")
  }

  @Test("a folder that every user may write to is granted where that was allowed") func everyUsers() {
    var (bounds, machine) = (Self.bounds, Self.machine)
    machine.isOpenToAll = { $0 == "/srv/d" }
    let made = Self.file("/srv/d/new0", writes: true)
    let refused = Self.recorded([[made]], bounds, machine)
    #expect(refused.policy.write.isEmpty && refused.refused[0].reason.hasSuffix("; --allow /srv/d grants it"))
    // To read there marks nothing.
    #expect(Self.recorded([[Self.file("/srv/d")]], bounds, machine).policy.list == ["/srv/d"])
    bounds.reviewed = ["/srv/d"]
    #expect(Self.recorded([[made]], bounds, machine).policy.write == ["/srv/d"])
  }

  @Test("to ask whether a file may be written is enough where that was allowed") func questions() {
    var bounds = Self.bounds
    let question = Self.file("/data/a", "access", writes: true)
    #expect(Self.recorded([[question]], bounds).policy.write.isEmpty)
    bounds.reviewed = ["/data"]
    #expect(Self.recorded([[question], [question]], bounds).policy.write == ["/data/a"])
  }

  @Test("code in a folder that plugins may write to isn't granted") func codeOfPlugins() {
    var machine = Self.machine
    machine.isPlugins = { policy in { path in path.hasPrefix("/marked/") || policy.write.contains("/srv/d") } }
    let mapped = ["/marked/a", "/opt/a"].map { Observed.Denial(wall: "seccomp", call: "mmap", target: $0) }
    let recording = Self.recorded([mapped], machine: machine)
    #expect(recording.policy.libraries == ["/opt/a"])
    #expect(recording.refused.map(\.path) == ["/marked/a"], "\(recording.refused)")
  }

  @Test(
    "what is moved between folders that are granted apart is said to fail, and within one it isn't",
    arguments: [
      "rename", "renameat2", "link",
    ])
  func crossing(call: String) {
    func moved(_ folders: [String]) -> String? {
      Self.recorded(folders.map { [Self.file("\($0)/x", call, writes: true)] }).note
    }
    #expect(moved(["/in/d", "/out/d"])?.contains("/in/d and /out/d are granted apart") == true)
    #expect(moved(["/in/d"]) == nil && moved(["/in/d", "/in/d/sub/d"])?.contains("granted apart") != true)
    let other = Self.recorded([
      [Self.file("/in/d/x", "unlink", writes: true)], [Self.file("/out/d/x", call, writes: true)],
    ])
    #expect(other.note == nil)
  }

  @Test("with hosts no pattern stands for the plugin's own files of names") func patternOfNames() throws {
    var bounds = Self.bounds
    bounds.usesPatterns = true
    for hasHosts in [false, true] {
      var base = Policy()
      if hasHosts { base.network = [try NetworkEndpoint("a.example:443")] }
      var machine = Self.machine
      machine.matches = { pattern in ["/etc/a.conf", "/etc/b.conf", "/etc/resolv.conf"].filter(pattern.covers) }
      var recorder = PolicyRecorder(base: base, bounds: bounds)
      let read = [Self.file("/etc/a.conf"), Self.file("/etc/b.conf")]
      for denials in [read, [], [], []] {
        if case .finished = recorder.handle([Self.observed(.returned, denials)], on: machine) { break }
      }
      let text = PolicyText(recorder.soFar, command: "x").text
      #expect(recorder.soFar.policy.patterns.isEmpty == hasHosts, "\(text)")
      #expect(
        text.contains("# no pattern: /etc/*.conf; with hosts under 'network' it has /etc/resolv.conf") == hasHosts)
    }
  }
}
