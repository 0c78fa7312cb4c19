/// One thing that a bundle has otherwise than it must be (spec, section 3.3).
public struct Finding: Sendable, Equatable, Codable {
  public enum Severity: String, Sendable, Codable {
    /// An app with one isn't installed.
    case error
    case warning
  }

  public var severity: Severity
  /// Which file of the bundle, by its path within it, for example `Info.plist`; empty: the bundle as a whole.
  public var file: String
  /// A key of that file; keys within a dictionary are behind a dot. Empty: the file as a whole.
  public var key: String
  public var expected: String
  public var found: String
  public var remedy: String?

  public init(
    _ severity: Severity = .error, file: String, key: String = "", expected: String, found: String,
    remedy: String? = nil
  ) {
    self.severity = severity
    self.file = file
    self.key = key
    self.expected = expected
    self.found = found
    self.remedy = remedy
  }
}

extension Finding {
  /// In one sentence, for example `Info.plist: BAManifestURL: expected an https URL with a host, found nothing`.
  public var text: String {
    let place = [file, key].filter { !$0.isEmpty }.joined(separator: ": ")
    return (place.isEmpty ? "" : place + ": ") + "expected \(expected), found \(found)"
  }
}
