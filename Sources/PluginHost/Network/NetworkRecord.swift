/// What a plugin did with its network, bounded, no matter what it does. A pure value.
struct NetworkRecord: Sendable {
  /// By the numbers of the plan's places.
  private(set) var rows: [RunReport.Connection]
  private(set) var denials: [RunReport.Denial] = []
  private(set) var droppedDenials = 0
  private var places: [String: Int] = [:]
  private var connectedNames: Set<String> = []

  init(_ plan: NetworkPlan) {
    rows = plan.places.map { RunReport.Connection(target: $0.endpoint.text) }
  }

  mutating func opened(_ place: Int) { rows[place].count += 1 }

  mutating func moved(_ place: Int, sent: Int, received: Int) {
    rows[place].sent += UInt64(sent)
    rows[place].received += UInt64(received)
  }

  mutating func failed(_ place: Int, _ reason: String) {
    rows[place].failed += 1
    rows[place].failure = reason
  }

  mutating func missed(_ count: Int) { droppedDenials += count }

  /// A name that isn't listed was more than asked for.
  mutating func connected(_ name: String) { connectedNames.insert(name) }

  /// `asked`: names that aren't listed, with how often. Where nothing was connected to, that is all there is to report.
  mutating func end(asked: [(name: String, count: Int)]) {
    for (name, count) in asked where !connectedNames.contains(name) {
      _ = denied(wall: "network", target: name, by: Self.lookup, count: count)
    }
  }

  /// How the report calls a question for a name.
  static let lookup = "lookup"

  /// Counts what isn't done for the plugin. Returns the row where it is the first of its kind.
  mutating func denied(
    wall: String, target: String, by operation: String = "connect", count: Int = 1
  ) -> RunReport.Denial? {
    let key = "\(wall) \(operation) \(target)"
    if let place = places[key] {
      denials[place].count += count
      return nil
    }
    guard denials.count < DenialRecorder.maxRows else {
      droppedDenials += count
      return nil
    }
    let denial = RunReport.Denial(wall: wall, operation: operation, target: target, count: count)
    places[key] = denials.count
    denials.append(denial)
    return denial
  }

  /// Those that were tried.
  var connections: [RunReport.Connection] { rows.filter { $0.count + $0.failed > 0 } }
}
