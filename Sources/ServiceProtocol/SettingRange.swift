/// What the settings that are numbers may be, for clients that set them and for the service, which has the last word.
package enum SettingRange {
  /// Seconds, by the setting's name in `SettingsSummary`. With less runtime than that an extension would be woken once a day: a
  /// wake takes at least a second, and an app that isn't used has a quarter.
  package static let seconds: [String: ClosedRange<Double>] = [
    "runtimeSeconds": 10...86_400, "callSeconds": 0.1...3_600, "periodicSeconds": 60...2_592_000,
    "essentialWaitSeconds": 0...86_400, "backgroundWaitSeconds": 60...31_536_000,
  ]
  package static let memoryBytes: ClosedRange<Int64> = 1 << 20...1 << 40

  /// `0.1 to 3600`.
  package static func text(_ range: ClosedRange<Double>) -> String {
    func text(_ bound: Double) -> String { bound == bound.rounded() ? "\(Int64(bound))" : "\(bound)" }
    return "\(text(range.lowerBound)) to \(text(range.upperBound))"
  }
}
