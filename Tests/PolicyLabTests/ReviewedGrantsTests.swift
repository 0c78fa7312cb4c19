import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

/// What recording grants only where its user says so.
@Suite(.timeLimit(.minutes(1))) struct ReviewedGrantsTests: RecorderScene {
  @Test("what every run refuses to be written isn't granted, whatever was named") func written() {
    var bounds = PolicyRecorder.Bounds()
    bounds.reviewed = ["/proc", "/sys", "/usr"]
    let refusal = GrantRefusal(base: Policy(), bounds: bounds)
    for path in ["/sys/kernel/profiling", "/proc/sys/kernel/core_pattern"] {
      #expect(refusal.reason(named: path, .write)?.contains("no policy lets it write there") == true, "\(path)")
      #expect(refusal.reason(named: path, .read) == nil, "\(path)")
    }
    #expect(refusal.reason(named: "/usr/lib", .write) != nil && refusal.reason(named: "/usr/lib/x", .write) == nil)
  }

  @Test(
    "no option is named that wouldn't help: a link to what /proc has of a process is never granted",
    arguments: [true, false])
  func linkIntoProcess(isReviewed: Bool) {
    var bounds = PolicyRecorder.Bounds()
    if isReviewed { bounds.reviewed = ["/proc"] }
    let refusal = GrantRefusal(base: Policy(), bounds: bounds)
    let machine = PolicyRecorder.Machine(kind: Self.kind) { $0 == "/proc/mounts" ? "/proc/17/mounts" : $0 }
    let reason = refusal.reason(for: "/proc/mounts", .read, machine)
    #expect(reason?.contains("no policy grants it") == true && reason?.contains("--allow") == false, "\(reason ?? "")")
    #expect(refusal.reason(for: "/proc/cpuinfo", .read, machine)?.contains("--allow") == (isReviewed ? nil : true))
  }

  @Test(
    "what needs a review is granted in the folders that were named, and code that it has written where that was asked for",
    arguments: [true, false])
  func reviewed(isGranted: Bool) throws {
    var bounds = PolicyRecorder.Bounds()
    if isGranted { (bounds.reviewed, bounds.grantsWrittenCode) = (["/proc", "/var/lib/words"], true) }
    var recorder = PolicyRecorder(base: Policy(), bounds: bounds)
    let paths = ["/proc/cpuinfo", "/var/lib/words/en", "/var/lib/wordsmith", "/proc/self/maps", "/proc", "/root/key"]
    let denials = paths.map { Self.file($0) } + [Observed.Denial(wall: "seccomp", call: "mprotect", target: "0x5")]
    var step = recorder.handle([Self.observed(.returned, denials)], on: Self.machine)
    guard case .run(let policy) = step else { throw MissingStep() }
    #expect(policy.read == (isGranted ? ["/proc/cpuinfo", "/var/lib/words/en"] : []))
    #expect(policy.executableMemory == (isGranted ? .justInTime : .loading))
    for _ in 0..<3 { if case .run = step { step = recorder.handle([Self.observed()], on: Self.machine) } }
    guard case .finished(let recording) = step else { throw MissingStep() }
    let text = PolicyText(recording, command: "outrider").text
    let lines =
      isGranted
      ? ["    - /proc/cpuinfo  # openat", "executableMemory: jit  # mprotect"]
      : [
        "# not granted: /proc/cpuinfo; nothing in /proc is granted unless --allow,",
        "# not granted: executableMemory: jit; --jit lets it run code",
      ]
    #expect(lines.allSatisfy(text.contains) && text.contains("# not granted: /proc/self/maps; no policy"), "\(text)")
    #expect(try Policy(parsing: text, file: "recorded").executableMemory == policy.executableMemory)
  }
}
