internal import Basics
internal import ServiceMachines

/// What will happen in a simulated world, by time; what was put in first comes first.
struct EventQueue<Event> {
  private struct Item {
    var time: Int64
    var sequence: Int64
    var event: Event
  }

  private var items = Heap<Item> { ($0.time, $0.sequence) < ($1.time, $1.sequence) }
  private var sequence: Int64 = 0

  var isEmpty: Bool { items.first == nil }

  mutating func add(_ event: Event, at moment: Instant) {
    sequence += 1
    items.push(Item(time: moment.nanoseconds, sequence: sequence, event: event))
  }

  /// Takes out the next one, unless it is after `end`.
  mutating func next(until end: Instant) -> (moment: Instant, event: Event)? {
    guard let first = items.first, first.time <= end.nanoseconds else { return nil }
    items.pop()
    return (Instant(nanoseconds: first.time), first.event)
  }
}
