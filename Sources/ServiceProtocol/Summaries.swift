// The shapes in which the command line speaks JSON. Members may be added, never renamed. Times are ISO 8601 in UTC,
// durations seconds, sizes bytes.

public struct AppSummary: Sendable, Equatable, Codable {
  public enum State: String, Sendable, Codable { case installing, updating, launchable, running, removing }

  public struct Gate: Sendable, Equatable, Codable {
    public var isClosed: Bool
    /// Why it is closed, or what opened it.
    public var reason: String

    public init(isClosed: Bool, reason: String) {
      self.isClosed = isClosed
      self.reason = reason
    }
  }

  /// Each from 0 to 1; `fraction` never runs backwards (B53).
  public struct Progress: Sendable, Equatable, Codable {
    public var fraction: Double
    public var base: Double
    public var install: Double
    public var essential: Double
    public var receivedBytes: Int64
    public var expectedBytes: Int64

    public init(
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

  public struct Allowance: Sendable, Equatable, Codable {
    public var limit: Int64
    public var used: Int64

    public init(limit: Int64, used: Int64) {
      self.limit = limit
      self.used = used
    }
  }

  public struct Restrictions: Sendable, Equatable, Codable {
    public var isActive: Bool
    public var allowance: Allowance
    public var essentialAllowance: Allowance

    public init(isActive: Bool, allowance: Allowance, essentialAllowance: Allowance) {
      self.isActive = isActive
      self.allowance = allowance
      self.essentialAllowance = essentialAllowance
    }
  }

  public struct Runtime: Sendable, Equatable, Codable {
    public var usedSeconds: Double
    public var budgetSeconds: Double
    public var renewsAt: String?

    public init(usedSeconds: Double, budgetSeconds: Double, renewsAt: String? = nil) {
      self.usedSeconds = usedSeconds
      self.budgetSeconds = budgetSeconds
      self.renewsAt = renewsAt
    }
  }

  public struct Refusal: Sendable, Equatable, Codable {
    public var reason: String
    /// When it ends by itself; nil: not by itself.
    public var until: String?

    public init(reason: String, until: String? = nil) {
      self.reason = reason
      self.until = until
    }
  }

  public struct Quarantine: Sendable, Equatable, Codable {
    public var failures: Int
    public var reason: String
    public var until: String

    public init(failures: Int, reason: String, until: String) {
      self.failures = failures
      self.reason = reason
      self.until = until
    }
  }

  public var identifier: String
  public var version: String
  public var name: String
  public var state: State
  public var isPaused: Bool
  public var gate: Gate
  public var progress: Progress
  public var restrictions: Restrictions
  public var runtime: Runtime
  public var nextPeriodicWake: String?
  public var lastRefusal: Refusal?
  public var quarantine: Quarantine?
  public var groups: [String: String]
  public var path: String

  public init(
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

public struct DownloadSummary: Sendable, Equatable, Codable {
  public enum Urgency: String, Sendable, Codable { case foreground, essential, background }

  /// Why it isn't moving: `explain` has more.
  public struct Waiting: Sendable, Equatable, Codable {
    public var code: String
    public var data: [String: String]
    public var remedy: String

    public init(code: String, data: [String: String], remedy: String) {
      self.code = code
      self.data = data
      self.remedy = remedy
    }
  }

  public var app: String
  public var identifier: String
  public var uniqueIdentifier: String
  /// `waiting`, `downloading`, `paused`, `finished`, `failed`, `cancelled`, `delivering`, `undelivered`.
  public var state: String
  public var isEssential: Bool
  public var isManifest: Bool
  public var priority: Int
  public var `class`: Urgency
  public var receivedBytes: Int64
  public var totalBytes: Int64?
  public var bytesPerSecond: Double?
  public var url: String
  /// `app` or `extension`; `service` for the manifest.
  public var scheduledBy: String
  public var waiting: Waiting?
  /// Why it failed.
  public var failure: ServiceFailure?

  public init(
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

public struct RunSummary: Sendable, Equatable, Codable {
  public struct Outcome: Sendable, Equatable, Codable {
    /// As `outrider run` names it: `returned`, `crashed`, `wallTimeExceeded`…; `refused`, `running`, `interrupted`.
    public var kind: String
    public var detail: String

    /// Of a run that hasn't ended.
    public static let runningKind = "running"

    public init(kind: String, detail: String) {
      self.kind = kind
      self.detail = detail
    }
  }

  public struct Usage: Sendable, Equatable, Codable {
    public var wallSeconds: Double
    public var cpuSeconds: Double
    public var peakMemoryBytes: Int64

    public init(wallSeconds: Double, cpuSeconds: Double, peakMemoryBytes: Int64) {
      self.wallSeconds = wallSeconds
      self.cpuSeconds = cpuSeconds
      self.peakMemoryBytes = peakMemoryBytes
    }
  }

  public struct Rejection: Sendable, Equatable, Codable {
    public var identifier: String
    public var code: Int
    public var reason: String

    public init(identifier: String, code: Int, reason: String) {
      self.identifier = identifier
      self.code = code
      self.reason = reason
    }
  }

  public struct Downloads: Sendable, Equatable, Codable {
    public var accepted: Int
    public var rejected: [Rejection]
    /// How many more were rejected: the first of an answer are kept. nil: none.
    public var furtherRejected: Int?

    public init(accepted: Int, rejected: [Rejection]) {
      self.accepted = accepted
      self.rejected = rejected
    }
  }

  public struct Denial: Sendable, Equatable, Codable {
    public var call: String
    public var times: Int

    public init(call: String, times: Int) {
      self.call = call
      self.times = times
    }
  }

  public var app: String
  public var id: Int64
  /// `install`, `update`, `periodic`, `languageChange`, or `callbacks`.
  public var request: String
  public var startedAt: String
  public var outcome: Outcome
  public var usage: Usage
  /// By name, in seconds and bytes.
  public var limits: [String: Double]
  public var downloads: Downloads
  public var denials: [Denial]
  public var log: [String]

  public init(
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
public struct LogLine: Sendable, Equatable, Codable {
  public var at: String
  public var level: String
  public var app: String?
  public var event: String
  public var detail: String

  public init(at: String, level: String, app: String?, event: String, detail: String) {
    self.at = at
    self.level = level
    self.app = app
    self.event = event
    self.detail = detail
  }
}

public struct ExplanationSummary: Sendable, Equatable, Codable {
  /// `app`, `download` or `wake`.
  public var kind: String
  public var subject: String
  public var code: String
  public var data: [String: String]
  /// What it waits for, as a sentence.
  public var message: String
  public var since: String?
  public var until: String?
  /// What ends it.
  public var remedy: String

  public init(
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

public struct SettingsSummary: Sendable, Equatable, Codable {
  /// What is set for one app; nil: as for all.
  public struct App: Sendable, Equatable, Codable {
    public var isBackgroundActivityAllowed: Bool?
    public var isContentBeforeLaunchAllowed: Bool?
    public var memoryBytes: Int64?
    public var runtimeSeconds: Double?
    public var callSeconds: Double?
    public var periodicSeconds: Double?

    public init() {}
  }

  public var isBackgroundActivityAllowed: Bool
  public var isContentBeforeLaunchAllowed: Bool
  public var isLowPower: Bool
  public var isMetered: Bool
  /// Whether somebody has set it; otherwise it is as the machine says.
  public var isLowPowerSet: Bool
  public var isMeteredSet: Bool
  /// The language tag that extensions are asked for (RFC 5646); nil: unknown.
  public var language: String?
  public var isLanguageSet: Bool
  /// 6.3: bytes and seconds.
  public var memoryBytes: Int64
  public var runtimeSeconds: Double
  public var callSeconds: Double
  /// Between periodic wakes of an app; nil: as the app is used.
  public var periodicSeconds: Double?
  /// L11.
  public var essentialWaitSeconds: Double
  public var backgroundWaitSeconds: Double
  public var apps: [String: App]

  public init(
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

public struct StatusSummary: Sendable, Equatable, Codable {
  public var process: Int32
  public var version: String
  public var startedAt: String
  public var isDevelopment: Bool
  public var socket: String
  public var database: String
  public var databaseBytes: Int64
  public var apps: Int
  public var downloads: Int
  public var connections: Int
  public var memoryBytes: Int64

  public init(
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
