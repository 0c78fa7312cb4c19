package struct ExplanationSummary: Sendable, Equatable, Codable {
  /// `app`, `download` or `wake`.
  package var kind: String
  package var subject: String
  package var code: String
  package var data: [String: String]
  /// What it waits for, as a sentence.
  package var message: String
  package var since: String?
  package var until: String?
  /// What ends it.
  package var remedy: String

  package init(
    kind: String, subject: String, code: String, data: [String: String], message: String, since: String? = nil,
    until: String? = nil, remedy: String
  ) {
    self.kind = kind
    self.subject = subject
    self.code = code
    self.data = data
    self.message = message
    self.since = since
    self.until = until
    self.remedy = remedy
  }
}
