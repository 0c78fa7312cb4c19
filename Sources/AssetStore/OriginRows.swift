internal import AssetModel
internal import GRDB

enum OriginRow {
  static func store(_ origin: OriginRecord, _ database: Database) throws {
    let (range, retry) = (origin.rangeless, origin.retryAfter)
    var arguments: StatementArguments = [
      origin.origin, range?.since.bootIdentifier, range?.since.boot, range?.since.wall, range?.length,
    ]
    arguments += [
      retry?.since.bootIdentifier, retry?.since.boot, retry?.since.wall, retry?.length, origin.retryAfterValue,
    ]
    let condition = origin.rangeConditionWait
    arguments += [
      origin.rangeCondition?.rawValue, condition?.since.bootIdentifier, condition?.since.boot, condition?.since.wall,
      condition?.length,
    ]
    try database.cachedStatement(sql: "INSERT OR REPLACE INTO origins VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)").execute(
      arguments: arguments)
  }

  static func all(_ database: Database) throws -> [OriginRecord] {
    try Row.fetchAll(database, sql: "SELECT * FROM origins").map { row in
      OriginRecord(
        origin: row["origin"], rangeless: JobRow.wait(row, "rangeless"), retryAfter: JobRow.wait(row, "retry"),
        retryAfterValue: row["retryValue"],
        rangeCondition: (row["condition"] as Int64?).flatMap { RangeCondition(rawValue: $0) },
        rangeConditionWait: JobRow.wait(row, "condition"))
    }
  }
}
