internal import CLinux
internal import HostProtocol
internal import LinuxSystem

/// The host's end of the memory that it shares with a runner: one question at a time, and its answer.
///
/// The plugin can write to all of it at any moment. Each word is read once, every length is bounded, and what is decoded is a copy
/// of the host's own.
struct CallLink: ~Copyable, Sendable {
  struct Answer {
    var message: RunnerMessage
    var id: UInt64
    /// Whether the runner says that it has sent something on a socket before.
    var isAfterMessages: Bool
    /// Whether it was made of one word, by the type of what was asked: then it has that.
    var isWord = false
  }

  private var region: CallRegion
  private var asked: UInt32 = 0
  private var bell: UInt32 = 0
  private var askedID: UInt64 = 0
  /// The word of the last answer as it was when the question was asked.
  private var before: UInt32 = 0
  private var isAnswered = true
  /// Whether that was on the socket: then it isn't answered here as well.
  private var wasOnSocket = false
  /// What was taken here and is for another caller to handle.
  private var held: Result<Answer, ProtocolViolation>?
  /// Frames on the socket that say of an answer in the memory: at most one for each question for which the host slept.
  private var expectedNotices = 0
  /// The functions that the runner remembers, by their numbers; 0: none.
  private var remembered = InlineArray<64, UInt64>(repeating: 0)
  /// What the open question is to be remembered as; nil: nothing.
  private var learning: (place: Int, number: UInt64)?
  /// Of the open question, where that is nothing but words.
  private var askedWords: WordSignature?

  init(_ region: consuming CallRegion) { self.region = region }

  var words: CallWords { CallWords(pointer: region.pointer, before: before) }
  var inode: UInt64 { region.inode }
  var share: (all: Int, plugins: Int) { region.share }

  /// Whether the runner answered last on the processor that this thread runs on. It may be told so by the plugin.
  var isOnRunnersProcessor: Bool {
    let here = ol_processor()
    return here != 0 && here == ol_runner_processor(region.pointer)
  }

  func duplicate() throws(SystemCallError) -> OwnedDescriptor { try region.duplicate() }

  // MARK: Asking

  /// Asks by a frame. `room`: bytes that its answer may take here; a longer one comes on the socket. False where there is no
  /// room for the frame.
  mutating func ask(_ frame: Frame, room: Int, spinLimit: Duration) -> Bool {
    guard region.fill(questions: frame.payload.count, answers: min(room, CallRegion.area)) else { return false }
    put(frame.payload)
    publish(OL_IN_MEMORY, frame.kind, frame.payload.count, frame.id, room, spinLimit)
    return true
  }

  /// Asks by the call of a function that the runner may know already.
  mutating func ask(
    _ call: FunctionCall, id: UInt64, spinLimit: Duration
  ) -> Bool {
    let (function, arguments) = (call.function, call.arguments)
    guard let words = function.words else {
      return ask(function.symbol, function.text, arguments, function.signature, id: id, spinLimit: spinLimit)
    }
    let place = Int(function.number % UInt64(remembered.count))
    if remembered[place] == function.number { return ask(words, at: place, arguments, id, spinLimit) }
    guard
      ask(
        function.symbol, function.text, arguments, function.signature, id: id, spinLimit: spinLimit,
        rememberedAs: place + 1)
    else { return false }
    // Another one's before, and this one's once the runner has called it.
    remembered[place] = 0
    learning = (place, function.number)
    return true
  }

  /// Asks by nothing but words. False where an argument isn't one, as the encoder makes none.
  private mutating func ask(
    _ signature: WordSignature, at place: Int, _ arguments: [CallValue], _ id: UInt64, _ spinLimit: Duration
  ) -> Bool {
    guard arguments.count == signature.arguments.count else { return false }
    for index in arguments.indices {
      guard let word = arguments[index].word else { return false }
      ol_put_word(region.pointer, UInt32(index), word)
    }
    publish(OL_IN_WORDS, 0, arguments.count, id, PlacedData.payloadRoom, spinLimit, function: place)
    askedWords = signature
    return true
  }

