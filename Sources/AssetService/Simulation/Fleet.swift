internal import Basics
internal import ServiceMachines

/// Many machines and the one origin of their app, which goes away for an hour.
package struct Fleet {
  static let day = 86_400.0
  /// After two days: the first lets the machines find their rhythm, the second is measured.
  static let outageBegins = 2.5 * day
  static let outageEnds = outageBegins + 3600
  static let end = outageEnds + day

  private var machines: [FleetMachine]
  private var queue = EventQueue<(machine: Int, event: FleetMachine.Event)>()
  private var arrivals = ArrivalCount(seconds: Self.end)
  private var lastServed = 0.0

  /// With jitter and without.
  package static func report(machines: Int, seed: UInt64) -> FleetReport {
    FleetReport(
      machines: machines, seed: seed, days: end / day, outageBegins: outageBegins, outageEnds: outageEnds,
      variants: [true, false].map { isSpread in
        var fleet = Fleet(machines: machines, seed: seed, isSpread: isSpread)
        return fleet.run(isSpread: isSpread)
      })
  }

  init(machines count: Int, seed: UInt64, isSpread: Bool) {
    var random = SeededGenerator(seed: seed)
    machines = (0..<count).map { _ in FleetMachine(seed: random.next(), isSpread: isSpread) }
    for index in machines.indices {
      for plan in machines[index].begin() { queue.add((index, plan.event), at: plan.moment) }
    }
  }

  mutating func run(isSpread: Bool) -> FleetReport.Variant {
    let (from, to) = (Instant(seconds: Self.outageBegins), Instant(seconds: Self.outageEnds))
    while let next = queue.next(until: Instant(seconds: Self.end)) {
      let (index, event) = next.event
      let isUp = next.moment < from || next.moment >= to
      let wasUnserved = machines[index].isUnserved
      let requests = machines[index].manifestRequests + machines[index].fileRequests
      let plans = machines[index].handle(event, next.moment, isOriginUp: isUp)
      if machines[index].manifestRequests + machines[index].fileRequests > requests {
        arrivals.add(at: next.moment.seconds)
      }
      if wasUnserved, !machines[index].isUnserved { lastServed = next.moment.seconds }
      for plan in plans { queue.add((index, plan.event), at: plan.moment) }
    }
    return variant(isSpread)
  }

  private func variant(_ isSpread: Bool) -> FleetReport.Variant {
    let steady = arrivals.load(from: Self.day, to: 2 * Self.day)
    return FleetReport.Variant(
      isSpread: isSpread, steady: steady,
      outage: arrivals.load(from: Self.outageBegins, to: Self.outageEnds, mean: steady.mean),
      afterOutage: arrivals.load(from: Self.outageEnds, to: Self.end, mean: steady.mean),
      wakes: machines.reduce(0) { $0 + $1.wakes },
      manifestRequests: machines.reduce(0) { $0 + $1.manifestRequests },
      fileRequests: machines.reduce(0) { $0 + $1.fileRequests }, retries: machines.reduce(0) { $0 + $1.retries },
      concernedMachines: machines.lazy.filter(\.wasConcerned).count,
      unservedMachines: machines.lazy.filter(\.isUnserved).count,
      secondsUntilAllServed: max(0, lastServed - Self.outageEnds), arrivals: arrivals.minutes)
  }
}
