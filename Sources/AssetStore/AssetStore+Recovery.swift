extension AssetStore {
  /// What opening had to put right.
  public struct Recovery: Sendable, Equatable {
    /// The pid of a holder that died without closing the store.
    public var diedBefore: Int32?
    /// Every page was looked at: after such a death, or when the file had been changed from outside.
    public var wasChecked = false
    /// Why the database was replaced, and where its copy lies.
    public var damage: String?
    public var copy: String?
    /// The backup that took its place, and when that was made (nanoseconds since 1970); nil: an empty database did.
    public var backup: String?
    /// When that backup was made, in nanoseconds since 1970.
    public var backupMade: Int64?

    /// Creates a recovery that had nothing to do.
    public init() {}
  }
}
