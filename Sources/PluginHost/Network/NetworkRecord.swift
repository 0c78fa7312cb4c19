/// What a plugin did with its network, bounded whatever it does. A pure value.
struct NetworkRecord: Sendable {
  /// By the numbers of the plan's places.
  private(set) var rows: [RunReport.Connection]
  private(set) var denials: [RunReport.Denial] = []
  private(set) var droppedDenials = 0
  private var places: [String: Int] = [:]

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

  /// Counts a connection that isn't made. Returns the row where it is the first of its kind.
  mutating func denied(layer: String, target: String) -> RunReport.Denial? {
    let key = "\(layer) \(target)"
    if let place = places[key] {
      denials[place].count += 1
      return nil
    }
    guard denials.count < DenialRecorder.maxRows else {
      droppedDenials += 1
      return nil
    }
    let denial = RunReport.Denial(layer: layer, operation: "connect", target: target, count: 1)
    places[key] = denials.count
    denials.append(denial)
    return denial
  }

  /// Those that were tried.
  var connections: [RunReport.Connection] { rows.filter { $0.count + $0.failed > 0 } }
}
