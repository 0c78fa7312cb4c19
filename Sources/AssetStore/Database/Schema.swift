internal import AssetModel
internal import GRDB

/// What made the tables into those of `Tables`, from the first version on. What clients name is kept as bytes: SQLite's texts end at a NUL. A migration
/// runs in one transaction: interrupted, it has not been. One that was released never changes; the next one follows it.
enum Schema {
  /// "Outr", so that another program's database isn't taken for ours.
  static let applicationIdentifier: Int32 = 0x4f75_7472

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: jobs, origins, deliveries") { database in
      try database.execute(sql: "PRAGMA application_id = \(applicationIdentifier)")
      try database.execute(
        sql: """
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
            publishedInode INTEGER, finalSize INTEGER
          ) STRICT;
          CREATE INDEX jobsByIdentifier ON jobs (app, identifier, id);
          CREATE INDEX openJobs ON jobs (id) WHERE state < 3;
          CREATE INDEX openJobsOfApp ON jobs (app) WHERE state < 3;
          CREATE TABLE origins (
            origin TEXT PRIMARY KEY,
            rangelessBoot TEXT, rangelessAt INTEGER, rangelessWall INTEGER, rangelessLength INTEGER,
            retryBoot TEXT, retryAt INTEGER, retryWall INTEGER, retryLength INTEGER, retryValue TEXT
          ) STRICT;
          CREATE TABLE deliveries (
            job INTEGER NOT NULL REFERENCES jobs (id), generation INTEGER NOT NULL,
            begun INTEGER NOT NULL DEFAULT 0, acknowledged INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (job, generation)
          ) STRICT;
          CREATE INDEX dueDeliveries ON deliveries (job) WHERE acknowledged = 0;
          CREATE TABLE budgets (
            name TEXT PRIMARY KEY, allowed INTEGER NOT NULL, charged INTEGER NOT NULL DEFAULT 0, reserved INTEGER NOT NULL DEFAULT 0
          ) STRICT;
          """)
    }
    migrator.registerMigration("2: files, reservations, history") { try $0.execute(sql: version2) }
    migrator.registerMigration("3: weak entity tags") {
      try $0.execute(sql: "ALTER TABLE jobs ADD COLUMN weakTag TEXT")
    }
    migrator.registerMigration("4: mirrors") { try $0.execute(sql: "ALTER TABLE jobs ADD COLUMN mirrors BLOB") }
    migrator.registerMigration("5: conditions of ranges") { database in
      try database.execute(
        sql: """
          ALTER TABLE origins ADD COLUMN condition INTEGER;
          ALTER TABLE origins ADD COLUMN conditionBoot TEXT;
          ALTER TABLE origins ADD COLUMN conditionAt INTEGER;
          ALTER TABLE origins ADD COLUMN conditionWall INTEGER;
          ALTER TABLE origins ADD COLUMN conditionLength INTEGER;
          UPDATE jobs SET stagingName = NULL WHERE state = 4 AND failureReason = 'challenge';
          """)
    }
    migrator.registerMigration("6: state of the service") { try $0.execute(sql: version6) }
    migrator.registerMigration("7: a row for each delivery of the service, budgets by index") {
      try $0.execute(sql: version7)
    }
    migrator.registerMigration("8: methods and bodies") { database in
      try database.execute(
        sql: """
          ALTER TABLE jobs ADD COLUMN method TEXT \(Tables.bytes("method", DownloadRules.longestMethod));
          ALTER TABLE jobs ADD COLUMN body BLOB CHECK (length(body) <= \(DownloadRules.longestBody));
          """)
    }
    migrator.registerMigration("9: causes of failures") { database in
      try database.execute(
        sql: """
          ALTER TABLE jobs ADD COLUMN failureCause TEXT;
          ALTER TABLE jobs ADD COLUMN keptBytes INTEGER;
          ALTER TABLE jobs ADD COLUMN lastCause TEXT;
          """)
    }
    return migrator
  }

  private static let version6 = """
    CREATE TABLE machines (
      app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), name TEXT NOT NULL \(Tables.bytes("name", 64)),
      state BLOB NOT NULL, PRIMARY KEY (app, name)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE scheduled (
      app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), identifier TEXT NOT NULL \(Tables.bytes("identifier", 64)),
      value BLOB NOT NULL, PRIMARY KEY (app, identifier)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE wakes (
      id INTEGER PRIMARY KEY, app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), value BLOB NOT NULL
    ) STRICT;
    CREATE INDEX wakesOfApp ON wakes (app, id);
    """

  private static let version7 = """
    CREATE TABLE pendingDeliveries (
      app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), identifier TEXT NOT NULL \(Tables.bytes("identifier", 64)),
      state BLOB NOT NULL, PRIMARY KEY (app, identifier)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX openJobsOfBudget ON jobs (budget, isManifest, reserved) WHERE state < 3 AND budget IS NOT NULL;
    """

  private static let version2 = """
    ALTER TABLE jobs ADD COLUMN isManifest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE jobs ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0);
    ALTER TABLE jobs ADD COLUMN volume INTEGER;
    UPDATE jobs SET reserved = max(0, coalesce(declaredSize, chunkTotal, 0) - received) WHERE state < 3 AND budget IS NOT NULL;
    UPDATE budgets SET reserved = (SELECT coalesce(sum(jobs.reserved), 0) FROM jobs WHERE state < 3 AND budget = name);
    CREATE INDEX openJobsOfVolume ON jobs (volume, rest) WHERE state < 3;
    ALTER TABLE budgets ADD COLUMN manifestCharged INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE budgets ADD COLUMN manifestReserved INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE deliveries ADD COLUMN recipient TEXT \(Tables.bytes("recipient", ColumnLimits.message));
    ALTER TABLE deliveries ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE deliveries ADD COLUMN fileMoved INTEGER;
    CREATE TABLE settings (
      name TEXT PRIMARY KEY \(Tables.bytes("name", ColumnLimits.name)), value TEXT NOT NULL \(Tables.bytes("value", ColumnLimits.text))
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE attempts (
      id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
      wall INTEGER NOT NULL, duration INTEGER NOT NULL, bytes INTEGER NOT NULL, status INTEGER,
      outcome TEXT NOT NULL \(Tables.bytes("outcome", ColumnLimits.message))
    ) STRICT;
    CREATE INDEX attemptsOfJob ON attempts (job, id);
    CREATE TABLE events (
      id INTEGER PRIMARY KEY, wall INTEGER NOT NULL, app BLOB CHECK (length(app) <= \(ColumnLimits.name)), job INTEGER,
      kind TEXT NOT NULL \(Tables.bytes("kind", 64)), detail TEXT NOT NULL \(Tables.bytes("detail", ColumnLimits.message))
    ) STRICT;
    CREATE TABLE runs (
      id INTEGER PRIMARY KEY, app BLOB NOT NULL CHECK (length(app) <= \(ColumnLimits.name)), wall INTEGER NOT NULL,
      request TEXT NOT NULL \(Tables.bytes("request", 64)), outcome TEXT NOT NULL \(Tables.bytes("outcome", 64)),
      duration INTEGER NOT NULL, cpu INTEGER NOT NULL, memory INTEGER NOT NULL,
      detail TEXT NOT NULL \(Tables.bytes("detail", ColumnLimits.message))
    ) STRICT;
    CREATE INDEX runsOfApp ON runs (app, id);
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
      reason TEXT NOT NULL \(Tables.bytes("reason", 64)), PRIMARY KEY (file, connection, reason)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pinsOfConnection ON pins (connection);
    CREATE TABLE tombstones (
      id INTEGER PRIMARY KEY, file INTEGER REFERENCES files (id) ON DELETE CASCADE,
      directory BLOB NOT NULL CHECK (length(directory) <= \(ColumnLimits.path)),
      name BLOB NOT NULL CHECK (length(name) <= \(ColumnLimits.fileName)),
      inode INTEGER NOT NULL, size INTEGER NOT NULL, UNIQUE (directory, name)
    ) STRICT;
    """
}
