internal import ServiceMachines

/// What will happen in a simulated world, by time; what was put in first comes first.
struct EventQueue<Event> {
  private struct Item {
    var time: Int64
    var sequence: Int64
    var event: Event

    func isBefore(_ other: Item) -> Bool { (time, sequence) < (other.time, other.sequence) }
  }

  /// A binary heap.
  private var items: [Item] = []
  private var sequence: Int64 = 0

  var isEmpty: Bool { items.isEmpty }

  mutating func add(_ event: Event, at moment: Instant) {
    sequence += 1
    items.append(Item(time: moment.nanoseconds, sequence: sequence, event: event))
    var child = items.count - 1
    while child > 0, items[child].isBefore(items[(child - 1) / 2]) {
      items.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Takes out the next one, unless it is after `end`.
  mutating func next(until end: Instant) -> (moment: Instant, event: Event)? {
    guard let first = items.first, first.time <= end.nanoseconds else { return nil }
    let last = items.removeLast()
    if !items.isEmpty {
      items[0] = last
      sink()
    }
    return (Instant(nanoseconds: first.time), first.event)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < items.count && items[child].isBefore(items[least]) {
        least = child
      }
      if least == parent { return }
      items.swapAt(parent, least)
      parent = least
    }
  }
}
