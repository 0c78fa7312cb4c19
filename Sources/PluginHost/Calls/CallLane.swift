internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Synchronization

/// How calls get to one runner and answers back, through memory that both share, or over its socket where they share none.
///
/// While its plugin is idle, a caller takes the *lane*: it asks and waits on its own thread, for a moment at most, and the watchdog's
/// thread isn't woken. Everything else that happens to the run closes the lane first, and a call that is under way there becomes one of
/// the run's own, with the time at which it began. Any thread.
final class CallLane: Sendable {
  private enum Phase {
    case closed
    case open(last: UInt64)
    /// Open, and the runner is frozen: the next call resumes it.
    case frozen(last: UInt64)
    case calling(Direct)

    /// The last call's id where the lane is free.
    var free: UInt64? {
      switch self {
      case .open(let last), .frozen(let last): last
      case .closed, .calling: nil
      }
    }
  }

  /// A caller and the answer to its call, whichever is here first.
  private enum Meeting {
    case caller(@Sendable (Result<RunnerMessage.CallResult, HostError>) -> Void)
    case result(Result<RunnerMessage.CallResult, HostError>)
  }

  private struct State: ~Copyable {
    /// nil: the two share no memory.
    var link: CallLink?
    var phase = Phase.closed
    /// Calls that are on their way to the run: no later call overtakes them.
    var queued = 0
    var pace = CallPace()
    var runner = RunnerHandles()
    var slice = RunnerSlice()
    /// Whether a caller has let the frozen runner go on, and the watchdog doesn't know yet.
    var isThawed = false
    var passed: Passed?
    var callTimes = TimeTally()
    var isOver = false
    var isFrozen: Bool { if case .frozen = phase { true } else { false } }

    /// As `CallPace.isToMove`, for a call that may be made in the lane.
    mutating func isToMove(at now: Duration, cores: Int) -> Bool {
      guard queued == 0, phase.free != nil, let isShared = link?.isOnRunnersProcessor else { return false }
      return pace.isToMove(at: now, cores: cores, isOnRunnersProcessor: isShared)
    }
    var meetings: [UInt64: Meeting] = [:]
  }

  /// A call is the run's to watch once it has taken so long.
  private static let longestUnwatched = Duration.microseconds(500)
  /// Beyond the size of short answers, for each so many bytes a microsecond more is waited: slower than memory is.
  private static let bytesPerMicrosecond = 4096
  private static let shortBytes = 64 << 10

  private let state: Mutex<State>
  /// Spares calls that follow each other a look at the state.
  private let mayBeFrozen = Atomic(false)
  private let limits: (wallTime: Duration, frameBytes: Int)
  /// Of shared memory that isn't the plugin's; nil: there is none.
  let inode: UInt64?
  let isShared: Bool
  private let cores: Int
  private let alarm: LaneAlarm

  init(_ link: consuming CallLink?, wallTime: Duration, frameBytes: Int, alarm: LaneAlarm) {
    self.alarm = alarm
    limits = (wallTime, frameBytes)
    switch consume link {
    case .some(let link):
      inode = link.inode
      isShared = true
      state = Mutex(State(link: consume link))
    case .none:
      inode = nil
      isShared = false
      state = Mutex(State(link: nil))
    }
    cores = Int(ol_usable_processors())
  }

  // MARK: A caller's thread

  /// A call is about to be made. A runner that is frozen is let go on already: it takes as long to wake as the call takes to be put
  /// together. Who makes no call after this says so by `callFailed`.
  func announce() {
    // On one processor the runner would be in the way.
    guard mayBeFrozen.load(ordering: .relaxed), cores > 1, alarm.isWatched else { return }
    state.withLock { state in
      guard case .frozen(let last) = state.phase else { return mayBeFrozen.store(false, ordering: .relaxed) }
      guard state.queued == 0 else { return }
      state.link?.announce()
      guard thaw(&state) else { return }
      state.phase = .open(last: last)
    }
  }

  /// A runner that goes on for a call that wasn't made is looked at.
  func callFailed() { if state.withLock({ $0.isThawed }) { alarm.set() } }

