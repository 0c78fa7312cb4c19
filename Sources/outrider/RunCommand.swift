internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import Sandbox

enum RequestName: String, ExpressibleByArgument, CaseIterable {
  case install, update, periodic
  case languageChange = "language-change"

  var kind: ContentRequestKind {
    switch self {
    case .install: .install
    case .update: .update
    case .periodic: .periodic
    case .languageChange: .languageChange
    }
  }
}

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Wakes an extension: hands it a content request and shows the downloads that it asks for.",
    usage: "outrider run [<options>] <extension> --request <name> --manifest <file>",
    discussion: """
      EXTENSION is a .so or an .appex folder. This plays the service's part, for one wake by hand: exclusive control \
      is granted, what the extension schedules is listed. The downloads that it answers are current until --finished or \
      --failed names them, which take no others; nothing is transferred. The first 64 that are rejected are then handed \
      to its function for failed downloads, with the BAErrorDomain code, if it has one. Last it is told that it is about \
      to end, if it has a function for that.

      EXAMPLES
        outrider run Talks.appex --request install --manifest sessions.json
        outrider run c.so --request periodic --manifest m.json --container g --json
        outrider run c.so --request install --manifest <(curl -s https://a.example)
        outrider run c.so --request install --manifest m.json --finished t1=t1.mp4
        outrider run c.so --request install --manifest m.json --trace
      """)

  @OptionGroup var sandbox: SandboxOptions
  @OptionGroup var tracing: TraceOptions
  @OptionGroup var development: DevelopmentOptions
  @Argument(help: "A .so or an .appex folder.", completion: .file()) var `extension`: String
  @Option(help: "install, update, periodic or language-change.") var request: RequestName
  @Option(help: "Any file or pipe of at most 64 MiB; its content is the extension's affair.", completion: .file())
  var manifest: String
  @Option(help: "ID=FILE: then hand this file over as the finished download ID, one that was asked for.") var finished:
    [String] = []
  @Option(
    help: "ID=CODE: then report that the download ID failed with this NSURLErrorDomain code, which isn't 0.")
  var failed: [String] = []

  @Flag(help: "Show what the extension logs without 'privacy: .public', or as private.") var showPrivate = false

  func run() async {
    do {
      let policy = try development.policy(sandbox, `extension`, isTraced: tracing.trace)
      let prepared = try prepare(policy)
      let printer = try tracing.printer(policy)
      let host = try sandbox.makeHost {
        prepared.manifest.remove()
        Interrupts.sayInterrupted()
      }
      defer { printer?.end() }
      let (report, verdict, failure) = try await Interrupts.cancelling {
        try await wake(host, policy, prepared, printer?.trace)
      }
      let places = await StackPlaces(report, host)
      host.stop()
      printer?.end()
      prepared.manifest.remove()
      Interrupts.yieldToHandler { Output.report(report, places, policy, sandbox) }
      if sandbox.json {
        try JSONReport(report, places, policy: policy, options: sandbox, verdict: verdict).print()
      } else {
        Output.downloads(verdict)
        for download in report.scheduled { Output.line("scheduled \(Printable.text(download.identifier, limit: 60))") }
      }
      if !sandbox.json || report.outcome.kind != .returned { Output.report(report, places, policy, sandbox) }
      // What the extension has answered until then isn't lost with it.
      if let failure { Exit.with(failure) }
      printer?.leaveIfLost(report.outcome.kind.exitStatus)
      Exit.leave(report.outcome.kind.exitStatus)
    } catch {
      Exit.with(error)
    }
  }

  /// What the command line names, opened before a plugin could change what its name leads to.
  struct Prepared {
    let manifest: ManifestFile
    let finished: [(String, FinishedFile)]
    let failed: [(String, Int64)]
  }

  func prepare(_ policy: Policy) throws -> Prepared {
    let finished = try self.finished.map { try Self.pair($0, "--finished ID=FILE") }
    let failed = try self.failed.map { text in
      let (identifier, code) = try Self.pair(text, "--failed ID=CODE")
      guard let number = Int64(code) else { throw Failure(64, "--failed '\(text)': the code isn't a number") }
      guard number != 0 else {
        throw Failure(64, "--failed '\(text)': 0 is no failure; give a code of NSURLErrorDomain, for example -1001")
      }
      return (identifier, number)
    }
    for (identifier, _) in failed where finished.contains(where: { $0.0.utf8.elementsEqual(identifier.utf8) }) {
      throw Failure(
        64,
        "--finished and --failed contradict each other for \(Printable.text(identifier, limit: 60)); leave one out")
    }
    let files = try finished.map { identifier, file in
      (identifier, try FinishedFile(opening: file, policy: policy, container: sandbox.container))
    }
    return Prepared(
      manifest: try ManifestFile(
        manifest, container: sandbox.container, writable: try PatternExpansion.resolved(policy).write), finished: files,
      failed: failed)
  }

  /// The last is what kept the host from going on, where that wasn't the end of the run.
  func wake(
    _ host: PluginHost, _ policy: Policy, _ prepared: Prepared, _ trace: SystemCallTrace? = nil
  ) async throws -> (RunReport, DownloadRules.Verdict, HostError?) {
    var options = PluginHost.LoadOptions()
    options.trace = trace
    sandbox.warnOfContainer()
    options.container = sandbox.container
    development.prepare(&options, `extension`)
    options.manifest = prepared.manifest.path
    options.isExtension = true
    options.showsPrivate = showPrivate
    let (finished, failed) = (prepared.finished, prepared.failed)
    let plugin: Plugin
    do {
      plugin = try await host.load(`extension`, policy: policy, options: options)
    } catch {
      guard let report = error.report else { throw error }
      return (report, DownloadRules.Verdict(), nil)
    }
    var verdict = DownloadRules.Verdict()
    var failure: HostError?
    do throws(HostError) {
      verdict = try await plugin.contentRequest(request.kind)
      plugin.adopt(verdict.accepted)
      try await reportRejected(verdict, to: plugin)
      let asked = AnsweredDownloads(verdict, scheduled: await plugin.scheduledDownloads())
      try asked.check(finished.map(\.0), of: "--finished")
      try asked.check(failed.map(\.0), of: "--failed")
      for (identifier, file) in finished {
        plugin.finish(identifier)
        try await plugin.downloadFinished(Self.download(identifier, asked, state: 3), file: file)
      }
      for (identifier, code) in failed {
        plugin.finish(identifier)
        try await plugin.downloadFailed(
          Self.download(identifier, asked, state: -1),
          error: ErrorDescription(
            domain: "NSURLErrorDomain", code: code, description: "the download failed with \(code)"))
      }
      if Self.has("will_terminate", plugin) { try await plugin.willTerminate() }
    } catch {
      failure = error
    }
    var report = await plugin.end()
    if case .entryPointMissing(let detail) = failure {
      report.outcome = Outcome(.entryPointMissing, detail)
      failure = nil
    }
    return (report, verdict, failure?.report == nil ? failure : nil)
  }

  /// Tells the extension that what it asked for won't come: nothing else does.
  private func reportRejected(_ verdict: DownloadRules.Verdict, to plugin: Plugin) async throws(HostError) {
    guard Self.has("download_failed", plugin) else { return }
    for (rejected, download) in zip(verdict.rejected, verdict.rejectedDownloads).prefix(Self.maxRejectedReported) {
      var download = download
      download.state = -1
      try await plugin.downloadFailed(
        download,
        error: ErrorDescription(domain: "BAErrorDomain", code: Int64(rejected.code), description: rejected.reason))
    }
  }

  private static func has(_ entryPoint: String, _ plugin: Plugin) -> Bool {
    plugin.image.entryPoints.contains { $0.name == entryPoint }
  }

  /// An extension whose answer is wrong throughout is told so often enough.
  private static let maxRejectedReported = 64

  private static func pair(_ text: String, _ form: String) throws -> (String, String) {
    guard let equals = text.lastIndex(of: "="), equals != text.startIndex, text.index(after: equals) != text.endIndex
    else {
      throw Failure(64, "'\(text)' isn't \(form)")
    }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }

  /// The download as the extension asked for it.
  private static func download(_ identifier: String, _ asked: AnsweredDownloads, state: Int32) -> Download {
    var download =
      asked[identifier]
      ?? Download(
        identifier: identifier, url: "https://localhost/\(identifier)", applicationGroupIdentifier: "", fileSize: nil)
    download.state = state
    if download.uniqueIdentifier.isEmpty { download.uniqueIdentifier = UniqueIdentifier.random() }
    return download
  }
}
