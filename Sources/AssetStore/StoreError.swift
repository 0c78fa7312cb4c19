/// Why a state folder can't be used, in one sentence with its remedy.
public enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process has it.
  case heldBy(pid: Int32, program: String, path: String)
  /// The folder isn't what it has to be.
  case unusable(path: String, why: String, remedy: String)
  /// The database is damaged; a copy was kept, nothing was changed.
  case corrupt(path: String, why: String, copy: String)
  /// Made by a newer program, and not touched.
  case newer(path: String)
  /// SQLite says so.
  case database(path: String, why: String)

  public var description: String {
    switch self {
    case .heldBy(let pid, let program, let path):
      "\(path) is in use by \(program) (process \(pid)); wait for it, end it, or name another state folder"
    case .unusable(let path, let why, let remedy): "\(path): \(why); \(remedy)"
    case .corrupt(let path, let why, let copy):
      "\(path) is damaged (\(why)); a copy is at \(copy); start a fresh one with --start-fresh, and what was open is fetched again"
    case .newer(let path):
      "\(path) was made by a newer Outrider and is left alone; use that one, or another state folder"
    case .database(let path, let why): "\(path): \(why)"
    }
  }
}
