internal import AssetModel
internal import GRDB

/// Allowances: reserved when a job is added, charged with every byte that arrives, given back when it is settled. All of it
/// in the transaction that does the rest, so that parallel jobs can't promise the same bytes twice.
enum Budgets {
  static func set(_ database: Database, _ name: String, _ bytes: Int64?) throws {
    guard let bytes else { return try database.execute(sql: "DELETE FROM budgets WHERE name = ?", arguments: [name]) }
    try database.execute(
      sql:
        "INSERT INTO budgets (name, allowed) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET allowed = excluded.allowed",
      arguments: [name, max(0, bytes)])
  }

  /// nil: reserved, or nothing binds; otherwise the bytes that are missing.
  static func reserve(_ database: Database, _ specification: DownloadSpecification) throws -> Int64? {
    guard let name = specification.budget,
      let row = try Row.fetchOne(
        database.cachedStatement(sql: "SELECT allowed - charged - reserved FROM budgets WHERE name = ?"),
        arguments: [name])
    else { return nil }
    let wanted = size(specification)
    let left: Int64 = row[0]
    if wanted > left { return wanted - left }
    try reserve(database, name, wanted)
    return nil
  }

  private static func size(_ specification: DownloadSpecification) -> Int64 {
    max(0, specification.exactSize ?? specification.declaredSize ?? 0)
  }

  private static func reserve(_ database: Database, _ name: String, _ bytes: Int64) throws {
    try database.cachedStatement(sql: "UPDATE budgets SET reserved = max(0, reserved + ?) WHERE name = ?")
      .execute(arguments: [bytes, name])
  }

  private static func received(_ database: Database, _ id: JobID) throws -> Int64? {
    try Int64.fetchOne(
      database.cachedStatement(sql: "SELECT received FROM jobs WHERE id = ? AND state < 3"), arguments: [id.number])
  }

  /// Moves what arrived since the last commit from the reservation to the charge.
  static func charge(_ database: Database, _ job: JobRecord) throws {
    guard let name = job.specification.budget, let before = try received(database, job.id), job.receivedBytes > before
    else { return }
    let fresh = job.receivedBytes - before
    let left = max(0, size(job.specification) - before)
    try reserve(database, name, -min(fresh, left))
    try database.cachedStatement(sql: "UPDATE budgets SET charged = charged + ? WHERE name = ?").execute(arguments: [
      fresh, name,
    ])
  }

  static func settle(_ database: Database, _ job: JobRecord) throws {
    guard let name = job.specification.budget else { return }
    try reserve(database, name, -max(0, size(job.specification) - job.receivedBytes))
  }
}
