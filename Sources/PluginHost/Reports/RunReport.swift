public import AssetModel
public import Sandbox

/// Everything that is known about a run once it has ended.
public struct RunReport: Sendable {
  /// How the run ended.
  public var outcome: Outcome
  /// What was loaded; nil for a run that never began.
  public var plugin: LoadedFile?
  /// What it used.
  public var usage: Usage
  /// What the plugin tried and didn't get, each once, with how often.
  public var denials: [Denial]
  /// Refusals beyond the most distinct ones that a report keeps.
  public var droppedDenials: Int
  /// What it logged and printed, in order.
  public var log: [LogLine]
  /// Bytes of log text beyond the limit, and the lines that they were.
  public var droppedLogBytes: Int
  /// Lines that were dropped with them.
  public var droppedLogLines: Int
  /// Which walls were in force.
  public var walls: [Wall: WallState]
  /// How each meter measured, by its name: `cpu`, `memory`, `wall`.
  public var meters: [String: String]
  /// What the plugin scheduled beside its answer.
  public var scheduled: [Download]
  /// What each entry point returned, in the order of the calls.
  public var statuses: [Status]
  /// Where it crashed and who called that, the innermost first, at most 32; empty where it didn't crash, or where its stack
  /// couldn't be read. The plugin's own word: it may be anything.
  public var stack: [StackFrame] = []
  /// The access to memory that ended it, where it crashed by one (SIGSEGV, SIGBUS) and the processor tells the address. The plugin's own
  /// word, too.
  public var fault: Fault?
  /// Where its threads were when a limit of time ended it, those of them that were in a library: at most 32, by their numbers.
  /// Empty for every other end, and of threads that block SIGURG or didn't answer at once. The plugin's own word, too.
  public var threads: [ThreadStack] = []
  /// Threads that it had then and that didn't tell where they were.
  public var untoldThreads = 0

  /// What the plugin connected to of what its policy lists: a row each.
  public var connections: [Connection] = []

  /// Paths that the policy grants and that it named something in, where its `observation.use` wants that.
  package var usedGrants: [String]?

  /// Whether there was a sandbox at all: false for a run that was asked to have none.
  public var isSandboxed: Bool {
    walls.isEmpty || walls.contains { $0.key != .watchdog && $0.value.state != .absent }
  }

  /// An access to memory that isn't there, or not for that.
  public struct Fault: Sendable, Codable, Equatable {
    /// What was to be done there.
    public enum Access: String, Sendable, Codable {
      case read, write
      /// Code was to be run there.
      case execute
    }

    /// In the plugin's memory.
    public var address: UInt64
    /// nil where the processor doesn't tell.
    public var access: Access?
    /// What the address is, or is near: "near null", or the library that it is in.
    public var place: String
  }

  /// Where a thread was.
  public struct ThreadStack: Sendable, Codable, Equatable {
    /// As gettid(2) has it within the sandbox, where 1 is the first one, in which calls are made.
    public var number: UInt32
    /// As the plugin named it (pthread_setname_np(3)); made printable.
    public var name: String
    /// The innermost first, at most 32.
    public var frames: [StackFrame]
  }

  /// One function of a stack.
  public struct StackFrame: Sendable, Codable, Equatable {
    /// The library's file name; made printable.
    public var library: String
    /// The exported function; empty where none is known.
    public var symbol: String
    /// Bytes from its beginning; 0 where there is none.
    public var symbolOffset: UInt64
    /// The address in the library's file, as addr2line(1) takes it.
    public var address: UInt64
    /// The file name as it is, where `library` isn't that: never to be shown as it is. No report in JSON has it.
    package var file: String?

    private enum CodingKeys: CodingKey { case library, symbol, symbolOffset, address }
  }

  /// `ba_status` of the plugin's header: 0 is success, and no other value ends a run.
  public struct Status: Sendable, Codable, Equatable {
    /// As the plugin's header names it, for example `content_request`.
    public var entryPoint: String
    /// What it returned.
    public var status: Int64
  }

  /// The library that was loaded, or the executable of the bundle.
  public struct LoadedFile: Sendable, Codable, Equatable {
    /// Absolute.
    public var path: String
    /// SHA-256 in hexadecimal, of what the host read and mounted.
    public var sha256: String
  }

  /// What a run used. Seconds are of the boot-time clock.
  public struct Usage: Sendable, Codable, Equatable {
    /// Inside calls, loading included.
    public var wallSeconds = 0.0
    /// How long the plugin stood still inside calls because its host had no processor or was stopped: not in `wallSeconds`.
    public var stoodSeconds = 0.0
    /// All of its processes, walls and loading included.
    public var cpuSeconds = 0.0
    /// The most that was seen beyond the baseline; at least the limit where that ended the run.
    public var peakMemoryBytes = 0
    /// The most processes that were seen at one time beside the plugin's own.
    public var peakProcesses = 0
    /// How long the host spun, waiting for the plugin's answers: CPU time of the host's own.
    public var spinSeconds = 0.0
    /// From the request to the plugin being loaded.
    public var wakeSeconds = 0.0
    /// From the kill to the process being gone.
    public var goneSeconds = 0.0
    /// From the limit's deadline to the process being gone; nil when no deadline ended the run.
    public var overrunSeconds: Double?
  }

