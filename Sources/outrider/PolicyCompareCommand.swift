internal import ArgumentParser
internal import AssetModel
internal import PluginHost
internal import PolicyLab
internal import Sandbox

struct PolicyCompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare",
    abstract: "Says what a new version of a library needs, tries and uses that the old one didn't.",
    usage: "outrider policy compare [<options>] <old> <new> <files> ...",
    discussion: """
      The test files are run with OLD and with NEW, each recorded from nothing as 'outrider policy record' does. '+' is what \
      matters: what NEW asks for beyond OLD, and where it does less or something else; '-' is the rest. The exit status is 1 \
      where anything matters, and 0 otherwise.

      With --policy, the grants of that policy that NEW didn't need are listed, and limits that are far above what it \
      reached. Whether a variable is read isn't seen: one is listed where neither NEW nor a library that it loads has its \
      name in it.

      EXAMPLES
        outrider policy compare old/libz.so.1 new/libz.so.1 zlib.test.yaml
        outrider policy compare a/libm.so b/libm.so m.test.yaml --policy m.yaml
      """)
  @Argument(help: "A library: a path, or a name such as libz.so.1.", completion: .file()) var old: String
  @Argument(help: "The version that is compared with it.", completion: .file()) var new: String
  @Argument(help: "Test files; the library that they name isn't used.", completion: .file(extensions: ["yaml", "yml"]))
  var files: [String]
  @Option(help: "The policy in use.", completion: .file(extensions: ["yaml", "yml"])) var policy: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let inUse = try policy.map(PolicyInput.policy)
      // Both are looked at before either is run.
      let images = try [old, new].map { name in
        try PluginImage(opening: name, searching: PluginImage.isFoundByLoader(name), readsExports: true)
      }
      var bounds = PolicyRecorder.Bounds()
      // What the policy in use grants and no test needed is only named.
      bounds.grantsProcesses = (inUse?.processes ?? 0) > 0
      var sides: [LibraryComparison.Side] = []
      var names: [String] = []
      for (library, image) in zip([old, new], images) {
        let (attempt, base) = try RecordingAttempt.tests(
          files, nil, library: library, stop: Interrupts.sayInterrupted)
        defer { attempt.end() }
        let (recording, why) = try await attempt.record(from: base, bounds: bounds)
        if let why { Output.note("\(Printable.text(library, limit: 400)) doesn't come to its end: \(why)") }
        names = attempt.names
        let variables = NamedVariables.found(
          Set(inUse?.environment.map(\.name) ?? []), in: image, later: recording.policy.libraries)
        sides.append(
          LibraryComparison.Side(
            needed: image.elf?.needed ?? [], exports: image.elf?.exports ?? [], recording: recording,
            variables: variables))
      }
      Interrupts.yieldToHandler()
      let comparison = LibraryComparison(sides[0], sides[1], names: names, policy: inUse)
      if json {
        try Output.json(comparison)
      } else {
        for change in comparison.changes {
          Output.line("\(change.matters ? "+" : "-") \(Printable.text(change.text, limit: 4200))")
        }
        for grant in comparison.unused { Output.line("granted and not needed: \(Printable.text(grant, limit: 4200))") }
        for limit in comparison.excess {
          Output.line("far above what was used: \(Printable.text(limit.text, limit: 400))")
        }
        if comparison.changes.isEmpty { Output.note("they need, try and use the same") }
      }
      Exit.leave(comparison.matters ? 1 : 0)
    } catch {
      Exit.with(error)
    }
  }
}
