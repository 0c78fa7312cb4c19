internal import ArgumentParser
internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import LinuxSystem

struct ExplainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Says what an app or a download waits for, since when, and what ends that.",
    discussion: """
      ID is an app's identifier, which also tells of its last wake that was refused, or a download's: the service is \
      asked. A number is a download of `outrider fetch`: its journal is read, also while a fetch runs. --state names \
      the folder of the service, or of fetch, where they were given one.

      EXAMPLES
        outrider explain com.example.sessions
        outrider explain talk-101 --json
        outrider explain 7
      """)

  @Argument(
    help: ArgumentHelp("An app, one of its downloads, or the number of a fetch.", valueName: "id"), completion: .apps)
  var id: String
  @Option(
    help: ArgumentHelp("The state folder that was given to the service or to fetch.", valueName: "dir"),
    completion: .directory)
  var state: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  private struct Report: Encodable {
    var id: Int64
    var url: String
    var code: String
    var data: [String: String]
    var sinceSeconds: Double?
    var endsInSeconds: Double?
    var remedy: String
    var durableBytes: Int64
    var attempts: [Line]
    /// The process that has the downloads in hand.
    var holder: Int32?

    struct Line: Encodable {
      var at: String
      var seconds: Double
      var bytes: Int64
      var status: Int?
      var outcome: String
    }
  }

  private static func line(_ attempt: Attempt) -> Report.Line {
    let moment = Date(timeIntervalSince1970: Double(attempt.wall) / 1e9)
    return Report.Line(
      at: moment.formatted(.iso8601), seconds: Double(attempt.duration) / 1e9, bytes: attempt.bytes,
      status: attempt.status, outcome: Printable.text(attempt.outcome))
  }

  func validate() throws {
    if state?.isEmpty == true { throw ValidationError("--state names no folder.") }
    if id.isEmpty { throw ValidationError("An empty text names nothing.") }
  }

  /// The journal shows that a download progresses only once some of it is on the disk.
  static func inHand(_ job: JobRecord, of holder: StoreHolder, _ explanation: Explanation) -> Explanation {
    if job.lastProgress.wall > max(holder.since, job.enqueued.wall) {
      return Explanation(
        .transferring, data: ["lastError": job.lastError].compactMapValues { $0.map { Printable.text($0) } },
        remedy: "it moves")
    }
    var explanation = explanation
    explanation.remedy =
      "process \(holder.pid) has it in hand, if it was asked for it; otherwise the same fetch, run when that has ended"
    return explanation
  }

  /// Its server asked to be left alone, perhaps at another download.
  private static func resting(_ job: JobRecord, _ store: AssetStore) throws -> Explanation? {
    guard let origin = try? ParsedURL(job.specification.url).origin else { return nil }
    let now = SystemClock().now
    guard let record = try store.origins().first(where: { $0.origin == origin }), let wait = record.retryAfter,
      wait.remaining(at: now) > 0
    else { return nil }
    return Explanation(
      .retryAfter, data: ["origin": origin, "value": Printable.text(record.retryAfterValue ?? "", limit: 40)],
      since: Double(wait.since.elapsed(until: now)) / 1e9, endsIn: Double(wait.remaining(at: now)) / 1e9,
      remedy: "the time that the server asked for (a day at most), then the same fetch")
  }

  func run() async {
    do {
      // More digits than any number has are no app either, and no reason to start the service.
      if id.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) {
        guard let number = Int64(id) else { throw Failure(66, "there is no download \(id): no number is as high") }
        try explainFetch(number)
      } else {
        // No service is started in a folder that isn't one's.
        if let state, AssetStore.exists(in: state) {
          throw Failure(
            66, "there is no download \(Printable.text(id)) in \(state), which fetch keeps: its downloads have numbers")
        }
        try await ServiceExplanation.print(id, try ServicePlace(state: state), isJSON: json)
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private func explainFetch(_ id: Int64) throws {
    let directory = try FetchDownloads(state: state).existingDirectory()
    var options = AssetStore.Options()
    options.isReadOnly = true
    let store = try FetchState.journal(in: directory, options)
    guard let job = try store.job(JobID(id)) else { throw Failure(66, "there is no download \(id) in \(directory)") }
    let attempts = try store.history.attempts(of: job.id)
    let holder = job.state.isTerminal ? nil : AssetStore.holder(of: directory)
    var explanation = Explanation(of: job, now: SystemClock().now)
    if explanation.code == .queued, holder == nil {
      let event = try store.history.lastEvent(of: job.id)
      explanation = FetchHold.explanation(event, of: job, lastAttempt: attempts.last) ?? explanation
    } else if explanation.code == .queued, let holder {
      explanation = Self.inHand(job, of: holder, explanation)
    }
    if explanation.code == .queued, let resting = try Self.resting(job, store) { explanation = resting }
    if case .failed(let failure) = job.state { explanation.data["detail"] = FetchAdvice().detail(of: failure) }
    let report = Report(
      id: id, url: job.specification.url, code: explanation.code.rawValue, data: explanation.data,
      sinceSeconds: explanation.since, endsInSeconds: explanation.endsIn,
      remedy: explanation.remedy, durableBytes: job.durableBytes,
      attempts: attempts.map(Self.line), holder: holder?.pid)
    if json {
      try Output.json(report)
    } else {
      Output.line("\(report.code)  \(Printable.text(report.url))")
      for (key, value) in report.data.sorted(by: { $0.key < $1.key }) {
        let size = explanation.code == .disk ? Int64(value).map { FetchWords.size($0) } : nil
        Output.line("  \(key): \(size ?? Printable.text(value))")
      }
      if let seconds = report.sinceSeconds { Output.line(String(format: "  for %.0f s", seconds)) }
      if let seconds = report.endsInSeconds { Output.line(String(format: "  ends in %.0f s", seconds)) }
      Output.line("  durable: \(report.durableBytes) bytes")
      for attempt in report.attempts {
        let seconds = String(format: "%.1f", attempt.seconds)
        Output.line("  tried \(attempt.at) for \(seconds) s, \(attempt.bytes) bytes: \(attempt.outcome)")
      }
      if let holder = report.holder { Output.line("  process \(holder) has it in hand") }
      Output.line("  what ends it: \(report.remedy)")
    }
  }
}
