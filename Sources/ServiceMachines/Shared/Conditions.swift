/// The machine's situation as far as decisions depend on it.
package struct Conditions: Sendable, Equatable, Codable {
  /// Nothing runs and nothing is downloaded in the background (B10).
  package var isLowPower: Bool
  package var isOnline: Bool
  /// Every byte costs: background downloads wait.
  package var isMetered: Bool
  /// The language tag that the user preferred last; nil: unknown.
  package var language: String?

  package init(isLowPower: Bool = false, isOnline: Bool = true, isMetered: Bool = false, language: String? = nil) {
    self.language = language
    self.isLowPower = isLowPower
    self.isOnline = isOnline
    self.isMetered = isMetered
  }
}
