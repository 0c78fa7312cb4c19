internal import AssetModel
internal import HostProtocol

/// A call of a plugin, as its caller asked for it.
struct PluginCall: Equatable {
  var call: HostMessage.Call
  /// Of a function; nil for an entry point.
  var signature: CallSignature?
  /// Whose `CallTicket` it is.
  var ticket: UInt64
  /// How long it may take, where its caller gives it less than the policy does.
  var limit: Duration?

  /// An installation waits for its answer.
  var isContentRequest: Bool { if case .contentRequest = call { true } else { false } }

  /// What its caller is told where the plugin has no such function (`isData`: it is something else).
  func missing(isData: Bool) -> HostError {
    let name = Printable.text(call.name)
    return .entryPointMissing(isData ? "\(name) is data, not a function" : "the plugin has no \(name)")
  }
}

/// Where a run stands.
enum RunPhase {
  /// The runner closes its walls: nothing of the plugin runs yet.
  case closingWalls(Preparation)
  /// The walls are closed, and the runner was asked to load the plugin.
  case loading
  /// No call is under way. What the plugin began itself may go on.
  case idle
  case calling(PluginCall)
  /// The call has been answered. Its caller gets the answer once everything is handled that the plugin sent on the service
  /// channel before (`isDrained`), and everything is over that the call began.
  case holding(PluginCall, RunnerMessage.CallResult, isDrained: Bool)
  /// The first cause of the end is known; the process may still be there.
  case ending(Ending)
  /// The process is gone, and this is what is known about the run.
  case ended(RunReport)

  struct Preparation {
    /// What the runner said of its walls before its server had said that there is a runner.
    enum Walls: Equatable {
      case unknown, closed
      case failed(Outcome)
    }

    var hasHandle = false
    /// Whether what is used from now on isn't the runner's own any more.
    var isReady = false
    var walls = Walls.unknown
  }

  struct Ending {
    var cause: Outcome
    /// What was under way.
    var stage: Stage
    /// What a load is told that the host had no descriptors for.
    var exhaustion: String?
    /// Whether the plugin's threads are asked where they are, before the process is killed.
    var isAsking = false
  }

  /// What is under way, or was when the end began.
  enum Stage: Equatable {
    case closingWalls, loading, idle
    case calling(PluginCall)
  }

  /// nil after the end.
  var stage: Stage? {
    switch self {
    case .closingWalls: .closingWalls
    case .loading: .loading
    case .idle: .idle
    case .calling(let call), .holding(let call, _, _): .calling(call)
    case .ending(let ending): ending.stage
    case .ended: nil
    }
  }
}

extension RunPhase {
  /// Whether the plugin isn't loaded yet.
  var isLoading: Bool {
    switch self {
    case .closingWalls, .loading: true
    case .ending(let ending): ending.stage == .closingWalls || ending.stage == .loading
    case .idle, .calling, .holding, .ended: false
    }
  }

  /// Before that, nothing that is used is the plugin's, and only our own code sends anything.
  var isClosingWalls: Bool { if case .closingWalls = self { true } else { false } }

  /// Whether a load or a call waits for its answer.
  var isAwaited: Bool {
    switch self {
    case .closingWalls, .loading, .calling, .holding: true
    case .idle, .ending, .ended: false
    }
  }

  var isIdle: Bool { if case .idle = self { true } else { false } }

  /// Whether the process is on its way out.
  var isDying: Bool { if case .ending = self { true } else { false } }

  /// The first cause of the end.
  var cause: Outcome? {
    switch self {
    case .ending(let ending): ending.cause
    case .ended(let report): report.outcome
    case .closingWalls, .loading, .idle, .calling, .holding: nil
    }
  }

  var report: RunReport? { if case .ended(let report) = self { report } else { nil } }

  /// What is under way, as the end of a sentence.
  var moment: String {
    switch stage {
    case .closingWalls, .loading: "while loading"
    case .calling: "in a call"
    case .idle, nil: "between calls"
    }
  }
}
