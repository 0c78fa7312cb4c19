internal import CLinux
internal import HostProtocol
internal import LinuxSystem
internal import Synchronization

/// The runner's end of the shared memory: waits for questions, and answers there.
struct CallPort {
  enum Question {
    /// `place`: where the function is to be remembered; nil: nowhere.
    case function(PlacedCall, id: UInt64, place: Int?)
    case frame(Frame)
  }

  /// Nothing but numbers: a call by words reads little that the processor has forgotten while the runner slept.
  enum Arrival {
    /// So many of the port's words are the arguments of a function that is remembered.
    case words(place: Int, count: Int, id: UInt64)
    /// To be read by `question`.
    case inMemory(ol_question)
    case onSocket
    /// The host is gone.
    case end
  }

  /// However long the host says that spinning pays.
  private static let longestTurn: UInt64 = 1_000_000
  /// From an announcement to the question: what the host does before it may be new to its processor.
  private static let longestAnnouncement: UInt64 = 100_000
  /// Then it is looked whether the host is still there.
  private static let longestSleep: UInt64 = 1_000_000_000

  let memory: CallMemory
  /// The arguments of a call by words, for as long as the process lives.
  let words = UnsafeMutablePointer<UInt64>.allocate(capacity: WordSignature.maxArguments)
  /// Functions that may be called by words, each where the host has said.
  private let remembered = UnsafeMutablePointer<WordFunction?>.allocate(capacity: Int(OL_FUNCTIONS))
  /// The sequence of the last question.
  private var last: UInt32 = 0
  private var spinLimit: UInt64 = 0
  /// Where the host asked it, as `ol_processor`.
  private var hostsProcessor: UInt32 = 0

  init(_ memory: CallMemory) {
    self.memory = memory
    remembered.initialize(repeating: nil, count: Int(OL_FUNCTIONS))
  }

  /// Throws where what lies there isn't a question: the plugin can write to it.
  mutating func next() throws(ProtocolViolation) -> Arrival {
    guard wait() else { return .end }
    let question = ol_read_question(memory.words)
    last = question.sequence
    spinLimit = min(UInt64(question.spin_limit), Self.longestTurn)
    hostsProcessor = question.host_processor
    switch question.place {
    case UInt32(OL_IN_MEMORY): return .inMemory(question)
    case UInt32(OL_IN_WORDS):
      guard question.length <= WordSignature.maxArguments, question.function < OL_FUNCTIONS else {
        throw .unexpected("\(question.length) words for function \(question.function)")
      }
      ol_read_words(memory.words, question.length, words)
      return .words(place: Int(question.function), count: Int(question.length), id: question.id)
    case UInt32(OL_ON_SOCKET): return .onSocket
    default: throw .unexpected("place \(question.place)")
    }
  }

  /// What a question in the memory asks. Throws as `next` does.
  func question(_ question: ol_question) throws(ProtocolViolation) -> Question {
    guard Int(question.length) <= CallMemory.area else {
      throw .frameTooLong(length: question.length, limit: CallMemory.area)
    }
    guard let kind = UInt8(exactly: question.kind) else { throw .unexpected("kind \(question.kind)") }
    let payload = Array(UnsafeRawBufferPointer(start: memory.questions, count: Int(question.length)))
    guard kind == PlacedCall.kind else {
      return .frame(Frame(kind: kind, id: question.id, payload: payload))
    }
    guard question.function <= OL_FUNCTIONS else { throw .unexpected("function \(question.function)") }
    return .function(
      try PlacedCall(payload: payload, area: CallMemory.area), id: question.id,
      place: question.function > 0 ? Int(question.function) - 1 : nil)
  }

  /// Until there is another question. False where the host is gone.
  private func wait() -> Bool {
    let word = ol_question_word(memory.words)
    // A runner that spins on the host's processor keeps the host from asking.
    let isApart = Self.isApart(from: hostsProcessor)
    if memory.cleared.callEnded(), isApart, spinLimit > 0 {
      switch ol_region_spin_until_taken(memory.words, last, spinLimit) {
      case Int32(OL_IS_ASKED): return true
      case Int32(OL_IS_TAKEN):
        if !memory.cleared.clear(memory.answers, isAsked: { ol_region_load(word) != last }) { return true }
      default: break
      }
    }
    if ol_region_spin(word, last, isApart ? spinLimit : 0) == 1 { return true }
    return sleep(word)
  }

  private func sleep(_ word: UnsafeMutablePointer<UInt32>?) -> Bool {
    let waits = ol_runner_waits(memory.words)
    let bell = ol_bell(memory.words)
    defer { ol_region_store(waits, UInt32(OL_AWAKE)) }
    while true {
      ol_region_store(waits, UInt32(OL_WAITS_FOR_WORD))
      // Before the sequence: the host rings after the question.
      let silent = ol_region_load(bell)
      guard ol_region_load(word) == last else { return true }
      ol_region_sleep(bell, silent, Self.longestSleep)
      if ol_region_load(word) != last { return true }
      if ol_region_load(bell) != silent {
        ol_region_store(waits, UInt32(OL_AWAKE))
        let isApart = Self.isApart(from: ol_read_question(memory.words).host_processor)
        if isApart, ol_region_spin(word, last, Self.longestAnnouncement) == 1 { return true }
      } else if ol_is_finished(Runner.control) == 1 {
        return false
      }
    }
  }

  private static func isApart(from hostsProcessor: UInt32) -> Bool {
    let here = ol_processor()
    return here == 0 || hostsProcessor != here
  }

  /// `place`: less than `OL_FUNCTIONS`.
  func remember(_ function: WordFunction?, at place: Int) { remembered[place] = function }

  /// Calls what is remembered there, by the port's words. Throws where nothing is, or something that takes another count of them.
  func call(at place: Int, count: Int) throws(ProtocolViolation) -> UInt64 {
    guard let function = remembered[place], function.count == count else {
      throw .unexpected("\(count) words for function \(place)")
    }
    return function.call()
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
