internal import AssetModel
internal import Downloads
internal import Foundation
internal import LinuxSystem

/// What one fetch is about: every file, and how far it is. A value without a clock and without output; what happens is told
/// to it, and it says what of that is news.
struct FetchInventory {
  enum Outcome: String { case open, finished, failed, cancelled }

  /// What is kept of each of perhaps very many.
  struct Item {
    /// nil: it never became a download.
    var id: JobID?
    var name: String
    var url: String
    var outcome = Outcome.open
    var bytes: Int64 = 0
    /// Where the file is; kept only where it is shown at the end.
    var path: String?
    var isUnchanged = false
  }

  /// What is kept besides, of those that move or wait.
  struct Activity {
    var progress: DownloadProgress?
    var note: String?
    var wait: Wait?
    /// Asked for, though nothing has come yet.
    var isUnderWay = false
  }

  struct Wait {
    var explanation: Explanation
    var end: Date?
  }

  private let advice: FetchAdvice
  /// Of very many, a line for each that ends is enough.
  private let keepsPaths: Bool
  private(set) var items: [Item] = []
  private(set) var active: [JobID: Activity] = [:]
  /// By the place of their item.
  private(set) var failures: [Int: TransferFailure] = [:]
  private(set) var done = 0
  /// Of all items.
  private(set) var bytes: Int64 = 0
  private var places: [JobID: Int32] = [:]
  /// What stops downloads, as it was told.
  private var told: Set<FetchStop> = []
  private var begun: Set<JobID> = []

  init(advice: FetchAdvice = FetchAdvice(), keepsPaths: Bool = true) {
    self.advice = advice
    self.keepsPaths = keepsPaths
  }

  subscript(id: JobID) -> Item? { places[id].map { items[Int($0)] } }

  func place(of id: JobID) -> Int? { places[id].map { Int($0) } }

  // MARK: What it is about

  /// `id`: nil for one that nothing was done about, because the command was interrupted before.
  mutating func add(_ id: JobID?, _ name: String, _ url: String) -> FetchNews {
    append(Item(id: id, name: name, url: url))
    return .listed(items.count - 1)
  }

  /// One that fails before it begins.
  mutating func refuse(_ name: String, _ url: String, _ failure: TransferFailure) -> FetchNews {
    failures[items.count] = failure
    append(Item(name: name, url: url, outcome: .failed))
    return .failed(items.count - 1, failure)
  }

  /// `id`: the download that brought it; nil: something else did.
  mutating func complete(_ id: JobID?, _ name: String, _ url: String, path: String, bytes: Int64) -> FetchNews {
    append(
      Item(
        id: id, name: name, url: url, outcome: .finished, bytes: bytes, path: keepsPaths ? path : nil, isUnchanged: true
      ))
    return .finished(items.count - 1, path: path)
  }

  private mutating func append(_ item: Item) {
    if let id = item.id { places[id] = Int32(items.count) }
    items.append(item)
    bytes += item.bytes
    if item.outcome != .open { done += 1 }
  }

  // MARK: What happens

  mutating func handle(_ event: DownloadEvent, at now: Date) -> FetchNews? {
    switch event {
    case .started(let id):
      active[id, default: Activity()].isUnderWay = true
      active[id]?.note = nil
      return .began(id, isFirst: begun.insert(id).inserted)
    case .progress(let id, let progress):
      guard let place = place(of: id) else { return nil }
      set(progress.received, place)
      active[id] = Activity(progress: progress)
      return .moved(id)
    case .restarted(let id, let reason): return .restarted(id, reason)
    case .waiting(let id, let explanation): return waits(id, explanation, now)
    case .finished(let id, let file): return end(id, .finished, file)
    case .failed(let id, var failure):
      failure.detail = advice.detail(of: failure)
      guard end(id, .failed) != nil, let place = place(of: id) else { return nil }
      failures[place] = failure
      return .failed(place, failure)
    case .paused(let id):
      active[id, default: Activity()].note = "paused"
      return .paused(id)
    case .cancelled(let id): return end(id, .cancelled)
    case .note(let id, let text): return .note(id, text)
    case .volume(let report): return Self.text(report).map { .note(nil, $0) }
    }
  }

