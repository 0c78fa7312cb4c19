internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Answers the host, one message at a time, on the process's first thread.
struct RunnerLoop {
  /// The host bounds what it asks by the run's limits, which it alone knows.
  private var channel = Channel(Runner.control, longestPayload: Frame.longestAllowed)
  /// nil: everything goes through the channel.
  private var port: CallPort?
  private var plugin: LoadedPlugin?
  private let deep: Bool

  init(deep: Bool, memory: CallMemory?) {
    self.deep = deep
    port = memory.map { CallPort($0) }
  }

  mutating func run() -> Never {
    do {
      while try answerNext() {}
    } catch {
      // Otherwise it would look as if the plugin had ended its process.
      _ = channel.send(RunnerMessage.corruptQuestion.frame(id: 0))
    }
    ol_exit_now(RunnerExit.channelLost)
  }

  /// False when the host has closed the channel. Throws where what came isn't a question.
  private mutating func answerNext() throws(ProtocolViolation) -> Bool {
    switch try port?.next() {
    case .words(let place, let count, let id): return try answer(place, count, id)
    case .inMemory(let question):
      switch try port?.question(question) {
      case .function(let call, let id, let place): return answer(call, id, rememberedAs: place)
      case .frame(let frame): return try answer(frame)
      case nil: return false
      }
    case .onSocket, nil:
      guard let frame = try channel.receive() else { return false }
      return try answer(frame)
    case .end: return false
    }
  }

  private mutating func answer(_ frame: Frame) throws(ProtocolViolation) -> Bool {
    var frame = frame
    let message = try HostMessage(frame)
    // It may be long, and the plugin's memory pays for it.
    frame.payload = []
    let answer: RunnerMessage?
    switch message {
    case .load(let request): answer = load(request)
    case .call(let call): answer = perform(call)
    }
    ol_flush_output()
    guard let answer = answer?.frame(id: frame.id) else { return false }
    // In the memory the next answer would hide it from a host that was told before, by the plugin, that it is loaded.
    if case .load = message { return channel.send(answer) }
    return send(answer)
  }

  /// Calls a remembered function.
  private func answer(_ place: Int, _ count: Int, _ id: UInt64) throws(ProtocolViolation) -> Bool {
    guard let word = try port?.call(at: place, count: count) else { return false }
    ol_flush_output()
    port?.answer(word: word, id: id, on: channel)
    return true
  }

  private mutating func answer(_ call: PlacedCall, _ id: UInt64, rememberedAs place: Int?) -> Bool {
    guard let plugin, let port else { return false }
    let outcome = FunctionCaller.call(call, in: plugin, memory: port.memory) { address, signature in
      if let place { port.remember(WordFunction(address, signature, words: port.words), at: place) }
    }
    ol_flush_output()
    switch outcome {
    case .message(let message): return send(message.frame(id: id))
    case .answer(let answer):
      if port.answer(answer, id: id, on: channel) { return true }
      return send(RunnerMessage.returned(port.memory.copy(of: answer)).frame(id: id))
    case nil: return false
    }
  }

  /// Where there is room for it in the shared memory, there.
  private func send(_ frame: Frame) -> Bool {
    if let port, port.answer(frame, on: channel) { return true }
    return channel.send(frame)
  }

  private mutating func load(_ request: HostMessage.LoadRequest) -> RunnerMessage {
    do {
      let loaded = try LoadedPlugin(request, deep: deep)
      plugin = loaded
      return .loaded(loaded.description)
    } catch {
      return .loadFailed(error.message)
    }
  }

  private func perform(_ call: HostMessage.Call) -> RunnerMessage? {
    guard let plugin else { return nil }
    guard case .function(let symbol, let signature, let arguments) = call else {
      return EntryPointCaller(plugin: plugin).call(call)
    }
    let placed = PlacedCall(symbol: symbol, signature: signature, arguments: arguments.map { .value($0) })
    switch FunctionCaller.call(placed, in: plugin, memory: nil) {
    case .message(let message): return message
    case .answer(let answer): return .returned(CallMemory.copy(of: answer))
    case nil: return nil
    }
  }
}
