package import AssetModel
internal import LinuxSystem

/// What the scheduler keeps of jobs, and what it answers.
extension Scheduler {
  package struct Limits: Sendable {
    package init() {}

    var transfers = 16
    var background = 8
    var perOrigin = 4
    var perOriginWithForeground = 6
    var perOriginSegmented = 8
    /// Bytes up to which a job may use the slot that large ones leave free.
    var small: Int64 = 4 << 20
    /// Bytes of a class 3 or 4 job after which it makes room for others.
    var turn: Int64 = 64 << 20
    var turnTime: Duration = .seconds(60)
    var quantum: Int64 = 1 << 20
    /// Waiting that is worth one step of priority.
    var agingStep: Duration = .seconds(600)
    /// Waiting after which a prefetch counts as a background download.
    var promotion: Duration = .seconds(24 * 3600)
  }

  /// A job as the scheduler knows it. 100 000 of them are kept, so names are numbers.
  package struct Entry: Comparable {
    package var id: JobID
    var app: UInt32
    var origin: UInt32
    var transferClass: TransferClass
    var priority: Int8
    /// Bytes still to come; unknown counts as large.
    var remaining: Int64
    /// Boot time of its enqueueing.
    var since: Duration { .nanoseconds(times.since) }
    /// Boot time at which it was enqueued last.
    var enqueuedAt: Duration {
      get { .nanoseconds(times.enqueuedAt) }
      set { times.enqueuedAt = newValue.inNanoseconds }
    }
    /// Time before that which no attempt was made in, for reasons that aren't its own.
    var idle: Duration {
      get { .nanoseconds(times.idle) }
      set { times.idle = newValue.inNanoseconds }
    }
    /// In nanoseconds: half of what a `Duration` takes.
    var times: (since: Int64, enqueuedAt: Int64, idle: Int64)
    /// The step of aging that it was enqueued in, so that the order of waiting jobs never changes.
    var rank: Int64 = 0
    /// Tells this enqueueing from an earlier one that was taken back.
    var serial: UInt64 = 0

    package init(
      id: JobID, app: UInt32, origin: UInt32, transferClass: TransferClass, priority: Int, remaining: Int64?,
      since: Duration
    ) {
      self.id = id
      self.app = app
      self.origin = origin
      self.transferClass = transferClass
      self.priority = Int8(clamping: priority)
      self.remaining = remaining ?? .max
      times = (since.inNanoseconds, 0, 0)
    }

    /// Whether it goes first within its app.
    package static func < (left: Self, right: Self) -> Bool {
      (-left.rank, left.remaining, left.times.since, left.id) < (
        -right.rank, right.remaining, right.times.since, right.id
      )
    }

    package static func == (left: Self, right: Self) -> Bool {
      (left.id, left.app, left.origin, left.transferClass, left.priority, left.remaining)
        == (right.id, right.app, right.origin, right.transferClass, right.priority, right.remaining)
        && left.times == right.times && (left.rank, left.serial) == (right.rank, right.serial)
    }
  }

  /// A prefetch that waits: the longer, the earlier it counts as more.
  struct Promotion: Comparable {
    var entry: Entry

    static func < (left: Self, right: Self) -> Bool { left.entry.times.since < right.entry.times.since }
  }

  struct Running: Equatable {
    var entry: Entry
    var started: Duration
    /// Bytes received in this turn.
    var received: Int64 = 0
    /// Connections that it uses: more than one when it is segmented.
    var connections = 1
    var isYielding = false
    /// It can't make room now.
    var keepsSlot = false
  }

  package enum Decision: Equatable {
    case start(Entry)
    /// To pause at a checkpoint and queue again.
    case yield(JobID)
  }
}
