internal import AssetModel
internal import Basics
internal import GRDB

/// Jobs that are added in one transaction.
struct Addition {
  private let database: Database
  private let maxOpen: Int
  private let now: StoredMoment
  private let insertion: Statement
  private let latest: Query
  private let count: Query
  private var open: [ExactText: Int] = [:]

  init(_ database: Database, maxOpen: Int, now: StoredMoment) throws {
    self.database = database
    self.maxOpen = maxOpen
    self.now = now
    insertion = try database.cachedStatement(sql: JobRow.insertion)
    latest = try database.query(
      "SELECT id, state, generation FROM jobs WHERE app = ? AND identifier = ? ORDER BY id DESC LIMIT 1")
    count = try database.query("SELECT count(*) FROM jobs WHERE app = ? AND \(JobRow.isOpen)")
  }

  mutating func add(_ specification: DownloadSpecification, volume: UInt64?) throws -> AddResult {
    if let rejectionReason = specification.rejectionReason { return .invalid(rejectionReason) }
    let app = Array(specification.app.utf8)
    latest.again()
    var generation = 1
    var before: JobRecord?
    if try latest.bind(app).bind(Array(specification.identifier.utf8)).step() {
      let (id, state) = (latest.int64(), latest.int64())
      if state < JobRow.State.finished.rawValue { return try duplicate(specification, JobID(id)) }
      // Staging names and deliveries are told apart by generation: a new job of that name continues the count.
      generation = latest.int() + 1
      if state == JobRow.State.failed.rawValue { before = try JobRow.find(JobID(id), database) }
    }
    let key = ExactText(specification.app)
    let outstanding = try open[key] ?? outstanding(app)
    open[key] = outstanding
    guard outstanding < maxOpen else { return .tooMany(limit: maxOpen) }
    let reserved: Int64
    switch try Budgets.admit(database, specification) {
    case .missing(let bytes): return .allowance(missing: bytes)
    case .reserved(let bytes): reserved = bytes
    }
    let arguments = JobRow.insertionArguments(
      specification, generation: generation, reserved: reserved, volume: volume, now: now)
    try insertion.execute(arguments: arguments)
    open[key] = outstanding + 1
    let id = JobID(database.lastInsertedRowID)
    if let before { try inherit(id, generation, before, specification) }
    return .added(id, generation: generation)
  }

  /// What an equal request has left goes to the new job, or one for the same bytes from elsewhere, or one for the same
  /// place with another credential.
  private func inherit(
    _ id: JobID, _ generation: Int, _ before: JobRecord, _ specification: DownloadSpecification
  ) throws {
    let isSame = before.specification.isExactly(specification)
    let other = before.leftover(provedBy: specification) ?? before.leftover(atThePlaceOf: specification)
    guard let leftover = isSame ? before.leftover : other else { return }
    var heir = JobRecord(
      id: id, specification: isSame ? before.specification : specification,
      transferClass: specification.transferClass, generation: generation, partial: leftover, enqueued: now)
    heir.expect(specification)
    heir.specification = specification
    try JobRow.update(database, heir)
    try database.query("UPDATE jobs SET stagingName = NULL WHERE id = ?").bind(before.id.number).run()
  }

  private func outstanding(_ app: [UInt8]) throws -> Int {
    count.again()
    return try count.bind(app).step() ? count.int() : 0
  }

  private func duplicate(_ specification: DownloadSpecification, _ id: JobID) throws -> AddResult {
    guard var known = try JobRow.find(id, database), known.specification.isExactly(specification) else {
      return .conflict(id)
    }
    if known.specification.mirrors != specification.mirrors, known.state != .verified {
      known.take(mirrors: specification.mirrors)
      try JobRow.setMirrors(database, known)
    }
    if !known.specification.expectsTheSame(as: specification) {
      // It was checked against what was expected of it before.
      guard known.state != .verified else { return .conflict(id) }
      known.expect(specification)
      try JobRow.expect(database, known)
    }
    return .alreadyScheduled(id)
  }
}

extension DownloadSpecification {
  /// Equal to the byte: `String` takes canonically equivalent spellings for equal, servers and disks don't.
  fileprivate func isExactly(_ other: DownloadSpecification) -> Bool {
    asksForTheSame(as: other) && texts == other.texts
  }

  private var texts: [ExactText] {
    ([url, directory, fileName, budget ?? ""] + headers.flatMap { [$0.name, $0.value] } + (allowedDomains ?? [])).map {
      ExactText($0)
    }
  }
}
