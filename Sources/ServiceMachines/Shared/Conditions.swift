/// The machine's situation as far as decisions depend on it.
public struct Conditions: Sendable, Equatable, Codable {
  /// Nothing runs and nothing is downloaded in the background (B10).
  public var isLowPower: Bool
  public var isOnline: Bool
  /// Every byte costs: background downloads wait.
  public var isMetered: Bool
  /// The language tag that the user preferred last; nil: unknown.
  public var language: String?

  public init(isLowPower: Bool = false, isOnline: Bool = true, isMetered: Bool = false, language: String? = nil) {
    self.language = language
    self.isLowPower = isLowPower
    self.isOnline = isOnline
    self.isMetered = isMetered
  }
}
