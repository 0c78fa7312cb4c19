internal import Basics

/// `Content-Range` of unit `bytes` (RFC 9110, 14.4).
enum ContentRange: Equatable {
  case bytes(first: Int64, last: Int64, total: Int64?)
  case unsatisfied(total: Int64?)

  /// nil for every other unit, and for numbers that contradict each other.
  init?(_ value: String) {
    let unit = "bytes "
    guard value.utf8.count <= 100, value.utf8.allSatisfy({ $0 < 0x80 }),
      HeaderToken.lowercased(value.utf8.prefix(unit.utf8.count)) == unit
    else { return nil }
    let parts = value.dropFirst(unit.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let total = DecimalText.value(parts[1])
    if parts[0] == "*" {
      // An unsatisfied range is nothing but its total.
      guard total != nil else { return nil }
      self = .unsatisfied(total: total)
      return
    }
    guard total != nil || parts[1] == "*" else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = DecimalText.value(ends[0]), let last = DecimalText.value(ends[1]), first <= last,
      last < .max,
      total.map({ last < $0 }) ?? true
    else { return nil }
    self = .bytes(first: first, last: last, total: total)
  }
}
