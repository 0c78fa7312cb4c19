internal import AssetModel
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import LinuxSystem

/// The tables as they are now, which a new database gets at once: to go through all migrations takes as long as to fetch a
/// small file. Both ways lead to the same tables, which a test compares.
enum Tables {
  /// Makes the file of a database that has them and is in WAL mode. It isn't synchronised: its caller does that before renaming it. By
  /// SQLite alone, since what GRDB looks at in each statement takes twice as long as to carry it out.
  static func create(at path: String) throws(DatabaseError) {
    // SQLite gives its logs the mode that the database has.
    _ = try? OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL)
    var connection: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
    let opened = sqlite3_open_v2(path, &connection, flags, nil)
    defer { sqlite3_close(connection) }
    guard opened == SQLITE_OK else { throw failure(opened, connection) }
    for text in ["PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", all, "PRAGMA journal_mode = WAL"] {
      let result = sqlite3_exec(connection, text, nil, nil, nil)
      guard result == SQLITE_OK else { throw failure(result, connection) }
    }
    guard isInWALMode(connection) else { throw DatabaseError(message: "SQLite refuses journal_mode = wal") }
  }

  private static func failure(_ code: Int32, _ connection: OpaquePointer?) -> DatabaseError {
    let message = sqlite3_errmsg(connection).map { String(cString: $0) }
    return DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
  }

  private static func isInWALMode(_ connection: OpaquePointer?) -> Bool {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(connection, "PRAGMA journal_mode", -1, &statement, nil) == SQLITE_OK,
      sqlite3_step(statement) == SQLITE_ROW, let mode = sqlite3_column_text(statement, 0)
    else { return false }
    return String(cString: mode) == "wal"
  }

  /// In one transaction, with the migrations that it makes needless.
  private static var all: String {
    """
    PRAGMA application_id = \(Schema.applicationIdentifier);
    BEGIN;
    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
    INSERT INTO grdb_migrations VALUES \(Schema.migrator.migrations.map { "('\($0)')" }.joined(separator: ", "));
    \(downloads)
    \(files)
    \(history)
    \(service)
    COMMIT
    """
  }

  /// A text's bytes: `length` of a text stops at its first NUL.
  static func bytes(_ column: String, _ limit: Int) -> String {
    "CHECK (length(CAST(\(column) AS BLOB)) <= \(limit))"
  }

  private static let downloads = """
    CREATE TABLE jobs (
      id INTEGER PRIMARY KEY,
      app BLOB NOT NULL, identifier BLOB NOT NULL, url TEXT NOT NULL CHECK (length(url) <= 8192),
      origin TEXT NOT NULL, headers BLOB NOT NULL, requestedClass INTEGER NOT NULL, isEssential INTEGER NOT NULL,
      priority INTEGER NOT NULL, declaredSize INTEGER, digest BLOB, chunkSize INTEGER, chunkTotal INTEGER, chunks BLOB,
      directory BLOB NOT NULL, fileName BLOB NOT NULL, allowedDomains BLOB, budget TEXT,
      class INTEGER NOT NULL, generation INTEGER NOT NULL, state INTEGER NOT NULL,
      failureReason TEXT, failureStatus INTEGER, failureHop INTEGER, failureErrno INTEGER, failureDetail TEXT,
      stagingName TEXT, strongTag TEXT, lastModified TEXT, total INTEGER, coding TEXT, finalURL TEXT, reprDigest BLOB,
      checkpoints BLOB, verifiedChunks BLOB, partialBoot TEXT, device INTEGER, inode INTEGER, rest INTEGER,
      history BLOB NOT NULL, received INTEGER NOT NULL, lastError TEXT,
      enqueuedBoot TEXT NOT NULL, enqueuedAt INTEGER NOT NULL, enqueuedWall INTEGER NOT NULL,
      waitBoot TEXT, waitAt INTEGER, waitWall INTEGER, waitLength INTEGER,
      progressBoot TEXT NOT NULL, progressAt INTEGER NOT NULL, progressWall INTEGER NOT NULL,
      publishedInode INTEGER, finalSize INTEGER,
      isManifest INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0), volume INTEGER,
      weakTag TEXT, mirrors BLOB, method TEXT \(bytes("method", DownloadRules.longestMethod)),
      body BLOB CHECK (length(body) <= \(DownloadRules.longestBody)),
      failureCause TEXT, keptBytes INTEGER, lastCause TEXT
    ) STRICT;
    CREATE INDEX jobsByIdentifier ON jobs (app, identifier, id);
    CREATE INDEX openJobs ON jobs (id) WHERE state < 3;
    CREATE INDEX openJobsOfApp ON jobs (app) WHERE state < 3;
    CREATE INDEX openJobsOfVolume ON jobs (volume, rest) WHERE state < 3;
    CREATE INDEX openJobsOfBudget ON jobs (budget, isManifest, reserved) WHERE state < 3 AND budget IS NOT NULL;
    CREATE TABLE origins (
      origin TEXT PRIMARY KEY,
      rangelessBoot TEXT, rangelessAt INTEGER, rangelessWall INTEGER, rangelessLength INTEGER,
      retryBoot TEXT, retryAt INTEGER, retryWall INTEGER, retryLength INTEGER, retryValue TEXT,
      condition INTEGER, conditionBoot TEXT, conditionAt INTEGER, conditionWall INTEGER, conditionLength INTEGER
    ) STRICT;
    CREATE TABLE deliveries (
      job INTEGER NOT NULL REFERENCES jobs (id), generation INTEGER NOT NULL,
      begun INTEGER NOT NULL DEFAULT 0, acknowledged INTEGER NOT NULL DEFAULT 0,
      recipient TEXT \(bytes("recipient", ColumnLimits.message)), calls INTEGER NOT NULL DEFAULT 0, fileMoved INTEGER,
      PRIMARY KEY (job, generation)
    ) STRICT;
    CREATE INDEX dueDeliveries ON deliveries (job) WHERE acknowledged = 0;
    CREATE TABLE budgets (
      name TEXT PRIMARY KEY, allowed INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0,
      manifestCharged INTEGER NOT NULL DEFAULT 0, manifestReserved INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE settings (
      name TEXT PRIMARY KEY \(bytes("name", ColumnLimits.name)), value TEXT NOT NULL \(bytes("value", ColumnLimits.text))
    ) STRICT, WITHOUT ROWID;
    """

  private static let files = """
    CREATE TABLE files (
      id INTEGER PRIMARY KEY, job INTEGER UNIQUE REFERENCES jobs (id), app BLOB NOT NULL,
      directory BLOB NOT NULL CHECK (length(directory) <= \(ColumnLimits.path)),
      name BLOB NOT NULL CHECK (length(name) <= \(ColumnLimits.fileName)),
      inode INTEGER NOT NULL, size INTEGER NOT NULL CHECK (size >= 0), digest BLOB,
      isPurgeable INTEGER NOT NULL DEFAULT 1, preservation INTEGER NOT NULL DEFAULT 0, isEssential INTEGER NOT NULL,
      lastUse INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0 CHECK (state IN (0, 1, 2))
    ) STRICT;
    CREATE INDEX presentFiles ON files (directory, name) WHERE state = 0;
    CREATE TABLE pins (
      file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE, connection INTEGER NOT NULL,
      reason TEXT NOT NULL \(bytes("reason", 64)), PRIMARY KEY (file, connection, reason)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pinsOfConnection ON pins (connection);
    CREATE TABLE tombstones (
      id INTEGER PRIMARY KEY, file INTEGER REFERENCES files (id) ON DELETE CASCADE,
      directory BLOB NOT NULL CHECK (length(directory) <= \(ColumnLimits.path)),
      name BLOB NOT NULL CHECK (length(name) <= \(ColumnLimits.fileName)),
      inode INTEGER NOT NULL, size INTEGER NOT NULL, UNIQUE (directory, name)
    ) STRICT;
    """

  private static let history = """
    CREATE TABLE attempts (
      id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
      wall INTEGER NOT NULL, duration INTEGER NOT NULL, bytes INTEGER NOT NULL, status INTEGER,
      outcome TEXT NOT NULL \(bytes("outcome", ColumnLimits.message))
    ) STRICT;
    CREATE INDEX attemptsOfJob ON attempts (job, id);
    CREATE TABLE events (
      id INTEGER PRIMARY KEY, wall INTEGER NOT NULL, app BLOB CHECK (length(app) <= \(ColumnLimits.name)), job INTEGER,
      kind TEXT NOT NULL \(bytes("kind", 64)), detail TEXT NOT NULL \(bytes("detail", ColumnLimits.message))
    ) STRICT;
    CREATE TABLE runs (
      id INTEGER PRIMARY KEY, app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), wall INTEGER NOT NULL,
      request TEXT NOT NULL \(bytes("request", 64)), outcome TEXT NOT NULL \(bytes("outcome", 64)),
      duration INTEGER NOT NULL, cpu INTEGER NOT NULL, memory INTEGER NOT NULL,
      detail TEXT NOT NULL \(bytes("detail", ColumnLimits.message))
    ) STRICT;
    CREATE INDEX runsOfApp ON runs (app, id);
    """

  private static let service = """
    CREATE TABLE machines (
      app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), name TEXT NOT NULL \(bytes("name", 64)),
      state BLOB NOT NULL, PRIMARY KEY (app, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE scheduled (
      app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), identifier TEXT NOT NULL \(bytes("identifier", 64)),
      value BLOB NOT NULL, PRIMARY KEY (app, identifier)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE wakes (
      id INTEGER PRIMARY KEY, app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), value BLOB NOT NULL
    ) STRICT;
    CREATE INDEX wakesOfApp ON wakes (app, id);
    CREATE TABLE pendingDeliveries (
      app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), identifier TEXT NOT NULL \(bytes("identifier", 64)),
      state BLOB NOT NULL, PRIMARY KEY (app, identifier)
    ) STRICT, WITHOUT ROWID;
    """
}
