internal import ArgumentParser
internal import AssetModel
internal import Downloads
internal import Glibc
internal import LinuxSystem
internal import ServiceProtocol

@main
struct Outrider: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outrider",
    abstract:
      "Loads third-party extensions in a sandboxed process, calls them under a watchdog, and says what they did.",
    discussion: """
      EXAMPLES
        outrider run Talks.appex --request install --manifest sessions.json
        outrider call libz.so.1 crc32 'u64(u64,bytes,u32)' 0 hello 5
        outrider call ./plugin.so work 'void()' --wall 300ms --memory 16MiB --json
        outrider inspect plugin.so
        outrider doctor
        outrider install Sessions.app
        outrider launch com.example.sessions
        outrider serve ./assets --script Examples/bad-day.yaml

      EXIT STATUS
        0 returned            10 loadFailed          11 crashed
        12 wallTimeExceeded   13 cpuTimeExceeded     14 memoryExceeded
        15 policyViolation    16 protocolViolation   17 runtimeBudgetExhausted
        18 entryPointMissing  64 usage               65 warnings, --strict
        66 no input           69 wallUnavailable     70 hostFailed
        73 no file for it     74 result not written  129, 130, 143 by a signal

      With --json a command that ends without a result prints {"error": {"message": …, "status": …}} instead.
      """,
    version: ProductVersion.text,
    subcommands: [
      RunCommand.self, CallCommand.self, InspectCommand.self, ExploreCommand.self, BindCommand.self,
      DoctorCommand.self, BenchCommand.self, FetchCommand.self,
      ExplainCommand.self, DigestCommand.self, ServeCommand.self, BundleCommand.self,
      PolicyCommand.self,
    ] + ServiceCommands.all)

  /// To look at all commands takes as long as to fetch a small file: these are tried alone. Whatever is wrong with one, or is
  /// asked of it besides, is for the whole of them to say.
  private static let triedAlone: [String: any ParsableCommand.Type] = [
    "call": CallCommand.self, "fetch": FetchCommand.self, "run": RunCommand.self,
  ]

  private static func parsed() throws -> any ParsableCommand {
    let arguments = Arguments.words
    // An argument of a call's may look like any option, and the version is every command's.
    if let type = arguments.first.flatMap({ triedAlone[$0] }), !arguments.contains("--version"),
      let command = try? type.parse(Array(arguments.dropFirst()))
    {
      return command
    }
    if let error = CommandNames(of: Self.self).validationError(in: arguments) { throw ValidationError(error) }
    return try parseAsRoot(arguments)
  }

  private static var isFetch: Bool { Arguments.words.first == "fetch" }

  /// As the parser's own, but that what it quotes of the command line can't play tricks on a terminal.
  static func main() async {
    OpenFiles.fillStandardDescriptors()
    // No command could use what it has made.
    Files.keepOwnersRights()
    if let lack = ProcessFiles.lack { Exit.leave(70, lack) }
    // Who presses Ctrl-\ wants an end, and no report of a crash.
    signal(SIGQUIT, SIG_DFL)
    if let lack = StackLimit.lack { Exit.leave(70, lack) }
    // Workers of the executors, the watchdog, and the processes that a plugin takes.
    let threads: Int32 = 10
    do throws(ThreadShortage) { try Threads.tryToStart(threads, besides: 16 << 20) } catch {
      Exit.leave(70, error.description)
    }
    let descriptors = 28
    guard Descriptors.canOpen(descriptors) else {
      Exit.leave(70, "this user may not open the \(descriptors) files at once that it takes (ulimit -n)")
    }
    if let unreadable = Arguments.unreadable {
      Exit.leave(
        64,
        """
        \(unreadable); a URL has them with percent signs (%E9), a call's argument of type 'bytes' as hex:e9 or in a file, @FILE; a name \
        of a file has to be UTF-8
        """)
    }
    // On the other processor, while this one reads the command line.
    if isFetch { CurlLibrary.loadAhead() }
    do {
      var command = try parsed()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      Exit.leave(0)
    } catch {
      HelpColumns.widen()
      let status = exitCode(for: error)
      guard status != .success else {
        // Help and scripts for completion: results as any others.
        Output.line(fullMessage(for: error))
        Exit.leave(0)
      }
      Output.jsonFailure(status.rawValue, message(for: error))
      for line in fullMessage(for: error).split(separator: "\n", omittingEmptySubsequences: false) {
        Output.note(Printable.text(line, limit: 1000))
      }
      Exit.leave(status.rawValue)
    }
  }
}
