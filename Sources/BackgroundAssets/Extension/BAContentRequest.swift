/// Why an extension is asked for downloads. Corresponds to Apple's `BAContentRequest`.
public enum BAContentRequest: Int, Sendable {
  /// The app was installed.
  case install = 1
  /// The app was updated.
  case update = 2
  /// From time to time, for new content.
  case periodic = 3
  /// The app's preferred language has changed.
  case languageChange = 4
}
