internal import AssetModel
internal import HostProtocol
internal import LinuxSystem

/// Decides what a run does: when its plugin is loaded, called and ended, and what its callers are told. A pure value: `Run`
/// carries out what it says. Clocks and memory are the watchdog's.
struct RunMachine {
  private(set) var phase = RunPhase.closingWalls(.init())
  /// Who waits for the plugin being loaded.
  private let loader: UInt64
  /// Bytes that a payload from the runner may have.
  private let frameBytes: Int
  /// Calls that were made while another was under way.
  private var line = CallTurns<PluginCall>()
  private(set) var lastCall: UInt64 = 1
  /// What the plugin began and hasn't ended.
  private var activities = 0
  private var isControlEngaged = false
  private var isControlAwaited = false
  /// What the runner said of its end.
  private(set) var lastWord: EndRule.LastWord?
  /// Where it crashed, and who called that.
  private(set) var stack = CrashStack()
  /// Where its threads were when its time was over.
  private(set) var threads = ThreadStacks()

  init(loader: UInt64, frameBytes: Int) {
    self.loader = loader
    self.frameBytes = frameBytes
  }

  /// Work that outlives its entry point. Who holds exclusive control, or is about to, must go on too: frozen, it would keep
  /// the other side waiting.
  var isBusy: Bool { activities > 0 || isControlEngaged }

  /// Whether a caller may call without the machine: nothing is under way, and no call waits.
  var isFree: Bool { phase.isIdle && line.isEmpty && !isBusy }

  /// Whether the load or call that is under way is the one with this ticket.
  func awaits(_ ticket: UInt64) -> Bool {
    switch phase {
    case .closingWalls, .loading: ticket == loader
    case .calling(let call), .holding(let call, _, _): ticket == call.ticket
    case .idle, .ending, .ended: false
    }
  }

  /// Whether what the plugin says now counts as said in a content request. What it began may go on after it has returned.
  var isInContentRequest: Bool {
    switch phase {
    case .calling(let call), .holding(let call, _, isDrained: false): call.isContentRequest
    default: false
    }
  }

  /// Whether what arrives on a channel is of interest. Once a run's cause is known, only where it crashed still is.
  func listens(to channel: RunChannels.Channel) -> Bool { phase.cause == nil || channel == .control }

  /// An asynchronous request's wait for the other side isn't the extension's time (B21). A content request's is: an
  /// installation waits for that. So is one outside an activity, in which the call itself waits (B73).
  private var countsWait: Bool {
    if case .calling(let call) = phase.stage, call.isContentRequest { return false }
    return activities > 0 && isControlAwaited
  }

  /// The plugin's word, too. The first cause is another's to find.
  mutating func note(lastWord word: EndRule.LastWord) { (lastWord, stack) = (word, CrashStack()) }

  /// What comes before the word that it crashed, or ends, tells of nothing.
  mutating func note(_ frame: RunnerMessage.StackFrame) {
    if case .crashed = lastWord { stack.note(frame) }
  }

  mutating func note(_ frame: RunnerMessage.StackFrame, of thread: UInt32) { threads.note(frame, of: thread) }

  /// The name of the function that is being called.
  var calledName: String { if case .calling(let call) = phase.stage { call.call.name } else { "" } }

  mutating func handle(_ event: RunEvent) -> [RunEffect] {
    switch phase {
    case .ended(let report): handleAfterEnd(event, report)
    case .ending(let ending): handleWhileEnding(event, ending)
    case .closingWalls, .loading, .idle, .calling, .holding: handleAlive(event)
    }
  }

  // MARK: Alive

