import PluginHost
import Sandbox
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct ProcessSearchTests: RecorderScene {
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
    else { throw MissingStep() }
    #expect(first.processes == (grants ? 1 : 0) && first.libraries == (grants ? ["/usr/bin/file"] : []))
    var steps = [Self.observed(.returned, [fork])]
    if grants {
      guard
        case .run(let second) = recorder.handle([Self.observed(.policyViolation, [more(1), look])], on: Self.machine),
        case .run(let third) = recorder.handle([Self.observed(.policyViolation, [more(2)])], on: Self.machine)
      else { throw MissingStep() }
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
      let line = "\nprocesses: 6  # the last round had 3 at one time\n"
      #expect(text.contains(line) && text.contains("- /usr/bin/file  # execve"), "\(text)")
      #expect(try Policy(parsing: text, file: "recorded").processes == 6)
    } else {
      #expect(text.contains("# not granted: processes; --processes lets it start them"), "\(text)")
      #expect(text.contains("# not granted: /usr/bin/file; --processes lets it start that"), "\(text)")
    }
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
    else { throw MissingStep() }
    #expect(policy.processes == 4 && recording.policy.processes == 4)
  }
}
