internal import ArgumentParser
internal import AssetModel
internal import LinuxSystem
internal import ServiceProtocol

struct InstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install", abstract: "Installs an app, and waits until it may be launched.",
    usage: "outrider install [<options>] <app>",
    discussion: """
      APP is a folder Name.app or an archive of one (tar, also compressed, or zip). Its extension is woken and its \
      essential downloads are fetched before the first launch. Interrupted, this command leaves the rest to the \
      service: nothing is lost, outrider installation pauses or cancels it.

      EXAMPLES
        outrider install Sessions.app
        outrider install Sessions.tar.zst --no-wait
        outrider install Game.app --share-group group.com.example.studio

      EXIT STATUS
        0    the app may be launched, or --no-wait and it is in place
        1    cancelled
        65   not an app that can be installed; all that is wrong is named; or it
             doesn't declare a group that --share-group names
        66   no such file
        77   a group is another app's, and --share-group doesn't name it
        130  interrupted; the service goes on
      """)

  @OptionGroup var installation: InstallationArguments

  func run() async { await installation.run(mustExist: false) }
}

struct UpdateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Installs another version of an app that is installed.",
    usage: "outrider update [<options>] <app>",
    discussion: """
      As `outrider install`, but that it refuses what isn't installed yet. Downloads and groups of the app stay.

      EXAMPLES
        outrider update Sessions.app
        outrider update Sessions.zip --no-wait --json
      """)

  @OptionGroup var installation: InstallationArguments

  func run() async { await installation.run(mustExist: true) }
}

/// What `install` and `update` have in common.
struct InstallationArguments: ParsableArguments {
  @Argument(help: ArgumentHelp("A folder Name.app, or an archive of one.", valueName: "app"), completion: .file())
  var path: String
  @Option(
    help: ArgumentHelp(
      "A group of another app that this one declares and may share; may be given several times.", valueName: "group"))
  var shareGroup: [String] = []
  @Flag(help: "Leave the rest to the service as soon as the app is in place.") var noWait = false
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run(mustExist: Bool) async -> Never {
    do {
      let path = try FetchPath.absolute(path, self.path)
      guard Files.exists(path) else {
        throw Failure(66, "\(self.path): there is no such folder or archive; name an app, for example Sessions.app")
      }
      let place = try service.place()
      let service = try await ServiceOperator.connect(place)
      Output.note("\(mustExist ? "updating" : "installing") \(Printable.text(self.path))")
      let newest = try await service.runs(nil, limit: 1).last?.id ?? 0
      guard case .apps(let former) = try await service.ask(.apps(app: nil)) else { throw ServiceOperator.noAnswer }
      let reply = try await service.ask(
        .install(Installation(path: path, sharedGroups: shareGroup, mustExist: mustExist)))
      guard case .apps(let apps) = reply, let app = apps.first else { throw ServiceOperator.unexpected(reply) }
      var last = app
      if !noWait {
        let progress = GateProgress(place: place, app: app, isJSON: json)
        progress.sayOnInterrupt()
        last = try await progress.wait()
        let end = InstallEnd(of: app, inPlace: last, former: former.map(\.path))
        if let failure = end.failure { throw failure }
        if let note = end.note { Output.note(note) }
      }
      // The one that was asked for downloads, whatever callbacks it had since; a former installation's says nothing of this one.
      let run = try? await ServiceOperator.connect(place).runs(app.identifier, limit: 20).last {
        $0.request != "callbacks" && $0.id > newest
      }
      if json {
        try Output.json(AppReport(app: last, run: run))
      } else {
        Output.line("\(Printable.text(last.identifier)) \(Printable.text(last.version)) \(ServiceWords.state(last))")
        if let run, run.outcome.kind != "returned" || !run.downloads.rejected.isEmpty {
          for line in RunText.details(run) { Output.note(line) }
        }
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// What `install`, `update` and `simulate` print with `--json`.
struct AppReport: Encodable {
  var app: AppSummary
  /// The last run of its extension, if it ran for this.
  var run: RunSummary?
}

struct UninstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall", abstract: "Removes an app with its downloads, settings and groups.",
    discussion: """
      A group that another app has as well stays, with its files. An app that runs isn't ended: \
      quit it before.

      EXAMPLE
        outrider uninstall com.example.sessions
      """)

  private static let (looks, pause) = (500, Duration.milliseconds(20))

  @Argument(help: ArgumentHelp("The app's identifier.", valueName: "id"), completion: .apps) var id: String
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let service = try await ServiceOperator.connect(try service.place())
      _ = try await service.ask(.uninstall(app: id))
      // The answer says that it will be: there may be many files.
      var isThere = true
      for _ in 0..<Self.looks where isThere {
        guard case .apps(let apps) = try await service.ask(.apps(app: nil)) else { break }
        isThere = apps.contains { $0.identifier == id }
        if isThere { try await Task.sleep(for: Self.pause) }
      }
      if json {
        try Output.json(["uninstalled": id])
      } else {
        Output.note("\(Printable.text(id)) is \(isThere ? "still being removed: see 'outrider apps'" : "removed")")
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

struct InstallationCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "installation", abstract: "Pauses, resumes or cancels an installation or update that is under way.",
    usage: "outrider installation [<options>] <step> <id>",
    discussion: """
      Cancelled, an installation leaves nothing, and an update leaves the version that was there. Resumed, it goes on \
      where it was.

      EXAMPLES
        outrider installation pause com.example.sessions
        outrider installation resume com.example.sessions
        outrider installation cancel com.example.sessions
      """)

  enum Step: String, CaseIterable, ExpressibleByArgument {
    case pause, resume, cancel

    var action: DownloadAction {
      switch self {
      case .pause: .pause
      case .resume: .resume
      case .cancel: .cancel
      }
    }

    var done: String {
      switch self {
      case .pause: "is paused"
      case .resume: "goes on"
      case .cancel: "is cancelled"
      }
    }
  }

  @Argument(help: "pause, resume or cancel.") var step: Step
  @Argument(help: ArgumentHelp("The app's identifier.", valueName: "id"), completion: .apps) var id: String
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let service = try await ServiceOperator.connect(try service.place())
      _ = try await service.ask(.installation(app: id, action: step.action))
      if json {
        try Output.json(["app": id, "action": step.rawValue])
      } else {
        Output.note("the installation of \(Printable.text(id)) \(step.done)")
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}
