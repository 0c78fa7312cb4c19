/// What a fleet does to its origin.
package struct FleetReport: Sendable, Codable {
  /// Requests that reach the origin: manifests, files, and their retries.
  package struct Load: Sendable, Codable {
    /// Per second, over the whole of a time.
    package var mean: Double
    /// Per second, in the minute with the most.
    package var peak: Double
    package var peakOverMean: Double
  }

  package struct Variant: Sendable, Codable {
    /// Whether wakes and retries are spread by chance.
    package var isSpread: Bool
    /// A whole day in which nothing happens.
    package var steady: Load
    /// The hour without the origin, and the day after its return. Their means are of the steady day.
    package var outage: Load
    package var afterOutage: Load
    package var wakes: Int
    package var manifestRequests: Int
    package var fileRequests: Int
    package var retries: Int
    /// Machines that the origin's absence concerned, and seconds from its return until each has been served.
    package var concernedMachines: Int
    package var unservedMachines: Int
    package var secondsUntilAllServed: Double
    /// Requests of each minute.
    package var arrivals: [Int]
  }

  package var machines: Int
  package var seed: UInt64
  package var days: Double
  package var outageBegins: Double
  package var outageEnds: Double
  package var variants: [Variant]
}

/// Minutes in which requests were counted.
struct ArrivalCount {
  private(set) var minutes: [Int]

  init(seconds: Double) { minutes = Array(repeating: 0, count: Int(seconds / 60) + 1) }

  mutating func add(at seconds: Double) {
    let minute = Int(seconds / 60)
    if minutes.indices.contains(minute) { minutes[minute] += 1 }
  }

  func load(from: Double, to: Double, mean: Double? = nil) -> FleetReport.Load {
    let range = minutes[min(minutes.count, Int(from / 60))..<min(minutes.count, Int(to / 60))]
    let mean = mean ?? Double(range.reduce(0, +)) / max(1, Double(range.count)) / 60
    let peak = Double(range.max() ?? 0) / 60
    return .init(mean: mean, peak: peak, peakOverMean: mean > 0 ? peak / mean : 0)
  }
}
