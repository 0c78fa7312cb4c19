/// Why an extension is asked for its downloads: the raw values of `BAContentRequest`.
public enum ContentRequestKind: Int32, Sendable, CaseIterable, Codable {
  case install = 1
  case update = 2
  case periodic = 3
  case languageChange = 4

  /// Whether downloads that are part of the installation may be answered (B50).
  public var permitsEssential: Bool { self == .install || self == .update }
}
