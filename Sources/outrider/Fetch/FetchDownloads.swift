internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import Foundation
internal import LinuxSystem

/// What a state folder of `outrider fetch` holds: `outrider downloads list|cancel|forget --fetch`.
struct FetchDownloads {
  let state: String?

  // MARK: list

  struct Row: Encodable, Equatable {
    var id: Int64
    var state: String
    var url: String
    var path: String
    var bytes: Int64
    var totalBytes: Int64?
    var reason: String?
    var detail: String?

    /// `name`: the file's, where that isn't the download's.
    init(_ record: JobRecord, name: String? = nil) {
      let specification = record.specification
      (id, url) = (record.id.number, specification.url)
      path = "\(specification.directory)/\(name ?? specification.fileName)"
      bytes = record.durableBytes
      totalBytes = record.finalSize ?? specification.exactSize ?? record.partial?.entity.total
      switch record.state {
      case .open: (state, detail) = ("open", record.lastError)
      case .paused: state = "paused"
      case .verified: (state, detail) = ("verified", record.lastError)
      case .finished: state = "finished"
      case .failed(let failure):
        state = "failed"
        (reason, detail) = (failure.reason.rawValue, FetchAdvice().detail(of: failure))
      case .cancelled: state = "cancelled"
      }
    }
  }

  func list(isJSON: Bool) throws {
    let directory = try existingDirectory()
    var options = AssetStore.Options()
    options.isReadOnly = true
    let store = try FetchState.journal(in: directory, options)
    let names = try FetchMemory(store).names
    let rows = try store.jobs(app: FetchPlan.app, last: Self.maxRows).map { Row($0, name: names[$0.id]) }
    if isJSON { return try Output.json(rows) }
    if rows.isEmpty { Output.note("there are no downloads in \(directory)") }
    Self.table(rows).print()
    if state == nil {
      for other in FetchState.folders(directory).dropFirst() where AssetStore.exists(in: other) {
        Output.note("\(other) has a journal of its own: --state names it")
      }
    }
  }

  private static let maxRows = 100_000

  static func table(_ rows: [Row]) -> FittedTable {
    var table = FittedTable([
      .number("ID"), .fixed("STATE"), .number("DONE"), .number("SIZE"), .text("FILE", minimum: 12),
      .text("URL", minimum: 12), .text("WHY", minimum: 10),
    ])
    for row in rows {
      table.add([
        "\(row.id)", row.state, FetchWords.size(row.bytes), row.totalBytes.map { FetchWords.size($0) } ?? "?", row.path,
        ParsedURL.shown(row.url), row.detail ?? "",
      ])
    }
    return table
  }

  /// A folder without a journal is most often one that was misspelt: it isn't taken for one whose downloads are all over.
  func existingDirectory() throws -> String {
    let directory = try FetchState.directory(state)
    if AssetStore.exists(in: directory) { return directory }
    let what = Files.exists(directory) ? "holds no journal of outrider fetch" : "isn't there"
    let remedy =
      if state != nil {
        "give --state the folder that fetch was given, or leave it out for fetch's own"
      } else if let other = FetchState.folders(directory).first(where: { AssetStore.exists(in: $0) }) {
        "'--state \(other)' has one"
      } else {
        "outrider fetch makes it; if it was given --state, give the same here"
      }
    throw Failure(66, "the state folder \(Printable.text(directory, limit: 4096)) \(what): \(remedy)")
  }

  // MARK: cancel and forget

  /// Opens a journal that is there already; who has it in hand is named.
  private func open() throws -> AssetStore { try FetchState.journal(in: try existingDirectory()) }