  private mutating func handleAlive(_ event: RunEvent) -> [RunEffect] {
    switch event {
    case .handleArrived, .ready, .wallsClosed: return handlePreparation(event)
    case .loaded(let image, let isUnchanged, let path, let id):
      guard case .loading = phase, id == 1 else { return violate(.unexpected("'loaded' out of turn")) }
      // The mount pins the inode; its times show whether the file was written to since it was hashed.
      guard isUnchanged else { return end(Outcome(.loadFailed, "\(path) was changed while it was loaded")) }
      phase = .idle
      // The caller that waits for the load goes on while the sample is taken.
      return [.completeLoad(image), .becomeIdle(isBusy: isBusy)] + nextTurn
    case .loadFailed(let text, let id):
      guard phase.isLoading, id == 1 else { return violate(.unexpected("'loadFailed' out of turn")) }
      return end(
        Outcome(
          .loadFailed, Printable.text(text, limit: 500),
          cause: LoaderMessage(text).missingFile.map { .fileNotFound($0) }))
    case .returned(let result, let id): return returned(result, id)
    case .missing(let isData, let id):
      guard case .calling(let call) = phase, id == lastCall, !isData || call.call.entryPoint == nil else {
        return violate(.unexpected("an answer to call \(id)"))
      }
      return complete(call, .failure(call.missing(isData: isData)))
    case .serviceDrained:
      guard case .holding(let call, let result, isDrained: false) = phase else { return [] }
      phase = .holding(call, result, isDrained: true)
      return release()
    case .activityBegan, .activityEnded, .controlChanged: return handleBusiness(event)
    case .asked(let call):
      guard phase.isIdle, line.isEmpty else {
        line.add(call, id: call.ticket)
        return []
      }
      return begin(call)
    case .tookOver(let last, let call):
      guard phase.isIdle, last >= lastCall else { return [] }
      lastCall = last
      guard let call else { return [] }
      phase = .calling(call)
      return [.adopt(call)]
    case .turnCame:
      guard phase.isIdle, let next = line.next()?.call else { return [] }
      let effects = begin(next)
      // One that was refused has nothing to wait for.
      return phase.isIdle ? effects + nextTurn : effects
    case .cancelled(let ticket): return cancel(ticket)
    case .violated(let violation): return violate(violation)
    case .kill(let outcome): return end(outcome)
    case .descriptorsExhausted(let sentence):
      return end(Outcome(.hostFailed, sentence), exhaustion: sentence) + [.shutDownControl]
    case .gone(let verdict, let exhaustion, let exit):
      phase = .ending(.init(cause: verdict, stage: phase.stage ?? .idle, exhaustion: exhaustion))
      return [.report(verdict, exit)]
    case .threadTold: return violate(.unexpected("'threadTold' out of turn"))
    case .reported, .threadsAsked, .threadsOverdue: return []
    }
  }

  /// What comes before the plugin is loaded, from trusted code.
  private mutating func handlePreparation(_ event: RunEvent) -> [RunEffect] {
    switch (event, phase) {
    case (.handleArrived, .closingWalls(var preparation)):
      preparation.hasHandle = true
      phase = .closingWalls(preparation)
      return enterWalls(preparation.walls)
    case (.ready(0), .closingWalls(var preparation)) where !preparation.isReady:
      preparation.isReady = true
      phase = .closingWalls(preparation)
      return [.openMeters]
    case (.wallsClosed(let failure, 0), .closingWalls(var preparation)) where preparation.walls == .unknown:
      preparation.walls = failure.map { .failed($0) } ?? .closed
      phase = .closingWalls(preparation)
      // The runner may be faster than its server's word of it.
      return preparation.hasHandle ? enterWalls(preparation.walls) : []
    case (.ready, _): return violate(.unexpected("'ready' out of turn"))
    case (.wallsClosed, _): return violate(.unexpected("'wallsClosed' out of turn"))
    default: return []
    }
  }

  private mutating func enterWalls(_ walls: RunPhase.Preparation.Walls) -> [RunEffect] {
    switch walls {
    case .unknown: return []
    case .failed(let outcome): return end(outcome)
    case .closed:
      phase = .loading
      return [.load]
    }
  }

  // MARK: Calls

  private mutating func begin(_ call: PluginCall) -> [RunEffect] {
    let frame = HostMessage.call(call.call).frame(id: lastCall + 1)
    do throws(HostError) {
      try CallBounds.check(frame, call.signature, frameBytes: frameBytes)
    } catch {
      return [.refuse(call.ticket, error)]
    }
    lastCall += 1
    phase = .calling(call)
    return [.begin(frame, countsWait: countsWait, limit: call.limit)]
  }

  private mutating func returned(_ result: RunnerMessage.CallResult, _ id: UInt64) -> [RunEffect] {
    guard case .calling(let call) = phase, id == lastCall else {
      return violate(.unexpected("an answer to call \(id)"))
    }
    do throws(ProtocolViolation) {
      try AnswerRule.check(result, of: call.call, signature: call.signature)
    } catch {
      return violate(error)
    }
    phase = .holding(call, result, isDrained: false)
    return [.drainService]
  }

  /// Hands over what a call returned once everything that it began is over.
  private mutating func release() -> [RunEffect] {
    guard case .holding(let call, let result, isDrained: true) = phase, activities == 0 else { return [] }
    return complete(call, .success(result))
  }

