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

/// One event of the service, as it stands in its log.
package struct LogLine: Sendable, Equatable, Codable {
  package var at: String
  package var level: String
  package var app: String?
  package var event: String
  package var detail: String

  package init(at: String, level: String, app: String?, event: String, detail: String) {
    self.at = at
    self.level = level
    self.app = app
    self.event = event
    self.detail = detail
  }
}

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

package struct SettingsSummary: Sendable, Equatable, Codable {
  /// What is set for one app; nil: as for all.
  package struct App: Sendable, Equatable, Codable {
    package var isBackgroundActivityAllowed: Bool?
    package var isContentBeforeLaunchAllowed: Bool?
    package var memoryBytes: Int64?
    package var runtimeSeconds: Double?
    package var callSeconds: Double?
    package var periodicSeconds: Double?

    package init() {}
  }

  package var isBackgroundActivityAllowed: Bool
  package var isContentBeforeLaunchAllowed: Bool
  package var isLowPower: Bool
  package var isMetered: Bool
  /// Whether somebody has set it; otherwise it is as the machine says.
  package var isLowPowerSet: Bool
  package var isMeteredSet: Bool
  /// The language tag that extensions are asked for (RFC 5646); nil: unknown.
  package var language: String?
  package var isLanguageSet: Bool
  /// 6.3: bytes and seconds.
  package var memoryBytes: Int64
  package var runtimeSeconds: Double
  package var callSeconds: Double
  /// Between periodic wakes of an app; nil: as the app is used.
  package var periodicSeconds: Double?
  /// L11.
  package var essentialWaitSeconds: Double
  package var backgroundWaitSeconds: Double
  package var apps: [String: App]

  package init(
    isBackgroundActivityAllowed: Bool = true, isContentBeforeLaunchAllowed: Bool = true, isLowPower: Bool = false,
    isMetered: Bool = false, isLowPowerSet: Bool = false, isMeteredSet: Bool = false, language: String? = nil,
    isLanguageSet: Bool = false, memoryBytes: Int64 = 8 << 20, runtimeSeconds: Double = 600, callSeconds: Double = 30,
    periodicSeconds: Double? = nil, essentialWaitSeconds: Double = 10, backgroundWaitSeconds: Double = 1_209_600,
    apps: [String: App] = [:]
  ) {
    self.periodicSeconds = periodicSeconds
    self.essentialWaitSeconds = essentialWaitSeconds
    self.backgroundWaitSeconds = backgroundWaitSeconds
    self.isBackgroundActivityAllowed = isBackgroundActivityAllowed
    self.isContentBeforeLaunchAllowed = isContentBeforeLaunchAllowed
    self.isLowPower = isLowPower
    self.isMetered = isMetered
    self.isLowPowerSet = isLowPowerSet
    self.isMeteredSet = isMeteredSet
    self.language = language
    self.isLanguageSet = isLanguageSet
    self.memoryBytes = memoryBytes
    self.runtimeSeconds = runtimeSeconds
    self.callSeconds = callSeconds
    self.apps = apps
  }
}

package struct StatusSummary: Sendable, Equatable, Codable {
  package var process: Int32
  package var version: String
  package var startedAt: String
  package var isDevelopment: Bool
  package var socket: String
  package var database: String
  package var databaseBytes: Int64
  package var apps: Int
  package var downloads: Int
  package var connections: Int
  package var memoryBytes: Int64

  package init(
    process: Int32, version: String, startedAt: String, isDevelopment: Bool, socket: String, database: String,
    databaseBytes: Int64, apps: Int, downloads: Int, connections: Int, memoryBytes: Int64
  ) {
    self.process = process
    self.version = version
    self.startedAt = startedAt
    self.isDevelopment = isDevelopment
    self.socket = socket
    self.database = database
    self.databaseBytes = databaseBytes
    self.apps = apps
    self.downloads = downloads
    self.connections = connections
    self.memoryBytes = memoryBytes
  }
}
