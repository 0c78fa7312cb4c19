internal import HostProtocol
internal import LinuxSystem

/// The load or call that is under way, and those that wait for their turn.
struct CallLine {
  struct Call {
    var call: HostMessage.Call
    var signature: CallSignature?
    var ticket: CallTicket
    var completion: Run.Completion
  }

  var current: CallTicket?
  var turns = CallTurns<Call>()
}

extension Run {
  /// At once, or after those that were made before.
  func call(
    _ call: HostMessage.Call, _ signature: CallSignature?, _ ticket: CallTicket, _ completion: @escaping Completion
  ) {
    if ticket.isCancelled { return completion(.failure(.cancelled)) }
    if let report { return completion(.failure(.ended(report))) }
    guard waiting == nil, line.turns.isEmpty else {
      return line.turns.add(
        .init(call: call, signature: signature, ticket: ticket, completion: completion), id: ticket.id)
    }
    line.current = ticket
    begin(call, signature, completion)
  }

  /// A call that waits is taken out of the line. One that is under way can't be taken back from the plugin: the run ends.
  func cancel(_ ticket: CallTicket) {
    if let call = line.turns.remove(ticket.id) { return call.completion(.failure(.cancelled)) }
    guard line.current === ticket, let waiting else { return }
    let what = if case .load = waiting { "load" } else { "call" }
    kill(Outcome(.cancelled, "the caller gave up the \(what) that was under way"))
  }

  /// From the loop and not from here: a long line of short calls would be as deep a stack.
  func beginNext() {
    guard !line.turns.isEmpty else { return }
    loop.setTimer(key(.turn), at: BootClock.now) { [weak self] in
      guard let self, waiting == nil, report == nil, let next = line.turns.next()?.call else { return }
      line.current = next.ticket
      begin(next.call, next.signature, next.completion)
      // One that was refused has nothing to wait for.
      if waiting == nil { beginNext() }
    }
  }

  func failLine(_ report: RunReport) {
    for call in line.turns.removeAll() { call.completion(.failure(.ended(report))) }
  }
}
