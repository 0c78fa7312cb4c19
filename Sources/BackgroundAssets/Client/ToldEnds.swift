/// Downloads whose end the delegate has handled, by unique identifier: the newest, as many as a service can have offered
/// and not been answered for.
struct ToldEnds {
  static let max = 4096

  private struct Told {
    var end: BADownload.State
    var number: UInt64
  }

  private var ends: [String: Told] = [:]
  private var order: [(name: String, number: UInt64)] = []
  private var last: UInt64 = 0

  func contains(_ end: BADownload.State, of name: String) -> Bool { ends[name]?.end == end }

  mutating func insert(_ end: BADownload.State, of name: String) {
    last += 1
    ends[name] = Told(end: end, number: last)
    order.append((name, last))
    guard order.count >= 2 * Self.max else { return }
    for old in order.prefix(Self.max) where ends[old.name]?.number == old.number { ends[old.name] = nil }
    order.removeFirst(Self.max)
  }

  /// It has begun anew, and will end anew.
  mutating func remove(_ name: String) { ends[name] = nil }
}
