internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import PolicyLab
internal import Sandbox

struct ExploreCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explore",
    abstract: "Says what is in a library, and tries its functions with arguments that may surprise them.",
    usage: """
      outrider explore [<options>] <library> [--header <file> ...]
      outrider explore [<options>] <library> --function <name> --fuzz <count>
      """,
    discussion: """
      The file is read and not loaded: what it needs, how it is loaded, which functions it exports. Where it has debug \
      information (DWARF; compile with -g), or it lies in a file of its own (/usr/lib/debug, .gnu_debuglink), each function is shown as in C, and with the signature that 'outrider call' \
      takes. Nothing in it is believed: a signature is a proposal.

      --header says so for a library without debug information: libclang reads it, in a plugin of its own inside the \
      walls. It is a path, or a name such as zlib.h or openssl/evp.h. What header and debug information say otherwise of a \
      function is told. --include and --define need --header.

      --fuzz calls one function so many times inside the walls, each time in a process of its own, and counts how that \
      ended. Each kind of end has a command line that repeats the first of its kind. The exit status is 0 whatever the \
      function does. --signature, --seed, --policy, --container, --env, --observe, --wall, --cpu and --memory need it: \
      without it nothing of the library runs.

      EXAMPLES
        outrider explore libz.so.1
        outrider explore ./answer.so --json
        outrider explore libz.so.1 --header zlib.h
        outrider explore ./codec.so --header ./codec.h --include ./include
        outrider explore ./answer.so --function answer --fuzz 100
        outrider explore libz.so.1 --function crc32 --signature \\
          'u64(u64,bytes,u32)' --fuzz 1000 --seed 7 --policy computation
      """)

  @OptionGroup var sandbox: SandboxOptions
  @Argument(help: "A path to a .so, or a name such as libz.so.1.", completion: .file()) var library: String
  @Option(
    help: ArgumentHelp("A C header that declares its functions; may be repeated.", valueName: "file"),
    completion: .file())
  var header: [String] = []
  @OptionGroup var headers: HeaderOptions
  @Option(help: "Only this function.") var function: String?
  @Option(help: "Call it so many times with seeded arguments.") var fuzz: Int?
  @Option(help: "With --fuzz: its type, where the library doesn't say: RETURN(ARGUMENTS).") var signature: String?
  @Option(
    help: "With --fuzz: what the arguments are made of; the same seed makes the same ones (default: 1).")
  var seed: UInt64?

  private static let maxAttempts = 1_000_000
  private static let maxShown = 200
  private static let usualWall = "1s"
  private static let usualSeed: UInt64 = 1

  func validate() throws {
    if header.isEmpty, let option = headers.given { throw ValidationError("\(option) needs --header") }
    guard let fuzz else {
      // Headers and debug information are read under walls of their own, of which --cold alone changes something.
      let option = signature != nil ? "--signature" : seed != nil ? "--seed" : sandbox.ofRun
      if let option { throw ValidationError("\(option) needs --fuzz") }
      return
    }
    guard (1...Self.maxAttempts).contains(fuzz) else {
      throw ValidationError("--fuzz is a number from 1 to \(Self.maxAttempts)")
    }
    guard function != nil else { throw ValidationError("--fuzz needs --function, the name of the one to call") }
  }

  func run() async {
    do {
      // Before it is read for its digest.
      if let file = try? Files.identity(of: library), file.isRegularFile, file.size > LibraryExploration.longest {
        throw InputFile.tooLong(library, limit: LibraryExploration.longest)
      }
      let image = try PluginImage(opening: library, searching: PluginImage.isFoundByLoader(library))
      guard let elf = image.elf else {
        Exit.leave(
          Outcome.Kind.loadFailed.exitStatus,
          "\(Printable.text(image.library.path)): \(image.formatError ?? "isn't a library")")
      }
      let bytes = try InputFile.content(of: image.library.path, limit: LibraryExploration.longest)
      // Started where something has to be done inside the walls.
      var started: PluginHost?
      defer { started?.stop() }
      func host() throws -> PluginHost {
        if let started { return started }
        let host = try sandbox.makeHost()
        started = host
        return host
      }
      let declared = header.isEmpty ? nil : try await headers.read(header, before: "a further --header", try host())
      let debug = await DebugFinder(host: host).source(of: bytes, path: image.library.path)
      let exploration = LibraryExploration(bytes, debug: debug, header: declared)
      if let function, !exploration.functions.contains(where: { $0.name == function }) {
        throw Failure(64, "\(Printable.text(library)) exports no function '\(Printable.text(function, limit: 60))'")
      }
      if fuzz != nil {
        // That has a host of its own, and an interrupt ends one.
        started?.stop()
        try await fuzz(exploration)
      } else {
        try show(exploration, image, elf)
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  // MARK: What it is

  private struct Report: Encodable {
    var file: String
    var sha256: String
    var needed: [String]
    var runpath: [String]
    /// The file that debug information was read from, where it isn't the library's.
    var debugFile: String?
    var facts: LibraryFacts
    var functions: [LibraryExploration.Function]
  }

  private func show(_ exploration: LibraryExploration, _ image: PluginImage, _ elf: ELFFile) throws {
    let functions = exploration.functions.filter { function == nil || $0.name == function }
    guard !sandbox.json else {
      return try Output.json(
        Report(
          file: image.library.path, sha256: image.digest, needed: elf.needed, runpath: elf.runpath,
          debugFile: exploration.debugFile, facts: exploration.facts, functions: functions))
    }
    if function == nil { rows(exploration, image, elf) }
    let known = functions.filter { $0.prototype != nil || $0.header != nil }
    for function in known.prefix(Self.maxShown) { line(function) }
    let others = functions.filter { $0.prototype == nil && $0.header == nil }
    for function in others.prefix(max(Self.maxShown - known.count, 0)) {
      Output.line(Printable.text(function.name, limit: 200))
    }
    let left = functions.count - Self.maxShown
    if left > 0 { Output.line("… and \(left) other functions; --json names them") }
    if known.isEmpty, !functions.isEmpty {
      Output.note(
        exploration.facts.debugProblem
          ?? (header.isEmpty
            ? "without debug information nothing says what its functions take; its header does: --header"
            : "none of its functions is declared in \(Printable.text(header.joined(separator: ", "), limit: 200))"))
    }
  }

  private func rows(_ exploration: LibraryExploration, _ image: PluginImage, _ elf: ELFFile) {
    let facts = exploration.facts
    var rows = [("file", image.library.path), ("sha256", image.digest)]
    rows += elf.needed.map { ("needs", $0) } + elf.runpath.map { ("run path", $0) }
    let warnings = [
      facts.hasExecutableStack ? "an executable stack" : nil, facts.hasWritableCode ? "writable code" : nil,
      facts.relocatesCode ? "code that is changed as it is loaded" : nil,
    ].compactMap { $0 }
    rows.append(
      ("asks for", warnings.isEmpty ? "no executable stack, no writable code" : warnings.joined(separator: ", ")))
    let kept = facts.hasRelro ? facts.bindsNow ? "read-only once loaded" : "partly read-only once loaded" : "writable"
    rows.append(("relocations", "\(facts.relocations), \(kept)"))
    rows.append(("on loading", "\(facts.constructors) functions run"))
    let more = facts.isCut ? " and more" : ""
    rows.append(("exports", "\(facts.functions.count) functions\(more), \(facts.variables) variables"))
    if let file = exploration.debugFile { rows.append(("debug file", file)) }
    for (name, value) in rows {
      Output.line(name.padding(toLength: 13, withPad: " ", startingAt: 0) + Printable.text(value, limit: 300))
    }
    Output.line("")
  }

  private func line(_ function: LibraryExploration.Function) {
    let prototype = function.header?.prototype ?? function.prototype
    Output.line(Printable.text(prototype ?? function.name, limit: 600))
    if let mismatch = function.header?.mismatch, let other = function.prototype {
      Output.line("  its debug information says otherwise: \(Printable.text(other, limit: 600))")
      Output.line("  \(Printable.text(mismatch, limit: 300))")
    }
    if let signature = function.usualSignature {
      Output.line(
        "  outrider call "
          + Self.words(
            (function.name.hasPrefix("-") ? ["--"] : []) + [path, function.name, signature]
              + CallWords.placeholders(signature)))
    } else if let problem = function.header.map(\.problem) ?? function.problem {
      Output.line("  can't be called from a command line: \(Printable.text(problem, limit: 200))")
    }
  }

  private var path: String { LibraryPath.of(library) }

  private static func words(_ words: [String]) -> String {
    words.map(ShellWord.quoted).joined(separator: " ")
  }

  // MARK: What it does

  private struct FuzzReport: Encodable {
    var function: String
    var signature: String
    var seed: UInt64
    var attempts: Int
    var outcomes: [FuzzOutcomes.Class]
  }

  private var usedSeed: UInt64 { seed ?? Self.usualSeed }

  private func fuzz(_ exploration: LibraryExploration) async throws {
    guard let name = function, let count = fuzz else { return }
    guard let text = signature ?? exploration.functions.first(where: { $0.name == name })?.usualSignature else {
      throw Failure(64, "nothing says what '\(Printable.text(name, limit: 60))' takes; give it with --signature")
    }
    let parsed: CallSignature
    do throws(CallSignature.ParseError) { parsed = try CallSignature(parsing: text) } catch {
      throw Failure(64, "\(error)")
    }
    var options = sandbox
    if options.wall == nil, options.policy == nil { options.wall = Self.usualWall }
    let policy = try options.makePolicy()
    let fuzzer = CallFuzzer(parsed, seed: usedSeed)
    let outcomes = Interim(FuzzOutcomes())
    let progress = CorpusProgress(total: count)
    let command = self
    let host = try options.makeHost {
      progress.end()
      let found = outcomes.now
      if !found.classes.isEmpty { try? command.show(found, of: name, parsed) }
      Output.note("interrupted after \(found.count) of \(count) calls")
      // Nothing where its classes were shown.
      Interrupts.sayInJSON()
    }
    defer { host.stop() }
    for attempt in 0..<count {
      let words = fuzzer.words(of: attempt)
      let observed = try await observe(host, policy, name, parsed, words)
      outcomes.update {
        $0.add(observed, attempt: attempt, command: Self.command(options, command.path, name, parsed, words))
      }
      progress.advance()
    }
    Interrupts.yieldToHandler()
    progress.end()
    try show(outcomes.now, of: name, parsed)
  }

  private func show(_ outcomes: FuzzOutcomes, of name: String, _ signature: CallSignature) throws {
    guard !sandbox.json else {
      return try Output.json(
        FuzzReport(
          function: name, signature: signature.description, seed: usedSeed, attempts: outcomes.count,
          outcomes: outcomes.classes))
    }
    Output.line("\(outcomes.count) calls of \(Printable.text(name, limit: 100)), \(signature), seed \(usedSeed)")
    for outcome in outcomes.classes.sorted(by: { $0.count > $1.count }) {
      Output.line("\(outcome.count) × \(Printable.text(outcome.outcome, limit: 600))")
      Output.line("  \(outcome.command)")
    }
  }

  private func observe(
    _ host: PluginHost, _ policy: Policy, _ name: String, _ signature: CallSignature, _ words: [String]
  ) async throws -> Observed {
    var arguments: [CallArgument] = []
    for (word, kind) in zip(words, signature.given) {
      let argument = try CallWords.argument(word, kind) { (_) throws(Failure) in
        throw Failure(70, "a made argument names a file")
      }
      guard let argument else { throw Failure(70, "the made argument '\(word.prefix(60))' doesn't fit \(kind)") }
      arguments.append(argument)
    }
    var loading = PluginHost.LoadOptions()
    sandbox.warnOfContainer()
    loading.container = sandbox.container
    let plugin: Plugin
    do throws(HostError) {
      plugin = try await host.load(path, policy: policy, options: loading)
    } catch {
      guard let report = error.report else { throw error }
      return Observed(report, nil as RunnerMessage.CallResult?)
    }
    var result: RunnerMessage.CallResult?
    do throws(HostError) {
      result = try await plugin.call(name, "\(signature)", arguments: arguments)
    } catch {
      if error.report == nil {
        _ = await plugin.end()
        throw error
      }
    }
    return Observed(await plugin.end(), result)
  }

  /// One that does the same.
  private static func command(
    _ options: SandboxOptions, _ library: String, _ name: String, _ signature: CallSignature, _ words: [String]
  ) -> String {
    var given: [String] = []
    for (option, value) in [
      ("--policy", options.policy), ("--container", options.container), ("--wall", options.wall),
      ("--cpu", options.cpu),
      ("--memory", options.memory),
    ] {
      if let value { given += [option, value] }
    }
    for variable in options.env { given += ["--env", variable] }
    if options.observe { given.append("--observe") }
    if options.cold { given.append("--cold") }
    // What looks like an option isn't one behind these.
    if name.hasPrefix("-") || words.contains(where: { $0.hasPrefix("--") }) { given.append("--") }
    return (["outrider", "call"] + given + [library, name, signature.description] + words).map(ShellWord.quoted).joined(
      separator: " ")
  }
}