  /// What stops it ends when there is room, not at a time. It is looked at again while others move, and may stop all
  /// of them: the same is told once, however the free space changes meanwhile.
  private mutating func waits(_ id: JobID, _ explanation: Explanation, _ now: Date) -> FetchNews {
    let stop = FetchStop(explanation)
    let before = active[id]?.wait?.explanation.code
    let end = stop == nil ? explanation.endsIn.map { now + $0 } : nil
    let isNews = stop.map { before != explanation.code && told.insert($0).inserted } ?? true
    active[id, default: Activity()].wait = Wait(explanation: explanation, end: end)
    active[id]?.note = FetchWords.wait(explanation)
    return .waits(id, explanation, isNews: isNews)
  }

  private static func text(_ report: VolumeReport) -> String? {
    switch report {
    case .low(let directory, let free):
      "\(Printable.text(directory)): only \(FetchWords.size(free)) are free on its volume"
    case .failing(let directory, let code):
      "\(Printable.text(directory)): its volume fails: \(SystemCallError.message(code))"
    case .short, .plenty: nil
    }
  }

  private mutating func end(_ id: JobID, _ outcome: Outcome, _ file: DownloadedFile? = nil) -> FetchNews? {
    guard let place = place(of: id), items[place].outcome == .open else { return nil }
    active[id] = nil
    done += 1
    items[place].outcome = outcome
    guard let file else { return .cancelled(id) }
    if keepsPaths { items[place].path = file.path }
    items[place].isUnchanged = file.isUnchanged
    set(file.size, place)
    return .finished(place, path: file.path)
  }

  private mutating func set(_ count: Int64, _ place: Int) {
    bytes += count - items[place].bytes
    items[place].bytes = count
  }

  // MARK: All of it

  /// One line for all.
  var total: String {
    let rate = active.values.reduce(0) { $0 + ($1.progress?.bytesPerSecond ?? 0) }
    let start = "\(done) of \(items.count) files, \(FetchWords.size(bytes))"
    let speed = "\(FetchWords.size(Int64(rate)))/s"
    guard let remaining else { return "\(start), \(speed)" }
    let left = FetchWords.timeLeft(remaining, at: rate).map { ", \($0)" } ?? ""
    return "\(start) of \(FetchWords.size(bytes + remaining)), \(speed)\(left)"
  }

  /// Bytes that are still to come, once all that aren't done have said how many they are.
  private var remaining: Int64? {
    let totals = active.values.compactMap { active in
      active.progress.flatMap { progress in progress.total.map { $0 - progress.received } }
    }
    return !totals.isEmpty && done + totals.count == items.count ? totals.reduce(0, +) : nil
  }

  var jobs: [JobID] { items.compactMap(\.id) }

  /// Those that don't move, with why.
  var waiting: [(JobID, Explanation)] {
    active.compactMap { id, active in active.wait.map { (id, $0.explanation) } }
  }

  static func left(_ left: Int, of all: Int) -> String {
    "\(left) of \(all) downloads are left; the same command goes on where they are"
  }
}

/// What a fetch has to tell. Files are named by their place in the inventory, downloads by their number.
enum FetchNews: Equatable {
  case listed(Int)
  case began(JobID, isFirst: Bool)
  case moved(JobID)
  case restarted(JobID, String)
  /// `isNews`: the same wasn't told before.
  case waits(JobID, Explanation, isNews: Bool)
  case finished(Int, path: String)
  case failed(Int, TransferFailure)
  case paused(JobID)
  case cancelled(JobID)
  case note(JobID?, String)
  case head(TracedHead)
}