  private mutating func complete(
    _ call: PluginCall, _ result: Result<RunnerMessage.CallResult, HostError>
  ) -> [RunEffect] {
    phase = .idle
    return [.complete(call, result), .becomeIdle(isBusy: isBusy)] + nextTurn
  }

  private var nextTurn: [RunEffect] { line.isEmpty ? [] : [.scheduleTurn] }

  /// A call that waits is taken out of the line. One that is under way can't be taken back from the plugin: the run ends.
  private mutating func cancel(_ ticket: UInt64) -> [RunEffect] {
    if line.remove(ticket) != nil { return [.refuse(ticket, .cancelled)] }
    guard awaits(ticket) else { return [] }
    let what = phase.isLoading ? "load" : "call"
    return end(Outcome(.cancelled, "the caller gave up the \(what) that was under way"))
  }

  // MARK: What the plugin goes on with

  private mutating func handleBusiness(_ event: RunEvent) -> [RunEffect] {
    let wasBusy = isBusy
    switch event {
    case .activityBegan: activities += 1
    case .activityEnded:
      guard activities > 0 else { return violate(.unexpected("the end of an activity that hadn't begun")) }
      activities -= 1
    case .controlChanged(let isEngaged, let isWaiting): (isControlEngaged, isControlAwaited) = (isEngaged, isWaiting)
    default: break
    }
    var effects: [RunEffect] = []
    if !wasBusy, isBusy, phase.isIdle { effects.append(.resume) }
    effects.append(.countWait(countsWait))
    if wasBusy, !isBusy, phase.isIdle { effects.append(.becomeIdle(isBusy: false)) }
    return effects + release()
  }

  // MARK: The end

  private mutating func violate(_ violation: ProtocolViolation) -> [RunEffect] {
    end(
      Outcome(
        .protocolViolation,
        Printable.text("the plugin's channel brought what the host doesn't take: \(violation)", limit: 300)))
  }

  /// The first cause wins. The end is reported when the process is gone.
  private mutating func end(_ cause: Outcome, exhaustion: String? = nil) -> [RunEffect] {
    let stage = phase.stage ?? .idle
    let isAsking = cause.kind.isTimeLimit && !phase.isClosingWalls && stage != .idle
    phase = .ending(.init(cause: cause, stage: stage, exhaustion: exhaustion, isAsking: isAsking))
    return [.stop, isAsking ? .askThreads : .kill]
  }

  /// Kills the process once every thread has told where it is.
  private mutating func endQuestion(_ ending: RunPhase.Ending, isOverdue: Bool = false) -> [RunEffect] {
    guard ending.isAsking, isOverdue || threads.isComplete else { return [] }
    var ending = ending
    ending.isAsking = false
    phase = .ending(ending)
    return [.kill]
  }

  private mutating func handleWhileEnding(_ event: RunEvent, _ ending: RunPhase.Ending) -> [RunEffect] {
    switch event {
    // There was nothing to kill before.
    case .handleArrived: return [.kill]
    case .threadsAsked(let count, let all):
      threads.ask(count, of: all)
      return endQuestion(ending)
    case .threadTold(let thread, let name):
      threads.noteTold(thread, name: name)
      return endQuestion(ending)
    case .threadsOverdue: return endQuestion(ending, isOverdue: true)
    case .gone(_, let exhaustion, let exit):
      var ending = ending
      ending.exhaustion = exhaustion ?? ending.exhaustion
      phase = .ending(ending)
      return [.report(ending.cause, exit)]
    case .reported(let report):
      phase = .ended(report)
      return [.unwatch] + refuseAll(ending, report) + [.end(report)]
    case .asked(let call):
      line.add(call, id: call.ticket)
      return []
    case .cancelled(let ticket): return line.remove(ticket) == nil ? [] : [.refuse(ticket, .cancelled)]
    default: return []
    }
  }

  private mutating func refuseAll(_ ending: RunPhase.Ending, _ report: RunReport) -> [RunEffect] {
    let first: [RunEffect] =
      switch ending.stage {
      case .closingWalls, .loading: [.refuse(loader, ending.exhaustion.map { .exhausted($0) } ?? .ended(report))]
      case .calling(let call): [.refuse(call.ticket, .ended(report))]
      case .idle: []
      }
    return first + line.removeAll().map { .refuse($0.ticket, .ended(report)) }
  }

  private func handleAfterEnd(_ event: RunEvent, _ report: RunReport) -> [RunEffect] {
    if case .asked(let call) = event { return [.refuse(call.ticket, .ended(report))] }
    return []
  }
}
