internal import ServiceProtocol

/// What the service has said to the delegate and the delegate hasn't been told yet, in order.
///
/// Bounded by the number of downloads and calls, however slow the delegate is: of one download, only the newest progress
/// and the newest of begin and pause wait.
struct DelegateInbox {
  /// A call's number is its connection's: another connection may use it again.
  struct CallID: Hashable, Sendable {
    var connection: UInt64
    var number: UInt64
  }

  struct Item: Sendable, Equatable {
    var event: ServiceProtocol.DelegateEvent
    /// What is answered; nil: nothing.
    var call: CallID?
  }

  /// More than the service has downloads under way, by far.
  static let maxItems = 1 << 16

  private struct Waiting {
    var progress: UInt64?
    var transition: UInt64?
  }

  private var items: [UInt64: Item] = [:]
  private var order: [UInt64] = []
  private var head = 0
  private var last: UInt64 = 0
  private var waiting: [String: Waiting] = [:]
  private var calls: [CallID: UInt64] = [:]

  var count: Int { items.count }

  /// Returns whether there was room.
  mutating func add(_ event: ServiceProtocol.DelegateEvent, call: CallID? = nil) -> Bool {
    let item = Item(event: event, call: call)
    let download = event.download.uniqueIdentifier
    if call == nil {
      switch event {
      case .progress:
        if let place = waiting[download]?.progress {
          items[place] = item
          return true
        }
        guard let place = append(item) else { return false }
        waiting[download, default: Waiting()].progress = place
        return true
      case .began, .paused:
        if let place = waiting[download]?.transition { items[place] = nil }
        guard let place = append(item) else { return false }
        waiting[download, default: Waiting()].transition = place
        return true
      case .challenge, .failed, .finished: break
      }
    }
    guard let place = append(item) else { return false }
    if let call { calls[call] = place }
    return true
  }

  mutating func next() -> Item? {
    while head < order.count {
      let place = order[head]
      head += 1
      guard let item = items.removeValue(forKey: place) else { continue }
      forget(item, at: place)
      return item
    }
    order.removeAll(keepingCapacity: order.capacity <= 1024)
    head = 0
    return nil
  }

  /// Returns whether the call was still waiting.
  mutating func withdraw(_ call: CallID) -> Bool {
    guard let place = calls.removeValue(forKey: call) else { return false }
    items[place] = nil
    return true
  }

  /// Answers aren't waited for on a connection that has ended.
  mutating func withdrawAll(of connection: UInt64) {
    for call in calls.keys where call.connection == connection { _ = withdraw(call) }
  }

  private mutating func append(_ item: Item) -> UInt64? {
    guard items.count < Self.maxItems else { return nil }
    // Places whose items were withdrawn or replaced.
    if order.count > 2 * items.count + 64 {
      order = order[head...].filter { items[$0] != nil }
      head = 0
    }
    last += 1
    items[last] = item
    order.append(last)
    return last
  }

  private mutating func forget(_ item: Item, at place: UInt64) {
    if let call = item.call { calls[call] = nil }
    let download = item.event.download.uniqueIdentifier
    guard var rest = waiting[download] else { return }
    if rest.progress == place { rest.progress = nil }
    if rest.transition == place { rest.transition = nil }
    waiting[download] = rest.progress == nil && rest.transition == nil ? nil : rest
  }
}