  /// A call that was made, and how its answer is waited for.
  private struct Begun {
    var id: UInt64
    var words: CallWords
    var way: AnswerWait.Way
    var spinLimit: Duration
    var sleepLimit: Duration
    var isSpecial: Bool
    var isThawed: Bool
  }

  /// Makes the call at once where nothing is in its way, and waits a moment for its answer.
  func attempt(
    _ call: FunctionCall, _ ticket: UInt64, within limit: Duration?
  ) -> Attempt {
    let function = call.function
    guard function.longestAnswer <= limits.frameBytes else { return queue() }
    let since = BootClock.now
    // Not under the lock: the other processor may have others to run first, and the watchdog's thread must not wait.
    if state.withLock({ $0.isToMove(at: since, cores: cores) }) { _ = ol_change_processor() }
    let begun = state.withLock { (state) -> Begun? in
      guard state.queued == 0, let last = state.phase.free, !state.isFrozen || alarm.isWatched else {
        state.queued += 1
        return nil
      }
      state.pace.begin(at: since, cores: cores, isOnRunnersProcessor: state.link?.isOnRunnersProcessor ?? false)
      let bytes = (function.words == nil ? Self.size(of: call.arguments) : 0) + function.longestAnswer
      let more = Duration.microseconds(max(bytes - Self.shortBytes, 0) / Self.bytesPerMicrosecond)
      // Before the next question this answer is copied, and what that one carries.
      let runnersLimit = state.pace.runnersSpinLimit
      let wasFrozen = state.isFrozen
      // Waking takes longer than asking: the runner finds the question as it wakes.
      guard !wasFrozen || thaw(&state) else {
        state.queued += 1
        return nil
      }
      state.slice.shorten(of: state.runner.pid, process: state.runner.process)
      guard
        state.link?.ask(
          call, id: last + 1, spinLimit: runnersLimit > .zero ? runnersLimit + more : .zero) == true,
        let words = state.link?.words
      else {
        state.queued += 1
        return nil
      }
      state.phase = .calling(Direct(call, ticket, limit: limit, id: last + 1, since: since))
      let longest = min(limit ?? limits.wallTime, limits.wallTime)
      return Begun(
        id: last + 1, words: words, way: state.pace.choice, spinLimit: min(state.pace.spinLimit + more, longest),
        sleepLimit: min(state.pace.sleepLimit, longest), isSpecial: bytes > Self.shortBytes, isThawed: state.isThawed)
    }
    guard let begun else { return .queued }
    if begun.isThawed { alarm.set() }
    var isThere = begun.words.wait(begun.way, for: begun.spinLimit)
    var now = BootClock.now
    let waited = now - since
    if !isThere, waited < begun.sleepLimit {
      isThere = begun.words.wait(.blocking, for: begun.sleepLimit - waited)
      now = BootClock.now
    }
    return state.withLock { state in
      state.pace.waited(waited)
      // Another thread has taken it over, or will.
      guard isThere, case .calling(let direct) = state.phase, direct.id == begun.id else { return .begun }
      return finish(direct, at: now, isSpecial: begun.isSpecial, &state)
    }
  }

  /// As the run does it. The alarm is set once the call was made: until then, and should this host be stopped before the watchdog knows,
  /// it is the fork server that stops the runner. False where it is the run that has to do it.
  private func thaw(_ state: inout State) -> Bool {
    state.runner.lease?.set(state.runner.leaseTime)
    guard RunChannels.signal(state.runner.process, group: state.runner.group, .resume) else { return false }
    state.isThawed = true
    return true
  }

  private static func size(of arguments: [CallValue]) -> Int {
    arguments.reduce(0) { sum, value in
      switch value {
      case .bytes(let bytes), .cstring(let bytes?): sum + bytes.count
      default: sum
      }
    }
  }

