/// The totals that the delegate was last told, from which follows what was written since.
struct ProgressTotals {
  /// Of downloads whose end wasn't reported: then all are forgotten.
  static let maxDownloads = 1 << 16

  private var totals: [String: Int64] = [:]

  /// Bytes since the last call; a total that is smaller than the last is that of a transfer that began anew.
  mutating func written(of download: String, total: Int64) -> Int64 {
    let last = totals[download] ?? 0
    if totals.count >= Self.maxDownloads { totals = [:] }
    totals[download] = total
    return total >= last ? total - last : total
  }

  mutating func end(_ download: String) { totals[download] = nil }
}
