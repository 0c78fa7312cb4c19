internal import HostProtocol

/// What happens to a run.
enum RunEvent {
  // MARK: From its fork server

  /// There is a runner, and the host has the handle of its process.
  case handleArrived
  /// The kernel found no room for one of the run's descriptors; the sentence says so.
  case descriptorsExhausted(String)
  /// The process is gone, or there never was one. `verdict`: why, unless the cause is known already. `exhaustion`: what a
  /// load is told that the host had no descriptors for. `exit`: how it went, where the server has told.
  case gone(verdict: Outcome, exhaustion: String? = nil, exit: ServerEvent.Exit? = nil)

  // MARK: From the runner: every one may be the plugin's word

  case ready(id: UInt64)
  /// `failure`: what a wall that couldn't be closed means.
  case wallsClosed(failure: Outcome?, id: UInt64)
  /// `isUnchanged`: the library is still the file that was hashed.
  case loaded(RunnerMessage.LoadedImage, isUnchanged: Bool, path: String, id: UInt64)
  case loadFailed(String, id: UInt64)
  case returned(RunnerMessage.CallResult, id: UInt64)
  /// The function or entry point isn't there (`isData`: its symbol is something else).
  case missing(isData: Bool, id: UInt64)
  case violated(ProtocolViolation)
  /// Everything that has arrived on the service channel is handled.
  case serviceDrained
  case activityBegan
  case activityEnded
  /// A thread that was asked has told where it is.
  case threadTold(UInt32, name: String)

  // MARK: From the host

  /// So many threads were asked where they are.
  case threadsAsked(Int, of: Int = 0)
  /// Threads that haven't told their stacks aren't waited for any longer.
  case threadsOverdue

  /// How the run stands to exclusive control (`ControlUse`).
  case controlChanged(isEngaged: Bool, isWaiting: Bool)
  case asked(PluginCall)
  /// Calls were made without the machine (`CallLane`), up to the one with the id `last`. `call`: the last one, where it hasn't
  /// been answered.
  case tookOver(last: UInt64, call: PluginCall?)
  /// The next call in the line may begin.
  case turnCame
  /// The caller with this ticket gives up.
  case cancelled(UInt64)
  case kill(Outcome)
  /// The report of what is gone.
  case reported(RunReport)
}

/// What is to be done for it.
enum RunEffect {
  /// Open the meters of the process, and take its baseline.
  case openMeters
  /// Begin to measure and to supervise, and ask the runner to load the plugin.
  case load
  /// The image is loaded: tell the load's caller.
  case completeLoad(RunnerMessage.LoadedImage)
  /// Send a call, whose clocks begin now, with the limit that its caller gave it. Its answer may follow at once.
  case begin(Frame, countsWait: Bool, limit: Duration?)
  /// A call has begun already: watch it, and tell its caller by the lane.
  case adopt(PluginCall)
  /// Handle what the plugin asked for before its call returned; `serviceDrained` is to follow.
  case drainService
  /// A call is over: tell its caller.
  case complete(PluginCall, Result<RunnerMessage.CallResult, HostError>)
  /// Tell the caller with that ticket that the call doesn't begin, or that the load or call was cut short.
  case refuse(UInt64, HostError)
  /// No call is under way (any more). `isBusy`: something that it began goes on, and its clocks with it.
  case becomeIdle(isBusy: Bool)
  /// Something began after the call had returned: the clocks of the last call go on.
  case resume
  /// Whether the plugin's wait for exclusive control isn't its own time.
  case countWait(Bool)
  /// `turnCame` is to follow, from the loop and not from here: a long line of short calls would be as deep a stack.
  case scheduleTurn
  /// The cause is known: no clock of the plugin's goes on.
  case stop
  /// Ask the plugin's threads where they are; `threadsAsked` is to follow, and `threadsOverdue` where they don't all tell.
  case askThreads
  /// Kill the process, where there is a handle of it.
  case kill
  /// The runner is to end when it reads the end of its channel: there may be no handle to kill it by.
  case shutDownControl
  /// The cause is known, and the process is gone: put the report together; `reported` is to follow.
  case report(Outcome, ServerEvent.Exit?)
  /// Nothing is watched any more.
  case unwatch
  /// Let everything go, and tell who waits for the end.
  case end(RunReport)
}
