// The shapes in which the command line speaks JSON. Members may be added, never renamed. Times are ISO 8601 in UTC,
// durations seconds, sizes bytes.

package struct AppSummary: Sendable, Equatable, Codable {
  package enum State: String, Sendable, Codable { case installing, updating, launchable, running, removing }

  package struct Gate: Sendable, Equatable, Codable {
    package var isClosed: Bool
    /// Why it is closed, or what opened it.
    package var reason: String

    package init(isClosed: Bool, reason: String) {
      self.isClosed = isClosed
      self.reason = reason
    }
  }

  /// Each from 0 to 1; `fraction` never runs backwards (B53).
  package struct Progress: Sendable, Equatable, Codable {
    package var fraction: Double
    package var base: Double
    package var install: Double
    package var essential: Double
    package var receivedBytes: Int64
    package var expectedBytes: Int64

    package init(
      fraction: Double, base: Double, install: Double, essential: Double, receivedBytes: Int64 = 0,
      expectedBytes: Int64 = 0
    ) {
      self.fraction = fraction
      self.base = base
      self.install = install
      self.essential = essential
      self.receivedBytes = receivedBytes
      self.expectedBytes = expectedBytes
    }
  }

  package struct Allowance: Sendable, Equatable, Codable {
    package var limit: Int64
    package var used: Int64

    package init(limit: Int64, used: Int64) {
      self.limit = limit
      self.used = used
    }
  }

  package struct Restrictions: Sendable, Equatable, Codable {
    package var isActive: Bool
    package var allowance: Allowance
    package var essentialAllowance: Allowance

    package init(isActive: Bool, allowance: Allowance, essentialAllowance: Allowance) {
      self.isActive = isActive
      self.allowance = allowance
      self.essentialAllowance = essentialAllowance
    }
  }

  package struct Runtime: Sendable, Equatable, Codable {
    package var usedSeconds: Double
    package var budgetSeconds: Double
    package var renewsAt: String?

    package init(usedSeconds: Double, budgetSeconds: Double, renewsAt: String? = nil) {
      self.usedSeconds = usedSeconds
      self.budgetSeconds = budgetSeconds
      self.renewsAt = renewsAt
    }
  }

  package struct Refusal: Sendable, Equatable, Codable {
    package var reason: String
    /// When it ends by itself; nil: not by itself.
    package var until: String?

    package init(reason: String, until: String? = nil) {
      self.reason = reason
      self.until = until
    }
  }

  package struct Quarantine: Sendable, Equatable, Codable {
    package var failures: Int
    package var reason: String
    package var until: String

    package init(failures: Int, reason: String, until: String) {
      self.failures = failures
      self.reason = reason
      self.until = until
    }
  }

  package var identifier: String
  package var version: String
  package var name: String
  package var state: State
  package var isPaused: Bool
  package var gate: Gate
  package var progress: Progress
  package var restrictions: Restrictions
  package var runtime: Runtime
  package var nextPeriodicWake: String?
  package var lastRefusal: Refusal?
  package var quarantine: Quarantine?
  package var groups: [String: String]
  package var path: String

  package init(
    identifier: String, version: String, name: String, state: State, isPaused: Bool, gate: Gate, progress: Progress,
    restrictions: Restrictions, runtime: Runtime, nextPeriodicWake: String? = nil, lastRefusal: Refusal? = nil,
    quarantine: Quarantine? = nil, groups: [String: String], path: String
  ) {
    self.identifier = identifier
    self.version = version
    self.name = name
    self.state = state
    self.isPaused = isPaused
    self.gate = gate
    self.progress = progress
    self.restrictions = restrictions
    self.runtime = runtime
    self.nextPeriodicWake = nextPeriodicWake
    self.lastRefusal = lastRefusal
    self.quarantine = quarantine
    self.groups = groups
    self.path = path
  }
}
