internal import ArgumentParser
internal import AssetModel
internal import ServiceProtocol

struct DownloadsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "downloads", abstract: "Lists what apps download, watches it, and steers it.",
    discussion: """
      A download is named by its unique identifier, by its number, or by its identifier where only one app has it. With \
      --fetch, `list`, `cancel` and `forget` are about the downloads of `outrider fetch`, named by their numbers; \
      --state is the folder that fetch was given then.

      EXAMPLES
        outrider downloads
        outrider downloads com.example.sessions --watch
        outrider downloads pause talk-101
        outrider downloads promote talk-101
        outrider downloads list --fetch
        outrider downloads cancel --fetch 7
      """,
    subcommands: [
      DownloadsListCommand.self, PauseDownloadCommand.self, ResumeDownloadCommand.self, CancelDownloadCommand.self,
      PromoteDownloadCommand.self, ForgetDownloadsCommand.self,
    ], defaultSubcommand: DownloadsListCommand.self)
}

struct DownloadsListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the downloads of all apps, or of one.",
    usage: "outrider downloads list [<options>] [<id>]",
    discussion: """
      With --watch it goes on until it is interrupted: on a terminal the table is drawn over and over, elsewhere each \
      change is a line. With --json, --watch prints one object a line for each change.

      Those that are over aren't listed: `outrider runs` has what extensions asked for, `outrider log` what happened to \
      apps.

      EXAMPLES
        outrider downloads list
        outrider downloads com.example.sessions --watch
        outrider downloads --json
        outrider downloads list --fetch --state ~/jobs

      EXIT STATUS
        66   no such app is installed
      """)

  @Argument(help: ArgumentHelp("An app's identifier; otherwise those of all apps.", valueName: "id"), completion: .apps)
  var id: String?
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Those of `outrider fetch` instead, from its state folder.") var fetch = false
  @Flag(help: "Go on, and show every change.") var watch = false
  @Flag(help: "Print a JSON array on standard output.") var json = false

  func validate() throws {
    guard fetch else { return }
    if watch { throw ValidationError("--watch is for the service; `outrider fetch` shows its own progress.") }
    if id != nil { throw ValidationError("--fetch has downloads of no app; leave the identifier out.") }
  }

  func run() async {
    do {
      if fetch {
        try FetchDownloads(state: service.state).list(isJSON: json)
        Exit.leave(0)
      }
      let place = try service.place()
      if watch {
        try await DownloadsWatch(place: place, app: id, isJSON: json).run()
      } else {
        let downloads = try await ServiceOperator.connect(place).downloads(id)
        if json {
          try Output.json(downloads)
        } else if downloads.isEmpty {
          Output.note(
            "no downloads are open; 'outrider runs' has what extensions asked for, 'outrider log' what happened to apps"
          )
        } else {
          DownloadText.table(downloads).print()
        }
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// Downloads, for people.
enum DownloadText {
  static func table(_ downloads: some Sequence<DownloadSummary>) -> FittedTable {
    var table = FittedTable([
      .text("APP", minimum: 8), .text("IDENTIFIER", minimum: 8), .fixed("STATE"), .fixed("CLASS"), .number("DONE"),
      .number("SIZE"), .number("RATE"), .text("WAITS FOR", minimum: 10),
    ])
    for download in downloads {
      table.add([
        download.app, download.identifier, download.state, download.class.rawValue, done(download),
        download.totalBytes.map(ServiceWords.size) ?? "?",
        download.bytesPerSecond.map { "\(ServiceWords.size(Int64(clamping: $0)))/s" } ?? "",
        ServiceWords.note(download),
      ])
    }
    return table
  }

  private static func done(_ download: DownloadSummary) -> String {
    percent(download).map { "\($0) %" } ?? ServiceWords.size(download.receivedBytes)
  }

  /// nil: the total isn't known.
  static func percent(_ download: DownloadSummary) -> Int? {
    guard let total = download.totalBytes else { return nil }
    return total > 0 ? ServiceWords.percent(Double(download.receivedBytes) / Double(total)) : 100
  }

  static func line(_ download: DownloadSummary) -> String {
    let progress = ServiceWords.progress(download.receivedBytes, of: download.totalBytes)
    let note = ServiceWords.note(download)
    return
      "\(Printable.text(download.app)) \(Printable.text(download.identifier)): \(Printable.text(download.state)), "
      + progress + (note.isEmpty ? "" : ", \(Printable.text(note, limit: 400))")
  }
}

extension Int64 {
  /// What a service calls a rate may be no number.
  init(clamping value: Double) { self = value.isFinite ? Int64(Swift.min(Swift.max(value, 0), 1e18)) : 0 }
}

// MARK: Actions

/// What `downloads pause`, `resume`, `cancel` and `promote` have in common.
struct DownloadTarget: ParsableArguments {
  @Argument(help: ArgumentHelp("The download.", valueName: "id")) var id: String
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func act(_ action: DownloadAction, done: String) async -> Never {
    do {
      let service = try await ServiceOperator.connect(try service.place())
      _ = try await service.ask(.act(action: action, download: id))
      if json {
        try Output.json(Done(download: id, action: action.rawValue))
      } else {
        Output.note("\(Printable.text(id)) \(done)")
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private struct Done: Encodable { var download: String, action: String }
}

struct PauseDownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Stops a download until it is resumed; nothing of it is lost.",
    discussion: """
      EXAMPLE
        outrider downloads pause talk-101
      """)
  @OptionGroup var target: DownloadTarget
  func run() async { await target.act(.pause, done: "is paused; outrider downloads resume goes on with it") }
}

struct ResumeDownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Goes on with a paused download.",
    discussion: """
      EXAMPLE
        outrider downloads resume talk-101
      """)
  @OptionGroup var target: DownloadTarget
  func run() async { await target.act(.resume, done: "goes on") }
}

struct CancelDownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "Gives a download up; its app is told that it was cancelled.",
    usage: "outrider downloads cancel [<options>] <id>",
    discussion: """
      EXAMPLES
        outrider downloads cancel talk-101
        outrider downloads cancel --fetch 7
      """)
  @OptionGroup var target: DownloadTarget
  @Flag(help: "One of `outrider fetch`, by its number; what is there of it is removed.") var fetch = false

  func run() async {
    if fetch { await FetchDownloads(state: target.service.state).cancel(target.id, isJSON: target.json) }
    await target.act(.cancel, done: "is cancelled")
  }
}

