import AssetModel
import Basics
import Foundation
import Testing

@testable import Downloads
@testable import outrider

/// The inventory of a fetch, and what each renderer makes of it, without an engine and without a terminal.
@Suite(.timeLimit(.minutes(1))) struct FetchRenderingTests {
  private static let now = Date(timeIntervalSince1970: 1_000_000_000)
  private static let time = "2001-09-09T01:46:40Z"
  private static let progress = DownloadProgress(
    received: 50, durable: 20, total: 100, bytesPerSecond: 10, connections: 1)
  private static let failure = TransferFailure(.gone, status: 410, detail: "the server answered 410")
  private static let wait = Explanation(.retrying(lastError: "x", attempts: 0, limit: nil), endsIn: 5)

  /// Tells both an inventory and a renderer, and returns what there is to print.
  private struct Run<Renderer: FetchRenderer> {
    var inventory = FetchInventory()
    var renderer: Renderer
    var printed: [FetchOutput] = []

    mutating func tell(at now: Date = now, _ change: (inout FetchInventory) -> FetchNews?) {
      if let news = change(&inventory) { printed += renderer.show(news, inventory, at: now) }
    }
    mutating func tell(_ event: DownloadEvent, at now: Date = now) { tell(at: now) { $0.handle(event, at: now) } }
  }

  private static let events: [DownloadEvent] = [
    .started(JobID(1)), .progress(JobID(1), progress), .waiting(JobID(1), wait), .restarted(JobID(1), reason: "why"),
    .note(JobID(1), "a note"), .finished(JobID(1), DownloadedFile(path: "/d/a", size: 100)),
    .failed(JobID(2), failure), .paused(JobID(3)), .cancelled(JobID(3)),
  ]

  private static func run<Renderer: FetchRenderer>(_ renderer: Renderer) -> Run<Renderer> {
    var run = Run(renderer: renderer)
    for (id, name) in [(1, "a"), (2, "b"), (3, "c")] {
      run.tell { $0.add(JobID(Int64(id)), name, "https://h/\(name)?t=s") }
    }
    for event in events { run.tell(event) }
    return run
  }

  private struct Unmet: Error { var text: String }

  // MARK: The inventory

  @Test func countsWhatIsDone() {
    let inventory = Self.run(FetchJSON()).inventory
    #expect(inventory.items.map(\.outcome) == [.finished, .failed, .cancelled])
    #expect(inventory.done == 3 && inventory.bytes == 100 && inventory.active.isEmpty)
    #expect(inventory.jobs == [JobID(1), JobID(2), JobID(3)] && inventory.failures.keys.sorted() == [1])
    #expect(inventory.total == "3 of 3 files, 100 B, 0 B/s")
  }

  @Test func knowsHowMuchIsLeftWhenAllHaveSaidIt() {
    var inventory = FetchInventory()
    _ = inventory.add(JobID(1), "a", "https://h/a")
    _ = inventory.add(JobID(2), "b", "https://h/b")
    _ = inventory.handle(.progress(JobID(1), Self.progress), at: Self.now)
    #expect(inventory.total == "0 of 2 files, 50 B, 10 B/s")
    _ = inventory.handle(.progress(JobID(2), Self.progress), at: Self.now)
    #expect(inventory.total == "0 of 2 files, 100 B of 200 B, 20 B/s, 0:05 left")
  }

  @Test("what stops downloads is told once, however the free space changes") func stops() {
    func full(_ free: Int64, _ volume: String = "/v") -> Explanation {
      let shortage = SpaceShortage(directory: volume, device: 1, need: 9, free: free, floor: 1, purgeUntil: 10)
      return Explanation(.disk(shortage), endsIn: 5)
    }
    var inventory = FetchInventory()
    for id in 1...3 { _ = inventory.add(JobID(Int64(id)), "a", "https://h/a") }
    func isNews(_ id: Int64, _ explanation: Explanation) -> Bool {
      guard case .waits(_, _, let isNews)? = inventory.handle(.waiting(JobID(id), explanation), at: Self.now) else {
        return false
      }
      return isNews
    }
    #expect(isNews(1, full(1)) && !isNews(2, full(2)) && isNews(3, full(2, "/w")) && !isNews(1, full(3)))
    #expect(isNews(1, Self.wait) && isNews(1, Self.wait))
    #expect(inventory.active[JobID(1)]?.wait?.end == Self.now + 5 && inventory.active[JobID(2)]?.wait?.end == nil)
    #expect(inventory.waiting.count == 3)
  }

  /// Whatever comes in whatever order: what is counted is what is there.
  @Test(arguments: 1...4 as ClosedRange<UInt64>) func randomEvents(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      var inventory = FetchInventory()
      for id in 1...4 { _ = inventory.add(JobID(Int64(id)), "\(id)", "https://h/\(id)") }
      var ended: Set<JobID> = []
      for _ in 0..<30 {
        let id = JobID(Int64.random(in: 1...6, using: &random))
        let received = Int64.random(in: 0...1000, using: &random)
        let event: DownloadEvent =
          switch Int.random(in: 0...6, using: &random) {
          case 0: .started(id)
          case 1:
            .progress(
              id, DownloadProgress(received: received, durable: 0, total: nil, bytesPerSecond: 0, connections: 1))
          case 2: .waiting(id, Self.wait)
          case 3: .finished(id, DownloadedFile(path: "/d/a", size: received))
          case 4: .failed(id, Self.failure)
          case 5: .cancelled(id)
          default: .restarted(id, reason: "")
          }
        let news = inventory.handle(event, at: Self.now)
        switch event {
        case .finished, .failed, .cancelled:
          #expect((news != nil) == (id.number <= 4 && ended.insert(id).inserted), "an end is told once")
        default: break
        }
        #expect(inventory.bytes == inventory.items.reduce(0) { $0 + $1.bytes })
        #expect(inventory.done == inventory.items.count { $0.outcome != .open })
      }
    }
  }

  // MARK: Renderers

  @Test func logHasALineForEachEvent() {
    var run = Self.run(FetchLog(at: Self.now))
    #expect(
      run.printed == [
        .note("a (download 1) begins"), .note("a (download 1) waits for 5 s, then tries again: x"),
        .note("a (download 1) starts again: why"), .note("a note"), .result("/d/a"),
        .error("https://h/b?…: the server answered 410 (gone)"),
      ])
    #expect(run.renderer.end(run.inventory, status: 1, left: 0).isEmpty)
    run.tell { $0.add(JobID(9), "d\u{1b}", "https://h/d") }
    run.printed = []
    run.tell(.progress(JobID(9), Self.progress), at: Self.now + 29)
    #expect(run.printed.isEmpty)
    run.tell(.progress(JobID(9), Self.progress), at: Self.now + 30)
    run.tell(.progress(JobID(9), Self.progress), at: Self.now + 31)
    #expect(run.printed == [.note("3 of 4 files, 150 B of 200 B, 10 B/s, 0:05 left")], "one every 30 seconds")
    #expect(
      run.renderer.end(run.inventory, status: 75, left: 1) == [
        .note("1 of 4 downloads are left; the same command goes on where they are"), .note(#"  download 9: d\u{1b}"#),
      ])
  }

  @Test func manyAreNotNamed() {
    var run = Run(renderer: FetchLog(at: Self.now))
    for id in 1...21 { run.tell { $0.add(JobID(Int64(id)), "a", "https://h/a") } }
    for id in 1...21 { run.tell(.started(JobID(Int64(id)))) }
    #expect(run.printed.isEmpty)
    let end = run.renderer.end(run.inventory, status: 75, left: 21)
    #expect(end.count == 22 && end.last == .note("  and 1 others"))
  }

  @Test func terminalDrawsRowsAndKeepsResultsForTheEnd() throws {
    var run = Run(renderer: FetchTerminal { (80, 24) })
    run.tell { $0.complete(JobID(5), "e", "https://h/e", path: "/d/e", bytes: 1) }
    run.tell { $0.add(JobID(1), "a", "https://h/a") }
    run.tell(.started(JobID(1)))
    run.tell(.progress(JobID(1), Self.progress))
    for case .result in run.printed { Issue.record("a result in the midst of rows") }
    guard case .draw(let text)? = run.printed.last else { throw Unmet(text: "\(run.printed)") }
    #expect(text.contains("50 %") && text.contains("1 of 2 files"))
    run.printed = []
    run.tell(.failed(JobID(1), Self.failure))
    guard case .draw(let erased) = run.printed[0], case .error = run.printed[1], case .draw = run.printed[2] else {
      throw Unmet(text: "\(run.printed)")
    }
    #expect(!erased.contains("%"), "rows are removed before a line is written")
    let end = run.renderer.end(run.inventory, status: 1, left: 0)
    #expect(end.last == .result("/d/e"))
    #expect(
      run.renderer.redraw(run.inventory).isEmpty && run.renderer.leave().isEmpty, "nothing is drawn after the end")
  }

  @Test func terminalRowsFitWhateverItsSize() {
    var inventory = FetchInventory()
    for id in 1...30 {
      _ = inventory.add(JobID(Int64(id)), String(repeating: "n", count: id * 3), "https://h/a")
      _ = inventory.handle(.progress(JobID(Int64(id)), Self.progress), at: Self.now)
    }
    for (columns, height) in [(80, 24), (20, 10), (10, 3), (200, 100), (12, 1)] {
      let rows = FetchTerminal.rows(inventory, columns: columns, height: height)
      #expect(
        rows.count <= max(1, height - 1) && rows.allSatisfy { FetchRow.width($0) < columns }, "\(columns)×\(height)")
    }
  }

  @Test func jsonHasAnObjectForEachEvent() throws {
    var run = Self.run(FetchJSON())
    let lines = run.printed.compactMap { if case .object(let line) = $0 { line } else { nil } }
    #expect(
      lines.map(\.event) == [
        "added", "added", "added", "started", "progress", "waiting", "restarted", "note", "finished", "failed",
        "paused",
        "cancelled",
      ])
    #expect(lines.allSatisfy { $0.time == Self.time && $0.downloads == nil && $0.status == nil })
    let moved = lines[4]
    #expect(moved.id == 1 && moved.bytes == 50 && moved.durableBytes == 20 && moved.totalBytes == 100)
    #expect(lines[5].until == "2001-09-09T01:46:45Z" && lines[5].reason == "retrying")
    #expect(lines[8].path == "/d/a" && lines[8].bytes == 100 && lines[8].unchanged == nil && lines[8].name == "a")
    #expect(lines[9].reason == "gone" && lines[9].url == "https://h/b?t=s", "the URL is the one that was asked for")
    let end = run.renderer.end(run.inventory, status: 1, left: 0)
    guard end.count == 1, case .object(let last) = end[0] else { throw Unmet(text: "\(end)") }
    #expect(last.event == "end" && last.status == 1)
    #expect(last.downloads?.map(\.state) == ["finished", "failed", "cancelled"])
    // One line each.
    for line in lines + [last] {
      let text = String(decoding: try JSONEncoder().encode(line), as: UTF8.self)
      #expect(!text.contains("\n"))
    }
  }

  @Test func whatIsUnchangedIsSaid() {
    var run = Run(renderer: FetchJSON())
    run.tell { $0.add(JobID(1), "a", "https://h/a") }
    run.tell(.finished(JobID(1), DownloadedFile(path: "/d/a", size: 9, isUnchanged: true)))
    run.tell { $0.complete(nil, "b", "https://h/b", path: "/d/b", bytes: 1) }
    let lines = run.printed.compactMap { if case .object(let line) = $0 { line } else { nil } }
    #expect(lines.map(\.unchanged) == [nil, true, true])
  }

  @Test func headsAreMarked() {
    let head = TracedHead(direction: .sent, url: "https://h/a", lines: ["GET /a HTTP/1.1", "Host: h"])
    #expect(FetchText.head(head) == ["* https://h/a", "> GET /a HTTP/1.1", "> Host: h"])
    let answer = TracedHead(direction: .received, url: "https://h/a", lines: ["HTTP/1.1 200 OK"])
    #expect(FetchText.head(answer).last == "< HTTP/1.1 200 OK")
  }
}
