internal import HeapModule
internal import ServiceMachines

/// What will happen in a simulated world, by time; what was put in first comes first.
struct EventQueue<Event> {
  private struct Item: Comparable {
    var time: Int64
    /// No two items have the same.
    var sequence: Int64
    var event: Event

    static func < (left: Self, right: Self) -> Bool { (left.time, left.sequence) < (right.time, right.sequence) }
    static func == (left: Self, right: Self) -> Bool { left.sequence == right.sequence }
  }

  private var items = Heap<Item>()
  private var sequence: Int64 = 0

  var isEmpty: Bool { items.isEmpty }

  mutating func add(_ event: Event, at moment: Instant) {
    sequence += 1
    items.insert(Item(time: moment.nanoseconds, sequence: sequence, event: event))
  }

  /// Takes out the next one, unless it is after `end`.
  mutating func next(until end: Instant) -> (moment: Instant, event: Event)? {
    guard let first = items.min, first.time <= end.nanoseconds else { return nil }
    items.removeMin()
    return (Instant(nanoseconds: first.time), first.event)
  }
}