  /// Asks by a function's call, whose long arguments and buffers are copied once each. False where there is no room.
  mutating func ask(
    _ symbol: String, _ text: String, _ arguments: [CallValue], _ signature: CallSignature, id: UInt64,
    spinLimit: Duration, rememberedAs place: Int = 0
  ) -> Bool {
    var area = AreaRoom(capacity: CallRegion.area)
    let room = Self.room(for: signature)
    guard room <= CallRegion.area,
      let call = PlacedCall(symbol: symbol, signature: text, placing: arguments, in: &area)
    else { return false }
    let payload = call.payload
    guard payload.count <= PlacedData.payloadRoom,
      region.fill(questions: area.isEmpty ? payload.count : area.used, answers: room)
    else { return false }
    for (argument, value) in zip(call.arguments, arguments) {
      guard case .placed(let place) = argument else { continue }
      switch value {
      case .bytes(let bytes), .cstring(let bytes?):
        bytes.withUnsafeBytes {
          if let from = $0.baseAddress {
            (region.questions + place.offset).copyMemory(from: from, byteCount: place.count)
          }
        }
        // Text that is passed as bytes ends with a NUL as well.
        region.questions.storeBytes(of: 0, toByteOffset: place.offset + place.count, as: UInt8.self)
      default: break
      }
    }
    put(payload)
    publish(OL_IN_MEMORY, PlacedCall.kind, payload.count, id, room, spinLimit, function: place)
    return true
  }

  /// What an answer of that type takes at most, with each buffer on a place of its own.
  static func room(for signature: CallSignature) -> Int {
    PlacedData.payloadRoom + signature.longestAnswer + 16 * (signature.arguments.count + 1)
  }

  /// A question follows at once: the runner, which is about to be let go on, spins for it.
  mutating func announce() {
    bell &+= 1
    ol_announce(region.pointer, ol_processor(), bell)
  }

  /// The next frame is on the socket.
  mutating func askOnSocket(id: UInt64) {
    publish(OL_ON_SOCKET, 0, 0, id, PlacedData.payloadRoom, .zero)
  }

  /// Nothing more is asked: what the runner finds on the socket is its end.
  mutating func askNoMore() { publish(OL_ON_SOCKET, 0, 0, 0, 0, .zero) }

  private func put(_ payload: [UInt8]) {
    payload.withUnsafeBytes {
      if let from = $0.baseAddress { region.questions.copyMemory(from: from, byteCount: $0.count) }
    }
  }

  private mutating func publish<Place: BinaryInteger>(
    _ place: Place, _ kind: UInt8, _ length: Int, _ id: UInt64, _ room: Int, _ spinLimit: Duration, function: Int = 0
  ) {
    let words = region.pointer
    before = ol_region_load(ol_answer_word(words))
    // For the caller that waits for this answer.
    if wasOnSocket, before == asked { held = .failure(.unexpected("a second answer to question \(asked)")) }
    asked &+= 1
    bell &+= 1
    askedID = id
    isAnswered = false
    wasOnSocket = false
    (learning, askedWords) = (nil, nil)
    ol_ask(
      words,
      ol_question(
        sequence: asked, place: UInt32(place), kind: UInt32(kind), length: UInt32(length), id: id, room: UInt32(room),
        spin_limit: UInt32(clamping: spinLimit.inNanoseconds), host_waits: 0, host_processor: ol_processor(),
        taken: asked &- 1, function: UInt32(function), bell: bell))
    // A plugin that says that none of its threads sleeps isn't woken, and its deadline comes.
    if ol_region_load(ol_runner_waits(words)) != 0 { ol_region_wake(ol_bell(words)) }
  }

  // MARK: Answers

  /// From now on a frame on the socket says that the answer is here. True where it is already.
  mutating func sleepForSocket() -> Bool {
    guard !isAnswered else { return held != nil }
    expectedNotices += 1
    ol_region_store(ol_host_waits(region.pointer), UInt32(OL_WAITS_FOR_SOCKET))
    return ol_region_load(ol_answer_word(region.pointer)) != before
  }

