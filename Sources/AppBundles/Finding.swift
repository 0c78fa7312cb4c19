/// One thing that a bundle has otherwise than it must be (spec, section 3.3).
package struct Finding: Sendable, Equatable, Codable {
  package enum Severity: String, Sendable, Codable {
    /// An app with one isn't installed.
    case error
    case warning
  }

  package var severity: Severity
  /// Which file of the bundle, by its path within it, for example `Info.plist`; empty: the bundle as a whole.
  package var file: String
  /// A key of that file; keys within a dictionary are behind a dot. Empty: the file as a whole.
  package var key: String
  package var expected: String
  package var found: String
  package var remedy: String?

  package init(
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
  package var text: String {
    let place = [file, key].filter { !$0.isEmpty }.joined(separator: ": ")
    return (place.isEmpty ? "" : place + ": ") + "expected \(expected), found \(found)"
  }
}
