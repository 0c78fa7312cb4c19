internal import AssetModel

/// What the owner of the engine asks of one download.
enum JobCommand: Equatable, Sendable {
  case pause
  case resume
  case cancel
  case setClass(TransferClass)
  case supersede(Supersession)

  /// For messages.
  var name: String {
    switch self {
    case .pause: "pause"
    case .resume: "resume"
    case .cancel: "cancel"
    case .setClass(let transferClass): "change to class \(transferClass.name)"
    case .supersede: "update"
    }
  }
}

/// Another specification for a job.
struct Supersession: Equatable, Sendable {
  var specification: DownloadSpecification
  /// By which the caller that waits for the result is found.
  var request: UInt64
  /// Whether it is the same request with another credential, which goes on with what a strong entity tag tells apart.
  var isRenewed = false
}

/// Commands for one job that can't be carried out yet, in order. A later one replaces what it makes pointless, so that
/// the queue doesn't grow while a journal or a disk hangs; none that a caller waits for is dropped.
struct CommandQueue: Equatable {
  private(set) var commands: [JobCommand] = []

  var isEmpty: Bool { commands.isEmpty }

  mutating func append(_ command: JobCommand) {
    switch command {
    case .pause, .resume:
      if isCancelled { return }
      removePauseAndResume()
    case .setClass:
      if isCancelled { return }
      remove { if case .setClass = $0 { true } else { false } }
    case .cancel:
      if isCancelled { return }
      remove { if case .supersede = $0 { false } else { true } }
    case .supersede: break
    }
    commands.append(command)
  }

  mutating func removePauseAndResume() {
    remove {
      switch $0 {
      case .pause, .resume: true
      default: false
      }
    }
  }

  /// What comes after `supersede` is for a job that may have gone on all the same.
  private var current: Range<Int> {
    let last = commands.lastIndex { if case .supersede = $0 { true } else { false } }
    return (last.map { $0 + 1 } ?? 0)..<commands.count
  }

  private var isCancelled: Bool { commands[current].contains { if case .cancel = $0 { true } else { false } } }

  private mutating func remove(where isPointless: (JobCommand) -> Bool) {
    let range = current
    commands.replaceSubrange(range, with: commands[range].filter { !isPointless($0) })
  }
}

/// Commands whose job can't be looked up, because the journal can't be read. They are tried again at `retryAt`.
struct DeferredCommands {
  private(set) var queues: [JobID: CommandQueue] = [:]
  /// Boot time; nil: there are none.
  private(set) var retryAt: Duration?
  /// Why the journal couldn't be read.
  private(set) var reason: Hold.Reason?

  /// Names of what waits for a job.
  func names(of id: JobID) -> String? { queues[id]?.commands.map(\.name).joined(separator: ", ") }

  func contains(_ id: JobID) -> Bool { queues[id] != nil }

  /// Behind those of the same job.
  mutating func append(_ command: JobCommand, for id: JobID) { queues[id, default: CommandQueue()].append(command) }

  mutating func append(_ command: JobCommand, for id: JobID, because reason: Hold.Reason, retryAt moment: Duration) {
    append(command, for: id)
    self.reason = reason
    retryAt = moment
  }

  mutating func put(_ queue: CommandQueue, for id: JobID) { for command in queue.commands { append(command, for: id) } }

  /// Takes all of them, in the order of their jobs.
  mutating func takeAll() -> [(id: JobID, queue: CommandQueue)] {
    defer { self = DeferredCommands() }
    return queues.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The journal can be read again.
  mutating func retryNow(_ now: Duration) { if retryAt != nil { retryAt = now } }
}

/// A change of a job that the journal couldn't take. It counts all the same, and is committed as soon as that works.
struct PendingUpdate: Equatable, Sendable {
  var record: JobRecord
  /// What follows then.
  var disposition: Disposition
}
