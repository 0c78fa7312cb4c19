internal import GRDB
internal import GRDBSQLite

/// A prepared statement, bound and read column by column: for 100,000 rows a `Row` each would cost more than SQLite does.
/// Used within one access to the database.
final class Query {
  private let owner: Statement
  private let statement: OpaquePointer
  private let connection: OpaquePointer?
  private var parameter: Int32 = 0
  private var column: Int32 = 0

  init(_ database: Database, _ sql: String) throws {
    owner = try database.cachedStatement(sql: sql)
    statement = owner.sqliteStatement
    connection = database.sqliteConnection
    sqlite3_reset(statement)
  }

  deinit { sqlite3_reset(statement) }

  // MARK: Parameters, in the order of the statement's question marks

  @discardableResult func bind(_ value: Int64) -> Self {
    parameter += 1
    sqlite3_bind_int64(statement, parameter, value)
    return self
  }

  @discardableResult func bind(_ value: Int64?) -> Self {
    if let value { return bind(value) }
    return bindNull()
  }

  @discardableResult func bind(_ value: Int) -> Self { bind(Int64(value)) }
  @discardableResult func bind(_ value: Bool) -> Self { bind(value ? 1 as Int64 : 0) }
  /// Bit for bit: SQLite's integers are signed.
  @discardableResult func bind(bits value: UInt64?) -> Self { bind(value.map { Int64(bitPattern: $0) }) }

  @discardableResult func bindNull() -> Self {
    parameter += 1
    sqlite3_bind_null(statement, parameter)
    return self
  }

  /// The bytes as they are, NUL included.
  @discardableResult func bind(_ value: String) -> Self {
    parameter += 1
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    var value = value
    value.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        // An empty string may have no address, and a null pointer would bind NULL.
        _ = sqlite3_bind_text(
          statement, parameter, characters.baseAddress ?? Self.empty, Int32(characters.count), copied)
      }
    }
    return self
  }

  private nonisolated(unsafe) static let empty = UnsafePointer(UnsafeMutablePointer<CChar>.allocate(capacity: 1))

  @discardableResult func bind(_ value: String?) -> Self {
    if let value { return bind(value) }
    return bindNull()
  }

  @discardableResult func bind(_ value: [UInt8]) -> Self {
    parameter += 1
    if value.isEmpty {
      sqlite3_bind_zeroblob(statement, parameter, 0)
    } else {
      sqlite3_bind_blob(
        statement, parameter, value, Int32(value.count), unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }
    return self
  }

  @discardableResult func bind(_ value: [UInt8]?) -> Self {
    if let value { return bind(value) }
    return bindNull()
  }

  // MARK: Running

  /// Whether there is a row; its columns are read from the first on.
  func step() throws -> Bool {
    column = 0
    switch sqlite3_step(statement) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let code = sqlite3_extended_errcode(connection)
      let message = String(cString: sqlite3_errmsg(connection))
      sqlite3_reset(statement)
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
  }

  /// Runs a statement that has no rows, and makes it ready for the next parameters.
  func run() throws {
    while try step() {}
    again()
  }

  func again() {
    sqlite3_reset(statement)
    parameter = 0
  }

  // MARK: Columns, in their order

  func int64() -> Int64 {
    defer { column += 1 }
    return sqlite3_column_int64(statement, column)
  }

  func optionalInt64() -> Int64? {
    defer { column += 1 }
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : sqlite3_column_int64(statement, column)
  }

  func int() -> Int { Int(int64()) }
  func bool() -> Bool { int64() != 0 }
  func bits() -> UInt64 { UInt64(bitPattern: int64()) }

  func text() -> String { optionalText() ?? "" }

  func optionalText() -> String? {
    defer { column += 1 }
    guard let start = sqlite3_column_text(statement, column) else { return nil }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func blob() -> [UInt8] { optionalBlob() ?? [] }

  func optionalBlob() -> [UInt8]? {
    defer { column += 1 }
    if sqlite3_column_type(statement, column) == SQLITE_NULL { return nil }
    let count = Int(sqlite3_column_bytes(statement, column))
    guard count > 0, let start = sqlite3_column_blob(statement, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// A text's or blob's bytes.
  func bytes() -> [UInt8] {
    defer { column += 1 }
    guard let start = sqlite3_column_blob(statement, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
  }

  /// Goes on to the next column if this one has exactly these bytes.
  func takeIfEqual(_ bytes: [UInt8]) -> Bool {
    guard let start = sqlite3_column_blob(statement, column),
      Int(sqlite3_column_bytes(statement, column)) == bytes.count,
      bytes.withUnsafeBytes({ $0.elementsEqual(UnsafeRawBufferPointer(start: start, count: bytes.count)) })
    else { return false }
    column += 1
    return true
  }

  var isNull: Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

  func skip(_ count: Int32 = 1) { column += count }
}

extension Database {
  func query(_ sql: String) throws -> Query { try Query(self, sql) }

  /// Rows that the last statement inserted, changed or removed.
  var changedRows: Int { Int(sqlite3_changes(sqliteConnection)) }
}
