internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

struct PolicyRecordCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Runs a plugin until it gets what it asks for, and writes the smallest policy for that.",
    usage: """
      outrider policy record [<options>] call <library> <symbol> <signature>
        [<argument> ...]
      outrider policy record [<options>] run <extension> --request <name>
        --manifest <file>
      outrider policy record [<options>] <test file> ...
      """,
    discussion: """
      Each round runs the same under all walls and observes what is asked for; the next one grants the files that were \
      denied, and raises a limit that ended it. Nothing else is widened. When nothing more is asked for, the limits \
      are made as small as what was used allows, and a last round proves them. Each line of the policy says what \
      needed it. Read it before you use it: what a plugin asks for isn't always what it should get.

      What it may write it does write, and where it may connect it does, in each round: give it data that it may change.

      Tests that expect something to be denied ask for nothing, and what they expect to be denied is never granted. \
      The policy that a test file names needn't be there yet.

      Of a plugin that makes sockets a further round finds out where it wants to connect. With --network the next round \
      lets it; otherwise the hosts stand in the policy as comments.

      Nothing that wasn't asked for is granted, unless you say so: --folder-from grants a folder in the place of many \
      files in it, and --glob a pattern in the place of paths that differ in a part of one name, where that holds \
      nothing private or of the system. What may be written keeps its name. The last round proves the patterns, too.

      With --processes it may start processes, and the programs that it executes are granted.

      What needs a review is listed and not granted: whole folders of the system, code that the plugin has written \
      itself, and what lies in \(PolicyRecorder.sensitiveFolders.joined(separator: ", ")). --allow grants what lies in \
      a folder all the same, and --jit such code. A policy that has it already, given with --policy to 'call' and 'run' or to this command for test files, \
      is where recording starts from.

      Stopped with Ctrl-C it writes what it has found by then.

      The exit status is 0 where everything ran to its end and nothing was denied any more, 1 where something still is, \
      and otherwise that of the run that failed.

      EXAMPLES
        outrider policy record call libc.so.6 fopen 'pointer(cstring,cstring)' a r
        outrider policy record run c.so --request install --manifest m.json
        outrider policy record --output sqlite.yaml sqlite.test.yaml
        outrider policy record --glob call ./viewer.so show 'i32(cstring)' /srv/pages
        outrider policy record --network call ./client.so refresh 'i32()'
        outrider policy record --allow /proc --allow /sys call ./blas.so init 'i32()'
      """)

  @Option(help: "Write the policy to this file instead of standard output.", completion: .file()) var output: String?
  @Option(help: "For test files: the policy to start from; theirs aren't used.", completion: .file()) var policy:
    String?
  @Option(help: ArgumentHelp("Grant a folder in the place of so many files in it.", valueName: "count"))
  var folderFrom: Int?
  @Flag(help: "Grant a pattern in the place of paths that differ in a part of one name.") var glob = false
  @Flag(help: "Grant the hosts and ports that it connects to, and let it.") var network = false
  @Flag(help: "Grant the processes and programs that it starts.") var processes = false
  @Option(
    help: ArgumentHelp("Grant in this folder what needs a review otherwise; may be repeated.", valueName: "folder"),
    completion: .directory)
  var allow: [String] = []
  @Flag(help: "Grant it to run code that it has written itself.") var jit = false
  @Option(help: "The most rounds that search; one or two more show that what was found is enough.") var rounds = 16
  @Option(
    help: ArgumentHelp(
      "The most memory to try with, also at first; by default 1GiB, or the policy's where that is more.",
      valueName: "size"))
  var maxMemory: String?
  @Option(
    help: ArgumentHelp(
      "The longest time to try with, also at first; by default 60s, or the policy's where that is more.",
      valueName: "time"))
  var maxTime: String?
  @Argument(parsing: .captureForPassthrough, help: "'call' or 'run' with what follows it, or test files.") var command:
    [String]

  func validate() throws {
    // What captures what follows it captures that, too.
    if let first = command.first, ["--help", "-h"].contains(first) { throw CleanExit.helpRequest(Self.self) }
    guard !command.isEmpty, command != ["--"] else {
      throw ValidationError("name what to run: call …, run … or test files")
    }
    guard (1...100).contains(rounds) else { throw ValidationError("--rounds is a number from 1 to 100") }
    for folder in allow where !folder.isAbsolutePath || folder == "/" || folder.pathNames.contains("..") {
      throw ValidationError(
        "--allow '\(Printable.text(folder, limit: 200))' isn't the absolute path of a folder below /")
    }
    for path in allow where !Files.exists(path) {
      throw ValidationError("--allow '\(Printable.text(path, limit: 200))' isn't there")
    }
    guard folderFrom.map({ $0 >= 2 }) ?? true else { throw ValidationError("--folder-from is a number from 2") }
  }

  func run() async {
    do {
      if let output { try OutputFile.check(output) }
      var words = command
      if words.first == "--" { words.removeFirst() }
      let command = (self, words)
      let (attempt, base) = try RecordingAttempt.made(of: words, policy: policy) { recording in
        do throws(Failure) { try command.0.write(recording, command.1, isStopped: true) } catch {
          Output.error(error.message)
        }
      }
      defer { attempt.end() }
      let recording = try await record(attempt, base, words)
      attempt.end()
      Interrupts.yieldToHandler()
      Exit.leave(recording)
    } catch {
      Exit.with(error)
    }
  }

  private func bounds() throws -> PolicyRecorder.Bounds {
    var bounds = PolicyRecorder.Bounds()
    bounds.rounds = rounds
    bounds.filesOfFolder = folderFrom
    bounds.usesPatterns = glob
    bounds.grantsNetwork = network
    bounds.grantsProcesses = processes
    bounds.grantsWrittenCode = jit
    bounds.reviewed = Set(allow.map { "/" + $0.pathNames.joined(separator: "/") })
    bounds.memory = try maxMemory.map {
      guard let size = Quantity.bytes($0) else {
        throw Failure(64, "--max-memory '\($0)' isn't a size, for example 256MiB")
      }
      return size
    }
    bounds.time = try maxTime.map {
      guard let time = Quantity.duration($0) else {
        throw Failure(64, "--max-time '\($0)' isn't a time, for example 60s")
      }
      return time
    }
    return bounds
  }

  /// The exit status.
  private func record(_ attempt: RecordingAttempt, _ base: Policy, _ words: [String]) async throws -> Int32 {
    let (recording, why) = try await attempt.record(from: base, bounds: try bounds()) { change in
      Output.note("granting \(Printable.text(change.text, limit: 400))")
    }
    // A policy that is there already is kept.
    if let output, why != nil, !recording.hasFound {
      Output.note("\(output): not written, since it asked for nothing that could be granted")
    } else {
      try write(recording, words)
    }
    summarize(recording)
    guard let why else { return recording.denials.isEmpty && recording.droppedDenials == 0 ? 0 : 1 }
    Output.error("it didn't come to its end: \(why)")
    let failed = recording.observed.first { $0.outcome.kind != .returned && !$0.endsAsExpected }
    return failed?.outcome.kind.exitStatus ?? 1
  }

  private func summarize(_ recording: Recording) {
    if let note = recording.note { Output.note(Printable.text(note, limit: 400)) }
    for path in recording.privateFiles {
      Output.note("granted, though other users may not read it: \(Printable.text(path, limit: 400))")
    }
    for row in recording.failedConnections { Output.note(Printable.text(PolicyText.failure(of: row), limit: 400)) }
    for (path, reason) in recording.refused {
      Output.note("not granted: \(Printable.text(path, limit: 400)); \(reason)")
    }
    if recording.droppedDenials > 0 {
      Output.note("\(recording.droppedDenials) more denials than a report keeps: what they were of isn't known")
    }
    let since = recording.grantedSince.count
    if since > 0 {
      Output.note(
        "the policy grants \(since == 1 ? "one path" : "\(since) paths") that the last round was denied, and no round has been run under it yet"
      )
    }
    if let unused = recording.unusedGrants?.count, unused > 0 {
      Output.note(
        "lines of the policy that recording started from that weren't used: \(unused); their comments say so"
      )
    }
    for denial in recording.denials {
      let remedy = denial.remedy.map { "; \(Printable.text($0, limit: 200))" } ?? ""
      Output.note("still denied by \(Printable.text(denial.text, limit: 400))\(remedy)")
    }
  }

  private func write(_ recording: Recording, _ words: [String], isStopped: Bool = false) throws(Failure) {
    var recording = recording
    if isStopped { recording.stop() }
    let text = PolicyText(
      recording,
      command: "outrider policy record " + (policy.map { "--policy \(ShellWord.quoted($0)) " } ?? "")
        + (rounds == 16 ? "" : "--rounds \(rounds) ")
        + (maxMemory.map { "--max-memory \(ShellWord.quoted($0)) " } ?? "")
        + (maxTime.map { "--max-time \(ShellWord.quoted($0)) " } ?? "")
        + (folderFrom.map { "--folder-from \($0) " } ?? "")
        + (glob ? "--glob " : "") + (network ? "--network " : "") + (processes ? "--processes " : "")
        + allow.map { "--allow \(ShellWord.quoted($0)) " }.joined() + (jit ? "--jit " : "")
        + words.map(ShellWord.quoted).joined(separator: " ")
    ).text
    guard let output else { return Output.line(String(text.dropLast())) }
    do throws(Failure) {
      try OutputFile.write(text, to: output)
    } catch {
      // What took many rounds isn't lost with the file.
      Output.line(String(text.dropLast()))
      throw Failure(error.status, "\(error.message); standard output has the policy")
    }
    Output.note("\(output): written after \(recording.rounds) \(recording.rounds == 1 ? "round" : "rounds")")
  }
}
