package struct RunSummary: Sendable, Equatable, Codable {
  package struct Outcome: Sendable, Equatable, Codable {
    /// As `outrider run` names it: `returned`, `crashed`, `wallTimeExceeded`…; `refused`, `running`, `interrupted`.
    package var kind: String
    package var detail: String

    /// Of a run that hasn't ended.
    package static let runningKind = "running"

    package init(kind: String, detail: String) {
      self.kind = kind
      self.detail = detail
    }
  }

  package struct Usage: Sendable, Equatable, Codable {
    package var wallSeconds: Double
    package var cpuSeconds: Double
    package var peakMemoryBytes: Int64

    package init(wallSeconds: Double, cpuSeconds: Double, peakMemoryBytes: Int64) {
      self.wallSeconds = wallSeconds
      self.cpuSeconds = cpuSeconds
      self.peakMemoryBytes = peakMemoryBytes
    }
  }

  package struct Rejection: Sendable, Equatable, Codable {
    package var identifier: String
    package var code: Int
    package var reason: String

    package init(identifier: String, code: Int, reason: String) {
      self.identifier = identifier
      self.code = code
      self.reason = reason
    }
  }

  package struct Downloads: Sendable, Equatable, Codable {
    package var accepted: Int
    package var rejected: [Rejection]
    /// How many more were rejected: the first of an answer are kept. nil: none.
    package var furtherRejected: Int?

    package init(accepted: Int, rejected: [Rejection]) {
      self.accepted = accepted
      self.rejected = rejected
    }
  }

  package struct Denial: Sendable, Equatable, Codable {
    package var call: String
    package var times: Int

    package init(call: String, times: Int) {
      self.call = call
      self.times = times
    }
  }

  package var app: String
  package var id: Int64
  /// `install`, `update`, `periodic`, `languageChange`, or `callbacks`.
  package var request: String
  package var startedAt: String
  package var outcome: Outcome
  package var usage: Usage
  /// By name, in seconds and bytes.
  package var limits: [String: Double]
  package var downloads: Downloads
  package var denials: [Denial]
  package var log: [String]

  package init(
    app: String, id: Int64, request: String, startedAt: String, outcome: Outcome, usage: Usage,
    limits: [String: Double], downloads: Downloads, denials: [Denial], log: [String]
  ) {
    self.app = app
    self.id = id
    self.request = request
    self.startedAt = startedAt
    self.outcome = outcome
    self.usage = usage
    self.limits = limits
    self.downloads = downloads
    self.denials = denials
    self.log = log
  }
}
