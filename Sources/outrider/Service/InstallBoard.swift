internal import AssetModel
internal import Foundation
internal import ServiceProtocol

/// An app on its way to its first launch, or through an update: what there is to say of it.
struct InstallBoard: Sendable {
  private(set) var app: AppSummary
  private var downloads: [String: DownloadSummary] = [:]
  private(set) var isRemoved = false
  private var toldTenth = 0
  private var toldReason: String?

  init(_ app: AppSummary) { self.app = app }

  mutating func replace(_ app: AppSummary?, _ downloads: [DownloadSummary]) {
    self.downloads = [:]
    for download in downloads { change(download) }
    if let app { self.app = app } else { isRemoved = true }
  }

  mutating func change(_ event: WatchEvent) {
    switch event {
    case .app(let app) where app.identifier == self.app.identifier: self.app = app
    case .appRemoved(let identifier) where identifier == app.identifier: isRemoved = true
    case .download(let download) where download.app == app.identifier: change(download)
    default: break
    }
  }

  private mutating func change(_ download: DownloadSummary) {
    // Others don't keep the gate closed.
    guard download.isEssential || download.isManifest else { return }
    downloads[download.uniqueIdentifier] = download
  }

  /// Whether the app may be launched.
  var isOpen: Bool {
    !app.gate.isClosed && app.state != .installing && app.state != .updating && app.state != .removing
  }

  /// What it waits for, and why that takes its time.
  var reason: String {
    if app.isPaused { return "paused; outrider installation resume \(app.identifier) goes on" }
    let stopped = downloads.values.filter { $0.waiting != nil }.min { $0.identifier < $1.identifier }
    guard let stopped, let waiting = stopped.waiting else { return app.gate.reason }
    return "\(app.gate.reason): \(stopped.identifier) waits for \(ServiceWords.waiting(waiting))"
  }

  private var name: String { app.name.isEmpty ? app.identifier : app.name }

  // MARK: The terminal

  private static let shortestBar = 6
  private static let longestBar = 40

  /// One row of `columns` cells at most.
  func row(columns: Int) -> String {
    let name = Printable.text(name)
    let nameWidth = min(FetchRow.width(name), max(8, columns / 4))
    let percent = String(format: "%3d %%", ServiceWords.percent(app.progress.fraction))
    let bytes = ServiceWords.progress(app.progress.receivedBytes, of: app.progress.expectedBytes)
    let start = FetchRow.padded(FetchRow.fit(name, nameWidth), nameWidth + 1)
    let end = "  \(Printable.text(reason, limit: 400))"
    // Without sizes, then without the bar, where the terminal is narrow; the reason has what is left.
    for (figures, wanted) in [("\(percent)  \(bytes)", 16), (percent, 12), (percent, 0)] {
      let room = columns - nameWidth - 2 - FetchRow.width(figures) - wanted
      if room >= Self.shortestBar {
        let bar = FetchRow.bar(app.progress.fraction.isFinite ? app.progress.fraction : nil, min(room, Self.longestBar))
        return FetchRow.fit("\(start)\(bar) \(figures)\(end)", columns)
      }
    }
    return FetchRow.fit("\(start)\(percent)\(end)", columns)
  }

  // MARK: Plain lines

  /// The next line where no terminal shows a bar: each tenth, and each new reason.
  mutating func line() -> String? {
    let tenth = ServiceWords.percent(app.progress.fraction) / 10
    let why = reason
    guard tenth > toldTenth || why != toldReason, !isOpen else { return nil }
    toldTenth = max(tenth, toldTenth)
    toldReason = why
    let bytes = ServiceWords.progress(app.progress.receivedBytes, of: app.progress.expectedBytes)
    return
      "\(Printable.text(name)): \(ServiceWords.percent(app.progress.fraction)) %, \(bytes), "
      + Printable.text(why, limit: 400)
  }

  /// The last line.
  var end: String { "\(Printable.text(name)) may be launched: \(Printable.text(app.gate.reason, limit: 400))" }
}
