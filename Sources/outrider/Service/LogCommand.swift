internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import Glibc
internal import ServiceProtocol
internal import Synchronization

struct LogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Prints what happened to apps: installations, wakes and their ends, refusals.",
    usage: "outrider log [<options>] [<id>]",
    discussion: """
      With --follow it goes on until it is interrupted, also while the service is started anew. With --json, --follow \
      prints one object a line.

      EXAMPLES
        outrider log
        outrider log com.example.sessions --follow
        outrider log --limit 1000 --json

      EXIT STATUS
        66   no such app is installed, and nothing is kept of one
      """)

  @Argument(help: ArgumentHelp("An app's identifier; otherwise all of it.", valueName: "id"), completion: .apps)
  var id: String?
  @OptionGroup var service: ServiceOptions
  @Option(help: "The newest so many lines.") var limit = 100
  @Flag(help: "Go on, and print what happens.") var follow = false
  @Flag(help: "Print a JSON array on standard output.") var json = false

  func validate() throws {
    guard (0...100_000).contains(limit) else { throw ValidationError("--limit \(limit): give 0 to 100000.") }
  }

  func run() async {
    do {
      let place = try service.place()
      if follow {
        try await printAll(place)
      } else {
        let service = try await ServiceOperator.connect(place)
        let lines = try await service.log(id, limit: limit)
        try await service.expect(id, toHave: lines)
        if json { try Output.json(lines) } else { for line in lines { Output.line(LogText.line(line)) } }
        if lines.isEmpty, !json {
          Output.note("nothing has happened yet\(id.map { " to \(Printable.text($0))" } ?? "")")
        }
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private func printAll(_ place: ServicePlace) async throws {
    Interrupts.onInterrupt {}
    var tail = LogTail()
    let feed = ServiceFeed(place: place, app: id, questions: [.log(app: id, limit: max(limit, LogTail.overlap))])
    for await item in feed.items() {
      switch item {
      case .snapshot(let replies):
        guard case .log(let lines)? = replies.first else {
          throw replies.first.map(ServiceOperator.unexpected) ?? ServiceOperator.noAnswer
        }
        for line in tail.news(in: lines, first: limit) { try tell(line) }
      case .change(.line(let line)):
        tail.add(line)
        try tell(line)
      case .change: break
      case .lost: Output.note("the service has gone away; this goes on when it is back")
      case .failed(let error): throw error
      }
      if Output.failure.withLock({ $0 }) != nil { return }
    }
  }

  private func tell(_ line: LogLine) throws {
    if json { try Output.jsonLine(line) } else { Output.line(LogText.line(line)) }
  }
}

/// Which lines of a log were printed already, when it is read again after the service was started anew.
struct LogTail: Sendable {
  static let overlap = 100
  private var last: LogLine?
  private var hasBegun = false

  /// `first`: of the first reading, the newest so many.
  mutating func news(in lines: [LogLine], first: Int) -> ArraySlice<LogLine> {
    defer {
      last = lines.last ?? last
      hasBegun = true
    }
    guard hasBegun else { return lines.suffix(first) }
    guard let last, let place = lines.lastIndex(of: last) else { return lines[...] }
    return lines[(place + 1)...]
  }

  mutating func add(_ line: LogLine) { last = line }
}

enum LogText {
  static func line(_ line: LogLine) -> String {
    let app = line.app.map { " \(Printable.text($0))" } ?? ""
    let detail = line.detail.isEmpty ? "" : ": \(Printable.text(line.detail, limit: 1000))"
    return
      "\(Printable.text(line.at, limit: 40)) \(Printable.text(line.level, limit: 10))\(app) "
      + "\(Printable.text(line.event, limit: 100))\(detail)"
  }
}