  /// A frame on the socket says that there is an answer. False for one too many.
  mutating func rang() -> Bool {
    guard expectedNotices > 0 else { return false }
    expectedNotices -= 1
    return true
  }

  /// The answer has come on the socket.
  mutating func answeredOnSocket() {
    guard !isAnswered else { return }
    (isAnswered, wasOnSocket) = (true, true)
  }

  /// What has been answered to the open question; nil while nothing has.
  mutating func take() throws(ProtocolViolation) -> Answer? {
    if let found = held.take() { return try found.get() }
    guard !isAnswered else { return nil }
    let answer = ol_read_answer(region.pointer)
    if answer.sequence == before, before != asked { return nil }
    isAnswered = true
    guard answer.sequence == asked, answer.id == askedID else {
      throw .unexpected("answer \(answer.sequence) to question \(asked)")
    }
    guard Int(answer.length) <= CallRegion.area else {
      throw .frameTooLong(length: answer.length, limit: CallRegion.area)
    }
    guard let kind = UInt8(exactly: answer.kind) else { throw .unexpected("kind \(answer.kind)") }
    if let askedWords, kind == RunnerMessage.returnedWordKind {
      return Answer(
        message: .returned(CallResult(value: askedWords.value(of: answer.word))), id: answer.id,
        isAfterMessages: answer.has_sent != 0, isWord: true)
    }
    let payload = [UInt8](UnsafeRawBufferPointer(start: region.answers, count: Int(answer.length)))
    let message = try RunnerMessage(
      Frame(kind: kind, id: answer.id, payload: payload),
      area: UnsafeRawBufferPointer(start: region.answers, count: CallRegion.area))
    // The runner clears them while the next question is made.
    if case .returned(let result) = message, result.out.contains(where: { $0.count >= PlacedData.minClearedBytes }) {
      ol_region_store(ol_taken(region.pointer), asked)
    }
    if case .returned = message, let learning { remembered[learning.place] = learning.number }
    switch message {
    case .loaded, .loadFailed, .returned, .entryPointMissing, .symbolIsData:
      return Answer(message: message, id: answer.id, isAfterMessages: answer.has_sent != 0)
    case .ready, .wallsClosed, .crashed, .stackFrame, .threadFrame, .threadTold, .wildPointer, .answered,
      .corruptQuestion, .reenteredCallback:
      throw .unexpected("\(kind) in the memory for calls")
    }
  }

  /// Keeps an answer for the next caller of `take`: read a second time, it could be another one.
  mutating func putBack(_ answer: Result<Answer, ProtocolViolation>) { held = answer }

  /// The run is over.
  mutating func free() {
    isAnswered = true
    held = nil
    region.free()
  }
}

/// The word that tells of an answer, for a caller that waits for it outside of any lock. It is there for as long as the link is.
///
/// @unchecked Sendable: it is read atomically.
struct CallWords: @unchecked Sendable {
  private let words: UnsafeMutablePointer<ol_words>
  private let before: UInt32

  init(pointer: UnsafeMutablePointer<ol_words>, before: UInt32) {
    words = pointer
    self.before = before
  }

  /// Waits for an answer. Whether there is one.
  func wait(_ way: AnswerWait.Way, for time: Duration) -> Bool {
    let word = ol_answer_word(words)
    let nanoseconds = UInt64(max(time.inNanoseconds, 0))
    guard way == .blocking else { return ol_region_spin(word, before, nanoseconds) == 1 }
    // Where the call has been taken over meanwhile, the socket is to tell of its answer, and goes on doing so.
    ol_region_replace(ol_host_waits(words), UInt32(OL_AWAKE), UInt32(OL_WAITS_FOR_WORD))
    if ol_region_load(word) == before { ol_region_sleep(word, before, nanoseconds) }
    return ol_region_load(word) != before
  }
}
