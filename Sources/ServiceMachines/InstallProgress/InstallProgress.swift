internal import AssetModel

/// Base app, installation and essential downloads as one fraction that never runs backwards (B53).
package struct InstallProgress: Sendable, Equatable, Codable {
  package enum Event: Sendable, Equatable, Codable {
    /// A new installation or update. `estimate`: `BAEssentialDownloadAllowance`, until the sizes are known.
    case began(estimate: Int64)
    /// Reading and unpacking the bundle, 0…1.
    case base(Double)
    case manifest(received: Int64, total: Int64?)
    /// The extension has answered: these are the essential downloads.
    case planned([PlannedDownload])
    /// Bytes of a download that are there, and that there will be where that is known.
    case received(uniqueIdentifier: String, bytes: Int64, total: Int64?)
    case settled(uniqueIdentifier: String)
    case paused
    case resumed
    /// The gate is open.
    case completed
  }

  package enum Effect: Sendable, Equatable, Codable { case report(Report) }

  package struct Report: Sendable, Equatable, Codable {
    /// 0…1; never less than the one before.
    package var fraction = 0.0
    package var base = 0.0
    package var install = 0.0
    package var essential = 0.0
    package var receivedBytes: Int64 = 0
    package var expectedBytes: Int64 = 0
    package var isPaused = false
  }

  /// The parts of the whole. Unpacking and asking take their time, whatever there is to download.
  static let baseWeight = 0.15
  static let installWeight = 0.05

  struct Part: Sendable, Equatable, Codable {
    var received: Int64 = 0
    var expected: Int64
  }

  package private(set) var report = Report()
  /// Essential downloads by unique identifier.
  private var parts: [String: Part] = [:]
  /// Of all of `parts`, kept as they change.
  private var received: Int64 = 0
  private var expected: Int64 = 0
  private var isPlanned = false
  private var isComplete = true

  package init() {}

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    let old = report
    switch event {
    case .began(let estimate): begin(Self.size(estimate))
    case .base(let share): report.base = max(report.base, Self.share(share))
    case .manifest(let received, let total):
      // Half of it is the manifest, the other half the extension's answer.
      report.base = 1
      let share = total.map { $0 > 0 ? Double(max(0, received)) / Double($0) : 0 } ?? 0
      report.install = max(report.install, Self.share(share) / 2)
    case .planned(let downloads): plan(downloads)
    case .received(let unique, let bytes, let total): receive(unique, bytes, total)
    case .settled(let unique):
      if let part = parts[unique] { set(unique, Part(received: part.expected, expected: part.expected)) }
    case .paused: report.isPaused = true
    case .resumed: report.isPaused = false
    case .completed: complete()
    }
    updateFraction()
    return report == old ? [] : [.report(report)]
  }

  private mutating func begin(_ estimate: Int64) {
    // One that is superseded goes on where it was.
    let floor = isComplete ? 0 : report.fraction
    self = InstallProgress()
    isComplete = false
    expected = estimate
    report.fraction = floor
    report.expectedBytes = estimate
  }

  /// The estimate gives way to the sum of the sizes (B53).
  private mutating func plan(_ downloads: [PlannedDownload]) {
    guard !isComplete else { return }
    report.base = 1
    report.install = 1
    // Asked again, the extension adds to what it answered first.
    if !isPlanned {
      parts = [:]
      (received, expected) = (0, 0)
    }
    isPlanned = true
    for download in downloads where download.isEssential {
      set(download.uniqueIdentifier, Part(expected: Self.size(download.size ?? 0)))
    }
    if parts.isEmpty { report.essential = 1 }
  }

  private mutating func receive(_ unique: String, _ bytes: Int64, _ total: Int64?) {
    guard let part = parts[unique] else { return }
    // Totals follow the real size (B52).
    let expected = Self.size(total ?? part.expected)
    set(unique, Part(received: min(max(0, bytes), expected), expected: expected))
  }

  private mutating func set(_ unique: String, _ part: Part) {
    let old = parts.updateValue(part, forKey: unique) ?? Part(expected: 0)
    received += part.received - old.received
    expected += part.expected - old.expected
    report.receivedBytes = received
    report.expectedBytes = expected
    let share = expected > 0 ? Double(received) / Double(expected) : 0
    report.essential = max(report.essential, Self.share(share))
  }

  private mutating func complete() {
    guard !isComplete else { return }
    isComplete = true
    parts = [:]
    (report.base, report.install, report.essential, report.isPaused) = (1, 1, 1, false)
  }

  private mutating func updateFraction() {
    guard !isComplete || report.base == 1 else { return }
    let essentialWeight = 1 - Self.baseWeight - Self.installWeight
    let fraction =
      Self.baseWeight * report.base + Self.installWeight * report.install + essentialWeight * report.essential
    // Only an open gate is the whole.
    report.fraction = max(report.fraction, isComplete ? 1 : min(fraction, 0.999))
  }

  /// Few enough bytes that sums of them are numbers.
  private static func size(_ bytes: Int64) -> Int64 { min(max(0, bytes), DownloadSpecification.largestSize) }

  private static func share(_ value: Double) -> Double { value.isFinite ? min(1, max(0, value)) : 0 }
}
