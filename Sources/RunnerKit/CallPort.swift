internal import CLinux
internal import HostProtocol
internal import LinuxSystem
internal import Synchronization

/// The runner's end of the shared memory: waits for questions, and answers there.
struct CallPort {
  enum Question {
    /// `place`: where the function is to be remembered; nil: nowhere.
    case function(PlacedCall, id: UInt64, place: Int?)
    /// So many of the port's words are the arguments of a function that is remembered.
    case words(place: Int, count: Int, id: UInt64)
    case frame(Frame)
  }

  enum Arrival {
    case question(Question)
    case onSocket
    /// The host is gone.
    case end
  }

  /// However long the host says that turning round pays.
  private static let longestTurn: UInt64 = 1_000_000
  /// Then it is looked whether the host is still there.
  private static let longestSleep: UInt64 = 1_000_000_000

  let memory: CallMemory
  /// The arguments of a call by words, for as long as the process lives.
  let words = UnsafeMutablePointer<UInt64>.allocate(capacity: WordSignature.maxArguments)
  /// The sequence of the last question.
  private var last: UInt32 = 0
  private var spinLimit: UInt64 = 0
  /// Where the host asked it, as `ol_processor`.
  private var hostsProcessor: UInt32 = 0

  init(_ memory: CallMemory) { self.memory = memory }

  /// Throws where what lies there isn't a question: the plugin can write to it.
  mutating func next() throws(ProtocolViolation) -> Arrival {
    guard wait() else { return .end }
    let question = ol_read_question(memory.words)
    last = question.sequence
    spinLimit = min(UInt64(question.spin_limit), Self.longestTurn)
    hostsProcessor = question.host_processor
    switch question.place {
    case UInt32(OL_IN_MEMORY): break
    case UInt32(OL_IN_WORDS):
      guard question.length <= WordSignature.maxArguments, question.function < OL_FUNCTIONS else {
        throw .unexpected("\(question.length) words for function \(question.function)")
      }
      ol_read_words(memory.words, question.length, words)
      return .question(.words(place: Int(question.function), count: Int(question.length), id: question.id))
    case UInt32(OL_ON_SOCKET): return .onSocket
    default: throw .unexpected("place \(question.place)")
    }
    guard Int(question.length) <= CallMemory.area else {
      throw .frameTooLong(length: question.length, limit: CallMemory.area)
    }
    guard let kind = UInt8(exactly: question.kind) else { throw .unexpected("kind \(question.kind)") }
    let payload = Array(UnsafeRawBufferPointer(start: memory.questions, count: Int(question.length)))
    guard kind == PlacedCall.kind else {
      return .question(.frame(Frame(kind: kind, id: question.id, payload: payload)))
    }
    guard question.function <= OL_FUNCTIONS else { throw .unexpected("function \(question.function)") }
    return .question(
      .function(
        try PlacedCall(payload: payload, area: CallMemory.area), id: question.id,
        place: question.function > 0 ? Int(question.function) - 1 : nil))
  }

  /// Until there is another question. False where the host is gone.
  private func wait() -> Bool {
    let word = ol_question_word(memory.words)
    // Who turns round on the host's processor keeps it from asking.
    let here = ol_processor()
    let isApart = here == 0 || hostsProcessor != here
    if memory.cleared.callEnded(), isApart, spinLimit > 0 {
      switch ol_region_turn_until_taken(memory.words, last, spinLimit) {
      case Int32(OL_IS_ASKED): return true
      case Int32(OL_IS_TAKEN):
        if !memory.cleared.clear(memory.answers, isAsked: { ol_region_load(word) != last }) { return true }
      default: break
      }
    }
    if ol_region_turn(word, last, isApart ? spinLimit : 0) == 1 { return true }
    ol_region_store(ol_runner_waits(memory.words), UInt32(OL_WAITS_FOR_WORD))
    defer { ol_region_store(ol_runner_waits(memory.words), UInt32(OL_AWAKE)) }
    while ol_region_load(word) == last {
      ol_region_sleep(word, last, Self.longestSleep)
      if ol_region_load(word) == last, ol_is_finished(Runner.control) == 1 { return false }
    }
    return true
  }

  /// False where there is no room: the answer goes through the channel then.
  func answer(_ frame: Frame, on channel: Channel) -> Bool {
    guard frame.payload.count <= memory.room else { return false }
    memory.cleared.put(payload: frame.payload.count)
    frame.payload.withUnsafeBytes {
      if let from = $0.baseAddress { memory.answers.copyMemory(from: from, byteCount: $0.count) }
    }
    publish(kind: frame.kind, length: frame.payload.count, id: frame.id, channel)
    return true
  }

  /// The same of what a function returned, whose long buffers lie there already.
  func answer(_ answer: PlacedAnswer, id: UInt64, on channel: Channel) -> Bool {
    let payload = answer.payload
    let isPlaced = answer.out.contains { if case .placed = $0 { true } else { false } }
    guard !isPlaced || payload.count <= PlacedData.payloadRoom else { return false }
    return self.answer(Frame(kind: RunnerMessage.returnedKind, id: id, payload: payload), on: channel)
  }

  /// The same of a function that was called by words.
  func answer(word: UInt64, id: UInt64, on channel: Channel) {
    publish(kind: RunnerMessage.returnedWordKind, length: 0, id: id, channel, word: word)
  }

  private func publish(kind: UInt8, length: Int, id: UInt64, _ channel: Channel, word: UInt64 = 0) {
    ol_answer(
      memory.words,
      ol_answer(
        sequence: last, kind: UInt32(kind), length: UInt32(length), runner_waits: 0, id: id, processor: ol_processor(),
        has_sent: Channel.hasSent.exchange(false, ordering: .acquiringAndReleasing) ? 1 : 0, word: word))
    // After the answer: either the host sees that, or this sees how the host waits.
    switch ol_region_load(ol_host_waits(memory.words)) {
    case UInt32(OL_AWAKE): break
    case UInt32(OL_WAITS_FOR_WORD): ol_region_wake(ol_answer_word(memory.words))
    default: _ = channel.send(RunnerMessage.answered.frame(id: id))
    }
  }
}
