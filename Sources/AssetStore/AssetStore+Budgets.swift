public import AssetModel

/// An allowance, in bytes.
public struct Budget: Sendable, Equatable {
  public var allowed: Int64
  public var charged: Int64
  public var reserved: Int64
  public var manifestCharged: Int64
  public var manifestReserved: Int64

  /// What a new job may reserve. A manifest may always have 1 MiB, whatever the other downloads have used; the others never
  /// get that part.
  public func available(forManifest: Bool = false) -> Int64 {
    let manifest = Self.sum(manifestCharged, manifestReserved)
    let used = Self.sum(charged, reserved)
    let left = max(0, allowed - min(allowed, used))
    if forManifest { return max(0, Budgets.manifestPart - manifestReserved, left - min(left, manifest)) }
    return max(0, left - min(left, max(min(allowed, Budgets.manifestPart), manifest)))
  }

  /// Both at least 0; more than any number is the largest one.
  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = max(0, left).addingReportingOverflow(max(0, right))
    return overflow ? .max : sum
  }
}

extension AssetStore {
  /// Sets how many bytes a budget allows, what it was charged with included; nil is no such budget any more.
  public func setBudget(_ name: String, allows bytes: Int64?) throws(StoreError) {
    try ColumnLimits.check("name", name, ColumnLimits.name)
    // A service that starts says again what it said before.
    if let bytes, try budget(name)?.allowed == max(0, bytes) { return }
    try write { try Budgets.set($0, name, bytes) }
  }

  public func budget(_ name: String) throws(StoreError) -> Budget? { try read { try Budgets.budget($0, name) } }

  /// Reserves further bytes for an open job that needs more than it declared: the bytes that are missing, or nil.
  public func reserve(_ bytes: Int64, for job: JobID) throws(StoreError) -> Int64? {
    try write { try Budgets.extend($0, job, by: max(0, bytes)) }
  }
}
