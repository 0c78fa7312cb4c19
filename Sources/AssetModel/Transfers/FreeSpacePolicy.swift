/// How much of a volume stays free, and what happens as that gets short. Pure; all numbers are bytes.
public struct FreeSpacePolicy: Sendable, Equatable {
  /// How full a volume is.
  package enum Verdict: Sendable, Equatable {
    case plenty
    /// Apps are told; no background job starts.
    case low
    /// Background pauses, and purging runs until so many bytes are free.
    case short(purgeUntil: Int64)
  }

  /// Bytes that stay free however small the volume is.
  public var minimum: Int64
  /// Hundredths of the volume.
  public var percent: Int64
  /// However large the volume is.
  public var maximum: Int64

  /// Creates a policy.
  public init(minimum: Int64 = 512 << 20, percent: Int64 = 3, maximum: Int64 = .max) {
    self.minimum = minimum
    self.percent = percent
    self.maximum = maximum
  }

  /// Bytes that a volume has still to find for a file of `total`: neither what has arrived nor what was allocated for it,
  /// beyond its end as well, is taken from what is free once more.
  package static func need(total: Int64, arrived: Int64, allocated: Int64) -> Int64 {
    max(0, total - max(0, arrived, allocated))
  }

  /// What stays free, always.
  package func floor(total: Int64) -> Int64 {
    max(minimum, min(maximum, total / 100 * percent + total % 100 * percent / 100))
  }

  package func verdict(free: Int64, total: Int64, need: Int64 = 0) -> Verdict {
    let floor = floor(total: total)
    if free < floor { return .short(purgeUntil: purgeTarget(need: need, total: total)) }
    return free < backgroundFloor(total: total) ? .low : .plenty
  }

  /// No background job starts while less is free.
  package func backgroundFloor(total: Int64) -> Int64 { 2 * floor(total: total) }

  /// Purging stops when this is free.
  package func purgeTarget(need: Int64, total: Int64) -> Int64 {
    let floor = floor(total: total)
    return Self.sum(Self.sum(max(0, need), floor), floor / 20)
  }

  /// Needs come from clients and servers: what is more than any number is the largest one.
  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }

  /// Whether a job may begin to write: what others have reserved counts as written. A background job also leaves alone
  /// what is low already.
  package func allows(
    need: Int64, free: Int64, reserved: DiskReservation, total: Int64, freeInodes: Int64?, isBackground: Bool = false
  ) -> Bool {
    if let freeInodes, freeInodes <= reserved.inodes { return false }
    if isBackground, verdict(free: free, total: total) != .plenty { return false }
    return free >= Self.sum(Self.sum(max(0, reserved.bytes), max(0, need)), floor(total: total))
  }
}
