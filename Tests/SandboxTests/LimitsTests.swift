import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct LimitsTests {
  private static var numbers: [(String, WritableKeyPath<Limits, Int>, least: Int, most: Int)] {
    [
      ("memory", \.memory, 1, 9_000_000_000_000_000), ("openFiles", \.openFiles, 8, 1_048_576),
      ("fileSize", \.fileSize, 0, 9_000_000_000_000_000), ("threads", \.threads, 0, 32_768),
      ("logBytes", \.logBytes, 0, 9_000_000_000_000_000), ("frameBytes", \.frameBytes, 1, 1_073_741_824),
    ]
  }

  @Test func numbersHaveRanges() {
    #expect(Limits().rejectionReason == nil)
    for (name, limit, least, most) in Self.numbers {
      var limits = Limits()
      for value in [least, most] {
        limits[keyPath: limit] = value
        #expect(limits.rejectionReason == nil, "\(name) \(value)")
      }
      for value in [least - 1, most + 1, -1, .min, .min + 1, .max, .max / 2 + 1] {
        limits[keyPath: limit] = value
        #expect(limits.rejectionReason?.hasPrefix("\(name) is \(value); ") == true, "\(name) \(value)")
      }
    }
  }

  @Test func timesHaveRanges() {
    for (name, limit) in [("wall", \Limits.wallTime), ("cpu", \.cpu), ("cpuTotal", \.cpuTotal)] {
      var limits = Limits()
      for time in [.nanoseconds(1), .seconds(900_000_000)] as [Duration] {
        limits[keyPath: limit] = time
        #expect(limits.rejectionReason == nil, "\(name) \(time)")
      }
      let wrong: [Duration] = [
        .zero, .nanoseconds(-1), .seconds(900_000_001), .seconds(Int64.max), .seconds(Int64.min),
      ]
      for time in wrong {
        limits[keyPath: limit] = time
        #expect(limits.rejectionReason?.hasPrefix("\(name) is ") == true, "\(name) \(time)")
      }
    }
  }
}