  func cancel(_ text: String, isJSON: Bool) async -> Never {
    do {
      guard let number = Int64(text) else {
        throw Failure(64, "'\(text)' isn't the number of a download; `outrider downloads list --fetch` has them")
      }
      let store = try open()
      let id = JobID(number)
      guard let record = try store.job(id) else { throw Failure(66, "there is no download \(id) in \(store.path)") }
      if record.leftover != nil {
        try removeLeftover(of: [record], store)
        // Nothing of it is left to go on with.
        _ = try store.retention.forget([id], app: FetchPlan.app)
      } else if record.state.isTerminal {
        let remedy = "to remove it from the journal: outrider downloads forget --fetch \(id)"
        throw Failure(64, "download \(id) is over: it is \(Row(record).state); \(remedy)")
      } else {
        try await Self.cancel(record, store)
      }
      try store.close()
      try Self.tell([id], "cancelled", isJSON)
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  /// By the engine, which knows what there is of it.
  private static func cancel(_ record: JobRecord, _ store: AssetStore) async throws {
    var options = EngineOptions()
    options.takesUpOpenJobs = false
    options.stagingOwner = Self.owner(store)
    let names = try FetchMemory(store).names
    options.fileNames = { record in [names[record.id], record.specification.fileName].compactMap(\.self) }
    let staging = try? StagingLease(record.specification.directory, app: FetchPlan.app)
    defer { staging?.end() }
    let engine = try DownloadEngine(journal: store, options: options)
    let events = engine.events
    engine.cancel(record.id)
    for await event in events {
      if case .cancelled(record.id) = event { break }
    }
    await engine.close()
  }

  /// Of the partial files in its folders.
  private static func owner(_ store: AssetStore) -> String {
    let folder = String(store.path.dropLast(AssetStore.databaseName.count + 1))
    return (try? Files.real(folder)) ?? folder
  }

  /// What there is of failed downloads, also of earlier attempts that began afresh.
  private func removeLeftover(of records: [JobRecord], _ store: AssetStore) throws {
    let chosen = Set(records.map(\.id))
    // All downloads to one place have the same names for their files.
    let inUse = Set(
      try store.jobs(app: FetchPlan.app, last: Self.maxRows)
        .filter { !chosen.contains($0.id) && (!$0.state.isTerminal || $0.leftover != nil) }
        .map { ExactText($0.specification.identifier) })
    for record in records {
      try LeftoverFile.remove(record)
      guard !inUse.contains(ExactText(record.specification.identifier)) else { continue }
      try LeftoverFile.removeUnrecorded(of: record, owner: Self.owner(store))
    }
  }

  /// `chosen`: nil for all that aren't open.
  func forget(_ chosen: [JobID]?, isJSON: Bool) throws {
    let store = try open()
    let records: [JobRecord]
    if let chosen {
      records = try store.jobs(chosen)
      for id in chosen {
        guard let record = records.first(where: { $0.id == id }) else {
          throw Failure(66, "there is no download \(id) in \(store.path)")
        }
        if !record.state.isTerminal {
          throw Failure(64, "download \(id) is open; cancel it first: outrider downloads cancel --fetch \(id)")
        }
      }
    } else {
      records = try store.jobs(app: FetchPlan.app, last: Self.maxRows).filter(\.state.isTerminal)
    }
    let outputs = FetchPlace.outputs(try FetchState.directory(state))
    let failed = records.filter { if case .failed = $0.state { true } else { false } }
    if !failed.isEmpty { try removeLeftover(of: failed, store) }
    for record in records {
      // Standard output didn't take it, and nobody else knows of it.
      if record.state == .finished, record.specification.directory == outputs {
        unlink("\(outputs)/\(record.specification.fileName)")
      }
    }
    let forgotten = try store.retention.forget(records.map(\.id), app: FetchPlan.app)
    try store.close()
    try Self.tell(forgotten, "forgotten", isJSON)
  }

  private static func tell(_ ids: [JobID], _ what: String, _ isJSON: Bool) throws {
    struct Done: Encodable { var ids: [Int64], action: String }
    if isJSON { return try Output.json(Done(ids: ids.map(\.number), action: what)) }
    let names = ids.count == 1 ? "download \(ids[0]) is" : "\(ids.count) downloads are"
    Output.note("\(names) \(what)")
  }
}
