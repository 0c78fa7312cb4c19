/// Events that wait for one reader, up to a bound. What finds it full is counted, and the count stands in its place. A pure value.
struct EventQueue {
  static let maxEvents = 1024
  static let maxBytes = 256 << 10

  private var waiting: [PluginEvent] = []
  /// Of `waiting`, those that were taken.
  private var taken = 0
  private var bytes = 0
  /// Since the last event that found room.
  private var missed = 0

  /// No event finds room.
  var isFull: Bool { waiting.count - taken >= Self.maxEvents || bytes >= Self.maxBytes }

  mutating func miss() { missed += 1 }

  mutating func add(_ event: PluginEvent) {
    guard !isFull else { return miss() }
    if missed > 0 { waiting.append(.missed(exchange(&missed, with: 0))) }
    waiting.append(event)
    bytes += Self.bytes(of: event)
  }

  mutating func next() -> PluginEvent? {
    guard taken < waiting.count else {
      return missed > 0 ? .missed(exchange(&missed, with: 0)) : nil
    }
    let event = waiting[taken]
    bytes -= Self.bytes(of: event)
    taken += 1
    // Each is moved once on average.
    if taken * 2 >= waiting.count {
      waiting.removeFirst(taken)
      taken = 0
    }
    return event
  }

  private static func bytes(of event: PluginEvent) -> Int {
    switch event {
    case .logged(let line): line.message.utf8.count + line.subsystem.utf8.count + line.category.utf8.count
    case .denied(let denial): denial.target.utf8.count + (denial.path?.utf8.count ?? 0) + denial.operation.utf8.count
    case .missed: 0
    }
  }
}
