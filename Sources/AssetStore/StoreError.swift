public import AssetModel
internal import GRDB
public import LinuxSystem

/// Why a state folder can't be used, in one sentence with its remedy.
public enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process has it, since so many nanoseconds after 1970.
  case heldBy(pid: Int32, program: String, since: Int64, path: String)
  /// The folder isn't what it has to be.
  case unusable(path: String, why: String, remedy: String)
  /// The database is damaged; a copy was kept, nothing was changed.
  case corrupt(path: String, why: String, copy: String)
  /// Made by a newer program, and not touched.
  case newer(path: String)
  /// No room, quota or inode left on its volume; the transaction didn't happen.
  case full(path: String, why: String)
  /// Its volume couldn't be read or written; the transaction didn't happen.
  case failing(path: String, why: String)
  /// Longer than the store takes; nothing of the call happened.
  case tooLong(field: String, bytes: Int, limit: Int)
  /// A delivery or file that isn't in the state that the call needs.
  case wrongState(String)
  /// Something in a container isn't what belongs there; nothing was touched.
  case container(path: String, why: ContainerProblem)
  case file(SystemCallError)
  /// SQLite says so.
  case database(path: String, why: String)

  public var description: String {
    switch self {
    case .heldBy(let pid, let program, let since, let path):
      "\(path) is in use by \(program) (process \(pid)) since \(WallClock.text(since)); wait for it, end it, or name another state folder"
    case .unusable(let path, let why, let remedy): "\(path): \(why); \(remedy)"
    case .corrupt(let path, let why, let copy):
      "\(path) is damaged (\(why)); \(copy.isEmpty ? "" : "a copy is at \(copy); ")with --start-fresh its last backup, or an empty one, takes its place"
    case .newer(let path):
      "\(path) was made by a newer Outrider and is left alone; use that one, or another state folder"
    case .full(let path, let why): "no room for \(path): \(why); free some space on its volume"
    case .failing(let path, let why):
      if let limit = Files.largest {
        "\(path) can't be read or written (\(why)): this process may write files of \(limit) bytes at most (ulimit -f)"
      } else {
        "\(path): its volume fails (\(why)); the kernel's log says more, and another state folder may lie elsewhere"
      }
    case .tooLong(let field, let bytes, let limit): "\(field) has \(bytes) bytes; at most \(limit) are allowed"
    case .wrongState(let what): what
    case .container(let path, let why): "\(Printable.text(path)) \(why); it is left alone"
    case .file(let error): "\(error)"
    case .database(let path, let why): "\(path): SQLite can't do it: \(why)"
    }
  }
}

extension StoreError: JournalObstacle {
  /// Whether the volume is the reason, so that the same call may work later.
  public var isOfVolume: Bool {
    switch self {
    case .full, .failing: true
    default: false
    }
  }
}

/// What was wrong with a file or directory of a container.
public enum ContainerProblem: Sendable, Equatable, CustomStringConvertible {
  case invalidIdentifier, notADirectory
  case foreignOwner(uid: UInt32)
  case writableByOthers(mode: UInt32)
  /// A symbolic link or a mount on the way.
  case redirected

  /// The rest of a sentence that begins with the path.
  public var description: String {
    switch self {
    case .invalidIdentifier: "isn't a name that a container can have"
    case .notADirectory: "isn't a directory"
    case .foreignOwner(let uid): "belongs to user \(uid)"
    case .writableByOthers(let mode): "may be written by others (mode \(String(mode & 0o7777, radix: 8)))"
    case .redirected: "is reached by a symbolic link or another mount"
    }
  }
}

extension StoreError {
  /// Something else has a name that the store uses.
  static func notAFile(_ path: String) -> StoreError {
    .unusable(path: path, why: "it isn't a regular file", remedy: "move it away, or name another state folder")
  }

  /// Any error of a database call, typed. `path` is the database's.
  init(_ error: any Error, path: String) {
    switch error {
    case let error as StoreError: self = error
    case let error as SystemCallError: self = .file(error)
    case let error as DatabaseError:
      let message = error.message ?? error.description
      if error.extendedResultCode == .SQLITE_READONLY_ROLLBACK {
        self = .unusable(
          path: path, why: "a change to it was interrupted",
          remedy: "run a command that writes to it, such as 'outrider fetch': it undoes the change")
        return
      }
      switch error.resultCode {
      case .SQLITE_CORRUPT, .SQLITE_NOTADB: self = .corrupt(path: path, why: message, copy: "")
      case .SQLITE_FULL: self = .full(path: path, why: message)
      case .SQLITE_IOERR:
        self = .failing(path: path, why: "\(message) (\(error.extendedResultCode.rawValue))")
      case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
        self = .unusable(path: path, why: message, remedy: "make it writable, or name another state folder")
      default: self = .database(path: path, why: "\(message) (\(error.extendedResultCode.rawValue))")
      }
    default: self = .database(path: path, why: "\(error)")
    }
  }
}
