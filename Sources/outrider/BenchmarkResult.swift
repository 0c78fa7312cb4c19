internal import Glibc

struct BenchmarkResult: Encodable {
  /// Times of one thing, in microseconds.
  struct Figures: Encodable {
    var name: String
    var p50: Double
    var p90: Double
    var p99: Double

    init(_ name: String, _ seconds: [Double]) {
      let sorted = seconds.sorted()
      func at(_ share: Double) -> Double {
        sorted.isEmpty ? 0 : sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)] * 1e6
      }
      self.name = name
      (p50, p90, p99) = (at(0.5), at(0.9), at(0.99))
    }
  }

  struct Count: Encodable {
    var name: String
    var value: Int
    var unit: String
  }

  /// What two figures of the same run come to beside each other.
  struct Ratio: Encodable {
    var name: String
    var value: Double

    /// Nil where there is nothing to compare with.
    init?(_ name: String, _ value: Double, to other: Double) {
      guard other > 0 else { return nil }
      (self.name, self.value) = (name, value / other)
    }
  }

  var microseconds: [Figures] = []
  var ratios: [Ratio] = []
  var counts: [Count] = []
  /// Over one, five and fifteen minutes.
  var load: [Double] = Self.loadAverage()

  private static func loadAverage() -> [Double] {
    var load = [Double](repeating: 0, count: 3)
    let found = getloadavg(&load, 3)
    return Array(load.prefix(Int(max(found, 0))))
  }
}
