internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import LinuxSystem

/// What the journal's events remember of downloads beside their rows: of as many as it keeps events.
struct FetchMemory {
  /// Nanoseconds since 1970 of the last change of a file, as it was when it got its name.
  private(set) var modified: [JobID: Int64] = [:]
  /// Names that files got instead of those of their downloads.
  private(set) var names: [JobID: String] = [:]
  /// Files that downloads were begun to replace.
  private(set) var replaced: [JobID: FileVersion] = [:]

  static let maxEvents = 10_000

  private enum Kind: String { case published, named, replaces }

  init(_ store: AssetStore) throws { self.init(try store.history.events(last: Self.maxEvents)) }

  init(_ events: [StoredEvent]) {
    for event in events {
      guard let job = event.job, let kind = Kind(rawValue: event.kind) else { continue }
      switch kind {
      case .published: modified[job] = Int64(event.detail)
      case .named: names[job] = event.detail
      case .replaces:
        // Older ones have no times: any change in place would be missed, so they tell nothing.
        let parts = event.detail.split(separator: " ")
        guard parts.count == 4, let inode = UInt64(parts[0]) else { continue }
        let numbers = parts.dropFirst().compactMap { Int64($0) }
        guard numbers.count == 3 else { continue }
        replaced[job] = FileVersion(inode: inode, size: numbers[0], modified: numbers[1], changed: numbers[2])
      }
    }
  }

  /// The file that a download was begun to replace, with its name.
  func replacedVersion(by record: JobRecord) -> FileVersion? {
    replaced[record.id].map { version in
      version.named(names[record.id].flatMap { $0.isExactly(record.specification.fileName) ? nil : $0 })
    }
  }

  /// What another journal has to remember of a download that becomes its own.
  func events(of record: JobRecord, as id: JobID, at wall: Int64) -> [StoredEvent] {
    if let version = replacedVersion(by: record) { return Self.begun(id, replacing: version, at: wall) }
    return names[record.id].map { [Self.named(id, $0, at: wall)] } ?? []
  }

  /// What is told of a file that has just got its name.
  static func published(_ id: JobID, _ path: String, at wall: Int64) -> StoredEvent? {
    (try? Files.identity(of: path)).map { event(.published, id, "\($0.modified)", wall) }
  }

  static func named(_ id: JobID, _ name: String, at wall: Int64) -> StoredEvent { event(.named, id, name, wall) }

  static func replaces(_ id: JobID, _ version: FileVersion, at wall: Int64) -> StoredEvent {
    event(.replaces, id, "\(version.inode) \(version.size) \(version.modified) \(version.changed)", wall)
  }

  /// That, and the file's name, where it isn't the download's.
  static func begun(_ id: JobID, replacing version: FileVersion, at wall: Int64) -> [StoredEvent] {
    [replaces(id, version, at: wall)] + (version.name.map { [named(id, $0, at: wall)] } ?? [])
  }

  private static func event(_ kind: Kind, _ id: JobID, _ detail: String, _ wall: Int64) -> StoredEvent {
    StoredEvent(wall: wall, app: FetchPlan.app, job: id, kind: kind.rawValue, detail: detail)
  }
}
