package struct DownloadSummary: Sendable, Equatable, Codable {
  package enum Urgency: String, Sendable, Codable { case foreground, essential, background }

  /// Why it isn't moving: `explain` has more.
  package struct Waiting: Sendable, Equatable, Codable {
    package var code: String
    package var data: [String: String]
    package var remedy: String

    package init(code: String, data: [String: String], remedy: String) {
      self.code = code
      self.data = data
      self.remedy = remedy
    }
  }

  package var app: String
  package var identifier: String
  package var uniqueIdentifier: String
  /// `waiting`, `downloading`, `paused`, `finished`, `failed`, `cancelled`, `delivering`, `undelivered`.
  package var state: String
  package var isEssential: Bool
  package var isManifest: Bool
  package var priority: Int
  package var `class`: Urgency
  package var receivedBytes: Int64
  package var totalBytes: Int64?
  package var bytesPerSecond: Double?
  package var url: String
  /// `app` or `extension`; `service` for the manifest.
  package var scheduledBy: String
  package var waiting: Waiting?
  /// Why it failed.
  package var failure: ServiceFailure?

  package init(
    app: String, identifier: String, uniqueIdentifier: String, state: String, isEssential: Bool, isManifest: Bool,
    priority: Int, class: Urgency, receivedBytes: Int64, totalBytes: Int64?, bytesPerSecond: Double? = nil,
    url: String, scheduledBy: String, waiting: Waiting? = nil, failure: ServiceFailure? = nil
  ) {
    self.app = app
    self.identifier = identifier
    self.uniqueIdentifier = uniqueIdentifier
    self.state = state
    self.isEssential = isEssential
    self.isManifest = isManifest
    self.priority = priority
    self.class = `class`
    self.receivedBytes = receivedBytes
    self.totalBytes = totalBytes
    self.bytesPerSecond = bytesPerSecond
    self.url = url
    self.scheduledBy = scheduledBy
    self.waiting = waiting
    self.failure = failure
  }
}
