/// The process that has a state folder.
public struct StoreHolder: Sendable, Equatable {
  /// The process's identifier.
  public var pid: Int32
  /// The name of its program.
  public var program: String
  /// Nanoseconds since 1970.
  public var since: Int64

  /// From the words of the lock file; `closed` and numbers where it isn't held.
  init(_ fields: [String]) {
    pid = fields.first.flatMap { Int32($0) } ?? 0
    program = fields.count > 2 ? fields[2] : "another process"
    since = fields.count > 2 ? Int64(fields[1]) ?? 0 : 0
  }
}
