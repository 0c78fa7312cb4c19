internal import AssetModel
internal import GRDB

/// Allowances: reserved when a job is added, charged with every byte that arrives, given back when it is settled. All of it
/// in the transaction that does the rest, so that parallel jobs can't promise the same bytes twice.
enum Budgets {
  /// What is always left for an app's manifest, so that it can't lock its app out.
  static let manifestPart: Int64 = 1 << 20

  enum Admission {
    case reserved(Int64)
    case missing(Int64)
  }

  static func set(_ database: Database, _ name: String, _ bytes: Int64?) throws {
    guard let bytes else { return try database.query("DELETE FROM budgets WHERE name = ?").bind(name).run() }
    try database.query(
      "INSERT INTO budgets (name, allowed) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET allowed = excluded.allowed"
    ).bind(name).bind(max(0, bytes)).run()
    // Jobs that were added before there was this allowance have reserved from it. `sum` would fail where the numbers are
    // more than 64 bits hold; `total` doesn't.
    try database.query(recount).bind(name).run()
  }

  private static let recount = """
    UPDATE budgets SET
      reserved =
        (SELECT CAST(total(reserved) AS INTEGER) FROM jobs WHERE \(JobRow.isOpen) AND budget = name AND isManifest = 0),
      manifestReserved =
        (SELECT CAST(total(reserved) AS INTEGER) FROM jobs WHERE \(JobRow.isOpen) AND budget = name AND isManifest = 1)
    WHERE name = ?
    """

  static func budget(_ database: Database, _ name: String) throws -> Budget? {
    let row = try database.query(
      "SELECT allowed, charged, reserved, manifestCharged, manifestReserved FROM budgets WHERE name = ?"
    ).bind(name)
    guard try row.step() else { return nil }
    return Budget(
      allowed: row.int64(), charged: row.int64(), reserved: row.int64(), manifestCharged: row.int64(),
      manifestReserved: row.int64())
  }

  static func admit(_ database: Database, _ specification: DownloadSpecification) throws -> Admission {
    guard let name = specification.budget else { return .reserved(0) }
    let size = specification.exactSize ?? specification.declaredSize
    let wanted = max(0, size ?? (specification.isManifest ? manifestPart : 0))
    guard let budget = try budget(database, name) else { return .reserved(wanted) }
    let left = budget.available(forManifest: specification.isManifest)
    if wanted > left { return .missing(wanted - left) }
    try book(database, name, specification.isManifest, reserve: wanted)
    return .reserved(wanted)
  }

  private static let open = "SELECT budget, isManifest, received FROM jobs WHERE id = ? AND \(JobRow.isOpen)"

  /// More for a job that needs more than it reserved: the bytes that are missing, or nil.
  static func extend(_ database: Database, _ id: JobID, by bytes: Int64) throws -> Int64? {
    let row = try database.query(open).bind(id.number)
    guard try row.step() else { throw StoreError.wrongState("job \(id) isn't open") }
    if let name = row.optionalText() {
      let isManifest = row.bool()
      if let budget = try budget(database, name) {
        let left = isManifest ? budget.available(forManifestThatReceived: row.int64()) : budget.available()
        if bytes > left { return bytes - left }
        try book(database, name, isManifest, reserve: bytes)
      }
    }
    try database.query("UPDATE jobs SET reserved = reserved + ? WHERE id = ?").bind(bytes).bind(id.number).run()
    return nil
  }

  private static let booked = """
    SELECT received, reserved, budget, isManifest FROM jobs WHERE id = ? AND generation <= ? AND \(JobRow.isOpen)
    """

  /// Moves what arrived since the last commit from the reservation to the charge, and gives the rest back at the end.
  /// Returns whether the change counts: the row is open and not of a later generation.
  static func charge(_ database: Database, _ job: JobRecord) throws -> Bool {
    let row = try database.query(booked).bind(job.id.number).bind(job.generation)
    guard try row.step() else { return false }
    let (received, reserved) = (row.int64(), row.int64())
    guard let name = row.optionalText() else { return true }
    let isManifest = row.bool()
    let fresh = max(0, job.receivedBytes - received)
    let used = job.state.isTerminal ? reserved : min(reserved, fresh)
    guard fresh > 0 || used > 0 else { return true }
    try book(database, name, isManifest, reserve: -used, charge: fresh)
    try database.query("UPDATE jobs SET reserved = reserved - ? WHERE id = ?").bind(used).bind(job.id.number).run()
    return true
  }

  private static func book(
    _ database: Database, _ name: String, _ isManifest: Bool, reserve: Int64, charge: Int64 = 0
  ) throws {
    let (reserved, charged) = isManifest ? ("manifestReserved", "manifestCharged") : ("reserved", "charged")
    try database.query(
      "UPDATE budgets SET \(reserved) = max(0, \(reserved) + ?), \(charged) = \(charged) + ? WHERE name = ?"
    ).bind(reserve).bind(charge).bind(name).run()
  }
}