struct ForgetDownloadsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Removes finished, failed and cancelled downloads of fetch from its journal.",
    usage: "outrider downloads forget [<options>] [<id> ...]",
    discussion: """
      Files that are complete stay; what a failed download kept for the next one is removed.

      EXAMPLES
        outrider downloads forget --fetch 7 9
        outrider downloads forget --fetch --all
      """)

  @Argument(help: ArgumentHelp("Numbers of downloads.", valueName: "id")) var ids: [Int64] = []
  @Flag(help: "Those of `outrider fetch`; the service forgets its own by itself.") var fetch = false
  @Flag(help: "All that aren't open.") var all = false
  @Option(
    help: ArgumentHelp("The state folder that was given to fetch.", valueName: "dir"), completion: .directory)
  var state: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func validate() throws {
    if !fetch { throw ValidationError("Only downloads of `outrider fetch` are forgotten so; add --fetch.") }
    if ids.isEmpty != all { throw ValidationError("Name downloads by their numbers, or give --all.") }
    if state?.isEmpty == true { throw ValidationError("--state names no folder.") }
  }

  func run() async {
    do {
      try FetchDownloads(state: state).forget(all ? nil : ids.map { JobID($0) }, isJSON: json)
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

struct PromoteDownloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "promote", abstract: "Makes a background download a foreground one.",
    discussion: """
      EXAMPLE
        outrider downloads promote talk-101
      """)
  @OptionGroup var target: DownloadTarget
  func run() async { await target.act(.promote, done: "is in the foreground") }
}
