import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

/// What recording makes of names that a plugin may have made, and of those that it can't grant.
@Suite(.timeLimit(.minutes(1))) struct RecordedLinksTests: RecorderScene {
  /// Where /srv/app may be written, /srv/app/current is a link that a plugin may have made, and so it is in a folder of an earlier run.
  private static var machine: PolicyRecorder.Machine {
    var machine = PolicyRecorder.Machine(kind: kind) { path in
      ["/srv/app/current/", "/marked/link/"].first { path.hasPrefix($0) }.map {
        "/srv/v1/" + path.dropFirst($0.count)
      } ?? path
    }
    machine.plantedLinks = { policy in
      { path in
        if path.hasPrefix("/marked/link/") { return "link" }
        return path.hasPrefix("/srv/app/current/") && policy.write.contains("/srv/app") ? "current" : nil
      }
    }
    return machine
  }

  private static func text(_ recorder: PolicyRecorder) -> String { PolicyText(recorder.soFar, command: "x").text }

  @Test(
    "a name that leads through a link which a plugin may have made isn't granted, as no run takes it",
    arguments: [
      file("/marked/link/a"), file("/marked/link/a", writes: true), file("/marked/link/a", "mmap"),
    ])
  func planted(denial: Observed.Denial) throws {
    var recorder = PolicyRecorder(base: Policy())
    let denials = [denial, Self.file("/data/a")]
    guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
      throw MissingStep()
    }
    #expect(policy.grants == ["/data/a"])
    let refused = recorder.soFar.refused
    #expect(
      refused.map(\.path) == ["/marked/link/a"] && refused[0].reason.contains("'link' on the way lies in a folder"))
    #expect(refused[0].reason.hasSuffix("if the plugin is to have /srv/v1/a, grant that by its own name"), "\(refused)")
  }

  @Test("a name loses its line where its folder is granted to be written, and what the link leads to gets one")
  func plantedSince() throws {
    var recorder = PolicyRecorder(base: Policy())
    let read = Self.file("/srv/app/current/a")
    func round(_ denials: [Observed.Denial]) throws -> Policy {
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, denials)], on: Self.machine) else {
        throw MissingStep()
      }
      return policy
    }
    #expect(try round([read]).grants == ["/srv/app/current/a"])
    var machine = Self.machine
    machine.kind = { $0 == "/srv/app" ? .folder : Self.kind($0) }
    guard
      case .run(let written) = recorder.handle(
        [Self.observed(.returned, [Self.file("/srv/app/new0", writes: true)])], on: machine)
    else { throw MissingStep() }
    #expect(written.grants == ["/srv/app"])
    #expect(Self.text(recorder).contains("# not granted: /srv/app/current/a; the symbolic link 'current'"))
    let followed = try round([read])
    #expect(followed.read == ["/srv/v1/a"] && followed.write == ["/srv/app"])
    guard case .run = recorder.handle([Self.observed()], on: Self.machine),
      case .finished = recorder.handle([Self.observed()], on: Self.machine)
    else { throw MissingStep() }
    #expect(!Self.text(recorder).contains("not granted"), "\(Self.text(recorder))")
  }

  @Test("folders that are listed have no line in one that is listed, but for links out of it") func listed() throws {
    var bounds = PolicyRecorder.Bounds()
    bounds.grantsLists = true
    var machine = Self.machine
    machine.real = { $0 == "/data/d/link/d" ? "/else/d" : $0 }
    for (path, list) in [("/data/d/sub/d", ["/data/d"]), ("/data/d/link/d", ["/data/d", "/data/d/link/d"])] {
      var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
      _ = recorder.handle([Self.observed(.returned, [Self.file(path)])], on: machine)
      guard case .run(let policy) = recorder.handle([Self.observed(.returned, [Self.file("/data/d")])], on: machine)
      else { throw MissingStep() }
      #expect(policy.list == list)
    }
  }

  @Test("a name that no policy can have is said to be one, and what is made in a folder isn't said to be absent")
  func absent() throws {
    var recorder = PolicyRecorder(base: Policy())
    let machine = PolicyRecorder.Machine(kind: { $0 == "/data/d" ? .folder : .absent })
    let denials = [
      Self.file("/srv/\u{fffd}"), Self.file("/data/d/own0/f"), Self.file("/none0/f"),
      Self.file("/data/d/own0", "mkdir", writes: true),
    ]
    _ = recorder.handle([Self.observed(.returned, denials)], on: machine)
    #expect(Self.text(recorder).contains("not on this machine: /data/d/own0/f"))
    _ = recorder.handle([Self.observed(.returned, [denials[0], denials[2]])], on: machine)
    let text = Self.text(recorder)
    #expect(
      !text.contains("/data/d/own0/f") && text.contains("# asked for, and not on this machine: /none0/f"), "\(text)")
    #expect(text.contains("; no policy can name it: its name isn't UTF-8"), "\(text)")
  }

  @Test("bounds of recording are no policy that it started from") func bounds() {
    for (memory, base, isSaid) in [(64 << 20, Policy(), false), (nil, Policy(), false)] as [(Int?, Policy, Bool)] {
      var bounds = PolicyRecorder.Bounds()
      (bounds.memory, bounds.time) = (memory, memory == nil ? nil : .seconds(3))
      let recorder = PolicyRecorder(base: base, bounds: bounds)
      #expect(Self.text(recorder).contains("the policy that recording started from") == isSaid)
    }
    var base = Policy()
    base.limits.memory = 32 << 20
    #expect(Self.text(PolicyRecorder(base: base)).contains("the policy that recording started from"))
  }
}
