internal import GRDB

/// The tables, from the first version on. What clients name is kept as bytes: SQLite's texts end at a NUL. A migration runs in one transaction: interrupted, it has not been.
enum Schema {
  /// "Outr", so that nobody takes another program's database for ours.
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
    return migrator
  }
}