  /// Something that a plugin tried and didn't get.
  public struct Denial: Sendable, Codable, Equatable {
    /// The wall that stopped it: `seccomp`, `limits`, `files` or `network`.
    public var wall: String
    /// The system call, or what was beyond a limit.
    public var operation: String
    /// Its arguments, or the path that it named; made printable, and cut at 200 characters.
    public var target: String
    /// The path as it is, where `target` isn't that: never to be shown as it is, a plugin chose it. At most 4,096 bytes. nil:
    /// `target` is it, or there is none.
    public var path: String?
    /// How often.
    public var count: Int
    /// Whether the plugin would have written to the file that `target` names, or asked whether it may (access(2)).
    public var writes = false
    /// Whether `target` was read from memory that other threads of the plugin could change before the kernel read it, too: it
    /// may then have refused another path.
    public var mayHaveChanged = false
    /// Whether each of the calls meant a symbolic link itself, and not what it leads to (lstat(2), O_NOFOLLOW, readlink(2)).
    package var namesLink = false
    /// Whether what `writes` tells of would have been read, too, and that was denied as well.
    package var readsToo = false
    /// Whether it was asked if the file may be executed (access(2)).
    package var asksToExecute = false
    /// What of the policy denied it, as a policy of version 2 has it: without that the call would be decided as for others. A call
    /// that it denies by the name of a group stands there by its own. nil: no more than what holds for every plugin.
    public var rule: String?

    /// `layer`: as reports in JSON have it.
    private enum CodingKeys: String, CodingKey {
      case operation, target, path, count, writes, mayHaveChanged, rule
      case wall = "layer"
    }

    /// Has it be about `file`, a path from the plugin.
    mutating func name(_ file: String) {
      target = Printable.text(file)
      path = target == file ? nil : file
    }
  }

  /// The connections to one port of one machine.
  public struct Connection: Sendable, Codable, Equatable {
    /// As the policy names it, with its port.
    public var target: String
    /// How many the plugin opened.
    public var count = 0
    /// Bytes that the machine has taken.
    public var sent: UInt64 = 0
    /// Bytes that the plugin has taken.
    public var received: UInt64 = 0
    /// How many of them came to nothing: the name wasn't found, the host didn't answer, or nothing moved for too long.
    public var failed = 0
    /// Why the last of these did; empty where none failed.
    public var failure = ""

    /// Creates a row of nothing.
    ///
    /// - Parameter target: As the policy names it, with its port.
    public init(target: String) { self.target = target }
  }

  /// One line of the log, or of what the plugin printed.
  /// Its `description` is made printable.
  public struct LogLine: Sendable, Codable, Equatable, CustomStringConvertible {
    /// `debug`, `info`, `default`, `error` or `fault`.
    public var level: String
    /// What the plugin named; empty for what it printed.
    public var subsystem: String
    /// What the plugin named; `output` for what it printed.
    public var category: String
    /// As the plugin wrote it: on a terminal it may do what it likes. Strings that it marked as private are `<private>`.
    public var message: String

    /// On one line and without control characters, cut after 400 characters: `default output: looking at hello`.
    public var description: String {
      let origin = [subsystem, category].filter { !$0.isEmpty }.joined(separator: ":")
      return "\(level) \(Printable.text(origin, limit: 80)): \(Printable.text(message, limit: 400))"
    }
  }
}

extension RunReport {
  /// The report of a run that never began.
  ///
  /// - Parameter outcome: Why it didn't.
  /// - Returns: A report with nothing else in it.
  public static func empty(_ outcome: Outcome) -> RunReport {
    RunReport(
      outcome: outcome, plugin: nil, usage: Usage(), denials: [], droppedDenials: 0, log: [], droppedLogBytes: 0,
      droppedLogLines: 0,
      walls: [:],
      meters: [:], scheduled: [], statuses: [])
  }
}

/// Why a host, not a plugin, couldn't do what it was asked.
public enum HostError: Error, Sendable, CustomStringConvertible {
  /// The run has ended; its report says how. Thrown by a load or a call that the end cut short.
  case ended(RunReport)
  /// The library, the manifest or another file isn't there or isn't what it must be.
  case input(String)
  /// The arguments don't fit the signature.
  case usage(String)
  /// The policy grants more paths than fit one request for a plugin's process.
  case excess(String)
  /// The plugin has no such function or entry point, or the symbol is data. The plugin goes on.
  case entryPointMissing(String)
  /// The task was cancelled before its call began. The plugin goes on.
  case cancelled
  /// This process has too few descriptors left; no plugin of the host is harmed by it. The sentence names limit and remedy.
  case exhausted(String)
  /// The plugin's container doesn't take a finished file, mostly for what the plugin did there. The file isn't at fault, and
  /// the plugin goes on.
  case handOver(String)
  /// A callback of the call threw this. The plugin was given 0 for it and for every further one, and its function has returned; the
  /// plugin goes on.
  case callback(any Error)
  case failed(String)

  /// The report of the run that ended, where that is the reason.
  public var report: RunReport? {
    if case .ended(let report) = self { report } else { nil }
  }

  public var description: String {
    switch self {
    case .ended(let report) where report.outcome.kind == .returned && report.outcome.detail.isEmpty:
      "its owner has ended the plugin"
    case .ended(let report): "\(report.outcome.kind.rawValue): \(report.outcome.detail)"
    case .input(let text), .usage(let text), .excess(let text), .exhausted(let text), .handOver(let text),
      .failed(let text),
      .entryPointMissing(let text):
      text
    case .callback(let error): "a callback failed: \(error)"
    case .cancelled: "the task was cancelled before its call began"
    }
  }
}