  private func finish(_ direct: Direct, at now: Duration, isSpecial: Bool, _ state: inout State) -> Attempt {
    let result: Result<RunnerMessage.CallResult, HostError>
    do throws(ProtocolViolation) {
      guard let answer = try state.link?.take() else { return .begun }
      // What the runner's code has sent before is handled before, by the run. A plugin that writes to the sockets itself can do
      // so at any other time, too.
      guard !answer.isAfterMessages || ol_is_either_readable(state.runner.control, state.runner.service) == 0 else {
        state.link?.putBack(.success(answer))
        return .begun
      }
      switch answer.message {
      case .returned(let value):
        if !answer.isWord {
          try AnswerRule.check(value, of: direct.call.message, signature: direct.call.function.signature)
        }
        result = .success(value)
      case .entryPointMissing: result = .failure(direct.pluginCall.missing(isData: false))
      case .symbolIsData: result = .failure(direct.pluginCall.missing(isData: true))
      default:
        state.link?.putBack(.success(answer))
        return .begun
      }
    } catch {
      // The run ends for it.
      state.link?.putBack(.failure(error))
      return .begun
    }
    // To have copied what is long takes a while.
    let ended = isSpecial ? BootClock.now : now
    state.pace.end(at: ended, isSpecial: isSpecial)
    state.callTimes.note(ended - direct.since)
    state.phase = .open(last: direct.id)
    state.passed = Passed(wall: (state.passed?.wall ?? .zero) + (ended - direct.since), until: ended)
    return .finished(result)
  }

  /// The call goes through the run.
  func queue() -> Attempt {
    state.withLock { $0.queued += 1 }
    return .queued
  }

  /// Calls `body` once there is the answer to a call that was begun in the lane.
  func meet(_ ticket: UInt64, _ body: @escaping @Sendable (Result<RunnerMessage.CallResult, HostError>) -> Void) {
    let result = state.withLock { (state) -> Result<RunnerMessage.CallResult, HostError>? in
      guard case .result(let result)? = state.meetings.removeValue(forKey: ticket) else {
        state.meetings[ticket] = .caller(body)
        return nil
      }
      return result
    }
    if let result { body(result) }
  }

  // MARK: The run's thread

  /// A call that was queued has come to the run.
  func arrived() { state.withLock { $0.queued -= 1 } }

  /// The other side of `meet`.
  func deliver(_ ticket: UInt64, _ result: Result<RunnerMessage.CallResult, HostError>) {
    let body = state.withLock { (state) -> (@Sendable (Result<RunnerMessage.CallResult, HostError>) -> Void)? in
      guard case .caller(let body)? = state.meetings.removeValue(forKey: ticket) else {
        state.meetings[ticket] = .result(result)
        return nil
      }
      return body
    }
    body?(result)
  }

  /// The plugin is idle: a caller may call it directly. `last`: the id of the last call.
  func open(after last: UInt64, _ runner: RunnerHandles) {
    state.withLock { state in
      guard state.link != nil, case .closed = state.phase else { return }
      state.runner = runner
      state.phase = .open(last: last)
    }
  }

  /// Closes the lane; nil where it is closed. From then on the socket tells of the answer to a call that is under way.
  func leave() -> Legacy? {
    state.withLock { state in
      defer {
        state.phase = .closed
        state.passed = nil
        state.isThawed = false
        state.slice.restore(of: state.runner.pid, process: state.runner.process)
      }
      switch state.phase {
      case .closed: return nil
      case .open(let last), .frozen(let last):
        return Legacy(isThawed: state.isThawed, last: last, passed: state.passed)
      case .calling(let direct):
        return Legacy(isThawed: state.isThawed, last: direct.id, direct: direct, passed: state.passed)
      }
    }
  }

  /// Freezes the runner by `stop`; the next caller lets it go on. False if a call has just begun.
  func freeze(_ stop: () -> Void) -> Bool {
    state.withLock { state in
      guard state.passed == nil else { return false }
      if case .calling = state.phase { return false }
      stop()
      if case .open(let last) = state.phase {
        state.phase = .frozen(last: last)
        mayBeFrozen.store(true, ordering: .relaxed)
      }
      return true
    }
  }

  /// Whether the runner was let go on since this was asked.
  func takeThaw() -> Bool { state.withLock { exchange(&$0.isThawed, with: false) } }

