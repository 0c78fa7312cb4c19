/// An allowance, in bytes.
public struct Budget: Sendable, Equatable {
  /// Bytes that may be transferred in all.
  public var allowed: Int64
  /// Bytes that were received, heads included.
  public var charged: Int64
  /// Bytes that open jobs still expect.
  public var reserved: Int64
  /// The part of `charged` that manifests were.
  public var manifestCharged: Int64
  /// The part of `reserved` that manifests expect.
  public var manifestReserved: Int64

  /// What a new job may reserve. A manifest may always have 1 MiB, whatever the other downloads have used; the others never
  /// get that part.
  ///
  /// - Parameter forManifest: Whether the job is the download of the app's manifest.
  /// - Returns: Bytes, 0 or more.
  public func available(forManifest: Bool = false) -> Int64 {
    if forManifest { return available(forManifestThatReceived: 0) }
    let manifest = Self.sum(manifestCharged, manifestReserved)
    return max(0, left - min(left, max(min(allowed, Budgets.manifestPart), manifest)))
  }

  /// What a job may reserve whose manifest has received so many bytes already. They were of its part: whoever came back for
  /// the rest again and again would have a part each time, and no end.
  func available(forManifestThatReceived received: Int64) -> Int64 {
    let manifest = Self.sum(manifestCharged, manifestReserved)
    let part = max(0, Budgets.manifestPart - min(Budgets.manifestPart, Self.sum(received, manifestReserved)))
    return max(part, left - min(left, manifest))
  }

  /// By what isn't a manifest.
  private var left: Int64 { max(0, allowed - min(allowed, Self.sum(charged, reserved))) }

  /// Both at least 0; more than any number is the largest one.
  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = max(0, left).addingReportingOverflow(max(0, right))
    return overflow ? .max : sum
  }
}

/// Budgets by name.
public struct BudgetRecords: Sendable {
  let database: StoreDatabase

  /// Sets how many bytes a budget allows, what it was charged with included.
  ///
  /// - Parameters:
  ///   - name: The budget's name.
  ///   - bytes: What it allows in all; nil removes it.
  /// - Throws: `StoreError.tooLong` for a name that is too long, or what kept the transaction from being written.
  public func set(_ name: String, allows bytes: Int64?) throws(StoreError) {
    try ColumnLimits.check("name", name, ColumnLimits.name)
    // A service that starts says again what it said before.
    if let bytes, try budget(name)?.allowed == max(0, bytes) { return }
    try database.write { try Budgets.set($0, name, bytes) }
  }

  /// What a budget allows and what was used of it.
  ///
  /// - Parameter name: The budget's name.
  /// - Returns: The budget; nil: there is none of that name.
  /// - Throws: `StoreError` where it can't be read.
  public func budget(_ name: String) throws(StoreError) -> Budget? {
    try database.read { try Budgets.budget($0, name) }
  }
}
