/// Why a bundle wasn't read, made, placed or removed. Nothing has changed, unless `reason` says so.
package struct BundleError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// Nothing is at the given path, or it can't be read.
    case unreadable
    /// What is there is neither an app nor an archive with exactly one.
    case notABundle
    /// It breaks rules of the specification: see `findings`.
    case invalid
    /// It has something that no bundle may have: a device, a link out of it, a path with `..`.
    case unsafeContent
    /// It is larger, deeper, or has more files than `BundleLimits` allows.
    case tooLarge
    /// An archive that is damaged or cut.
    case damagedArchive
    /// An app group belongs to another app (L16).
    case groupTaken
    /// An installation is to share an app group that the app doesn't declare.
    case groupNotDeclared
    /// The volume is full, or the user's quota is.
    case noSpace
    /// No app with that identifier is installed.
    case notInstalled
    /// The system refused something else.
    case systemRefused
  }

  package var code: Code
  /// A path or an identifier.
  package var subject: String
  /// The rest of a sentence that begins with the subject.
  package var reason: String
  package var remedy: String?
  /// Everything that the check found, warnings included; not empty where `code` is `.invalid`.
  package var findings: [Finding]

  package init(
    _ code: Code, _ subject: String, _ reason: String, remedy: String? = nil, findings: [Finding] = []
  ) {
    self.code = code
    self.subject = subject
    self.reason = reason
    self.remedy = remedy
    self.findings = findings
  }

  package var description: String { "\(subject): \(reason)" + (remedy.map { "; \($0)" } ?? "") }
}
