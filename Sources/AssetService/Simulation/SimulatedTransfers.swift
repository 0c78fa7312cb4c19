internal import AssetModel
internal import Downloads
internal import ServiceMachines

/// What a simulated download engine has: enough of the real one that its answers come in the same order.
struct SimulatedTransfers {
  struct Key: Hashable, Comparable {
    var app: String
    var download: String

    static func < (left: Self, right: Self) -> Bool { (left.app, left.download) < (right.app, right.download) }
  }

  struct Job {
    var size: Int64
    var urgency: DownloadRegistry.Urgency
    var isManifest: Bool
    var isPaused: Bool
    var fruitless = 0
    /// Counts attempts: an attempt that was cut short has nothing to say.
    var attempt = 0
    var isRunning = false
  }

  private(set) var jobs: [Key: Job] = [:]

  subscript(key: Key) -> Job? {
    get { jobs[key] }
    set { jobs[key] = newValue }
  }

  /// By the engine's own policy: the wait before the next attempt; nil: the download fails.
  static func delay(_ job: Job, random: Double) -> Duration? {
    let transferClass: TransferClass =
      switch job.urgency {
      case .foreground: .foreground
      case .essential: .essential
      case .background: .background
      }
    let policy = RetryPolicy(transferClass: transferClass, appIdleForWeek: false)
    if let limit = policy.attemptLimit, job.fruitless >= limit { return nil }
    return policy.delay(fruitless: job.fruitless, random: random)
  }
}