  /// What has happened in the lane since it was looked at before.
  func look(at now: Duration) -> Look {
    state.withLock { state in
      if case .calling(let direct) = state.phase {
        if now - direct.since > Self.longestUnwatched { return .overdue }
        defer { state.passed = nil }
        return .passed(Passed(wall: state.passed?.wall ?? .zero, until: now))
      }
      defer { state.passed = nil }
      return state.passed.map { .passed($0) } ?? .unused
    }
  }

  // MARK: Calls of the run itself

  /// A call of the run's begins.
  func begin(at now: Duration) {
    state.withLock { state in
      state.pace.begin(at: now, cores: cores, isOnRunnersProcessor: state.link?.isOnRunnersProcessor ?? false)
    }
  }

  func end(at now: Duration) {
    state.withLock { state in
      state.pace.end(at: now)
      state.callTimes.note(state.pace.last)
    }
  }

  /// Asks by a function's call; false where that has no room.
  func ask(_ call: HostMessage.Call, _ signature: CallSignature, id: UInt64) -> Bool {
    guard case .function(let symbol, let text, let arguments) = call else { return false }
    return state.withLock { state in
      let spinLimit = state.pace.runnersSpinLimit
      return state.link?.ask(symbol, text, arguments, signature, id: id, spinLimit: spinLimit) ?? false
    }
  }

  /// Asks by a frame that fits; false where it has to go over the socket.
  func ask(_ frame: Frame, room: Int) -> Bool {
    state.withLock { state in
      let spinLimit = state.pace.runnersSpinLimit
      return state.link?.ask(frame, room: room, spinLimit: spinLimit) ?? false
    }
  }

  /// The next frame for the runner is on the socket.
  func askOnSocket(id: UInt64) { state.withLock { $0.link?.askOnSocket(id: id) } }

  func askNoMore() { state.withLock { $0.link?.askNoMore() } }

  /// Waits a moment for the answer to what was asked. Whether there may be one.
  func wait() -> Bool {
    guard
      let (words, way, end) = state.withLock({ (state) -> (CallWords, AnswerWait.Way, Duration)? in
        guard let words = state.link?.words else { return nil }
        return (words, state.pace.choice, state.pace.spinEnd)
      })
    else { return false }
    let began = BootClock.now
    let isThere = words.wait(way, for: end - began)
    let waited = BootClock.now - began
    state.withLock { $0.pace.waited(waited) }
    return isThere
  }

  /// How answers on the socket are waited for.
  var choice: (way: AnswerWait.Way, end: Duration) { state.withLock { ($0.pace.choice, $0.pace.spinEnd) } }

  /// As `CallLink.sleepForSocket`.
  func sleepForSocket() -> Bool { state.withLock { $0.link?.sleepForSocket() ?? false } }

  /// As `CallLink.rang`.
  func rang() -> Bool { state.withLock { $0.link?.rang() ?? false } }

  func answeredOnSocket() { state.withLock { $0.link?.answeredOnSocket() } }

  /// As `CallLink.take`.
  func take() throws(ProtocolViolation) -> CallLink.Answer? {
    let result = state.withLock { state in
      Result { () throws(ProtocolViolation) in try state.link?.take() }
    }
    return try result.get()
  }

  /// The cause of the run's end is known.
  func runEnds() { state.withLock { $0.isOver = true } }

  /// Whether the plugin is idle, as far as is known without the run. Any thread.
  var occupation: Occupation {
    state.withLock { $0.queued > 0 ? .queued : $0.phase.free == nil ? .unknown : .free }
  }

  /// Whether the run has ended or is about to. Any thread.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// The run is over: the lane isn't taken any more.
  func free() {
    state.withLock { state in
      state.phase = .closed
      state.link?.free()
    }
  }

  // MARK: What is measured

  /// Bytes that the shared memory takes, and what of them the plugin has filled without being asked.
  var share: (all: Int, plugins: Int) { state.withLock { $0.link?.share ?? (0, 0) } }

  /// How long calls took that were answered.
  var callTimes: TimeTally { state.withLock { $0.callTimes } }

  /// For how long the host has spun for answers so far.
  var spun: Duration { state.withLock { $0.pace.spun } }
}
