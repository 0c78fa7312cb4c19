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
      while let question = try next() {
        let isAnswered: Bool
        switch question {
        case .function(let call, let id, let place): isAnswered = answer(call, id, rememberedAs: place)
        case .words(let place, let count, let id): isAnswered = try answer(place, count, id)
        case .frame(let frame): isAnswered = try answer(frame)
        }
        guard isAnswered else { break }
      }
    } catch {
      // Otherwise it would look as if the plugin had ended its process.
      _ = channel.send(RunnerMessage.corruptQuestion.frame(id: 0))
    }
    ol_exit_now(0)
  }

  /// nil when the host has closed the channel. Throws where what came isn't a question.
  private mutating func next() throws(ProtocolViolation) -> CallPort.Question? {
    guard port != nil else { return try channel.receive().map { .frame($0) } }
    switch try port?.next() {
    case .question(let question): return question
    case .onSocket: return try channel.receive().map { .frame($0) }
    case .end, nil: return nil
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
    guard let plugin, let port else { return false }
    guard let function = plugin.resolved.remembered[place], function.count == count else {
      throw .unexpected("\(count) words for function \(place)")
    }
    let word = function.call(port.words)
    ol_flush_output()
    port.answer(word: word, id: id, on: channel)
    return true
  }

  private mutating func answer(_ call: PlacedCall, _ id: UInt64, rememberedAs place: Int?) -> Bool {
    guard let plugin, let port else { return false }
    let outcome = FunctionCaller.call(call, in: plugin, memory: port.memory, rememberedAs: place)
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
