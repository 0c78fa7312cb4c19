import Basics
import CLinux
import Glibc
import HostProtocol
import LinuxSystem
import Testing

@testable import PluginHost

/// The host's end of the shared memory, with this test as the runner, or as a plugin that writes there in its place.
@Suite(.timeLimit(.minutes(1))) struct CallLinkTests {
  /// What is asked, as the other end sees it.
  private struct Runner: ~Copyable {
    let words: UnsafeMutablePointer<ol_words>
    private let answers: UnsafeMutableRawPointer

    init(_ link: borrowing CallLink) throws {
      let file = try link.duplicate()
      var start: UnsafeMutableRawPointer?
      try check("mmap", "memory for calls") { ol_region_map(file.number, Int(OL_REGION_BYTES), &start) }
      let memory = try #require(start)
      words = memory.bindMemory(to: ol_words.self, capacity: 1)
      answers = memory + Int(OL_REGION_WORDS + OL_REGION_AREA)
    }

    deinit { munmap(words, Int(OL_REGION_BYTES)) }

    var question: ol_question { ol_read_question(words) }

    func asked(_ count: Int) -> [UInt64] {
      var found = [UInt64](repeating: 0, count: Int(OL_MAX_WORDS))
      ol_read_words(words, UInt32(OL_MAX_WORDS), &found)
      return Array(found.prefix(count))
    }

    func answer(_ message: RunnerMessage) {
      let frame = message.frame(id: question.id)
      frame.payload.withUnsafeBytes { answers.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
      publish(kind: UInt32(frame.kind), length: frame.payload.count, word: 0)
    }

    func answer(word: UInt64) { publish(kind: UInt32(RunnerMessage.returnedWordKind), length: 0, word: word) }

    private func publish(kind: UInt32, length: Int, word: UInt64) {
      ol_answer(
        words,
        ol_answer(
          sequence: question.sequence, kind: kind, length: UInt32(length), runner_waits: 0, id: question.id,
          processor: 0,
          has_sent: 0, word: word))
    }
  }

  private func link() throws -> CallLink {
    guard let region = try CallRegion.make() else {
      throw SystemCallError("memfd_create", code: EFBIG, subject: "a test")
    }
    return CallLink(region)
  }

  private func call(_ functions: KnownFunctions, _ symbol: String, _ text: String, _ arguments: [CallArgument]) throws
    -> FunctionCall
  {
    try CallBounds.function(symbol, text, arguments, functions).call
  }

  private func ask(_ link: inout CallLink, _ call: FunctionCall, id: UInt64) -> Bool {
    link.ask(call, id: id, spinLimit: .zero)
  }

  private func value(_ link: inout CallLink) throws -> (CallValue, isWord: Bool)? {
    guard let answer = try link.take(), case .returned(let result) = answer.message else { return nil }
    return (result.value, answer.isWord)
  }

  @Test("A function that the runner has called before is called by its words alone") func words() throws {
    var link = try link()
    let runner = try Runner(link)
    let functions = KnownFunctions()
    let first = try call(functions, "f", "i32(i8,u64,f32,f64,pointer)", [-1, 7, 1.5, -2.5, nil])
    #expect(ask(&link, first, id: 1))
    #expect(runner.question.place == UInt32(OL_IN_MEMORY) && runner.question.function > 0)
    let place = runner.question.function - 1
    runner.answer(.returned(.init(value: .signed(3))))
    #expect(try value(&link)?.0 == .signed(3))

    #expect(ask(&link, first, id: 2))
    #expect(runner.question.place == UInt32(OL_IN_WORDS) && runner.question.function == place)
    #expect(runner.question.length == 5 && runner.question.id == 2)
    #expect(
      runner.asked(5) == [.max, 7, UInt64(Float(1.5).bitPattern), (-2.5).bitPattern, 0])
    runner.answer(word: 0xffff_ffff_0000_0005)
    #expect(try #require(try value(&link)) == (.signed(5), true))
  }

  @Test(
    "What is more than words is always told in full",
    arguments: [
      ("void(bytes)", [.bytes([1])]), ("void(cstring)", ["a"]), ("cstring()", []), ("void(out(4))", []),
      ("{i32}()", []), ("void({i32})", [[1]]), ("void(&i32)", [1]),
      (
        "i32(i32,i32,i32,i32,i32,i32,i32,i32,i32)",
        [CallArgument](repeating: 1, count: 9)
      ),
    ] as [(String, [CallArgument])])
  func inFull(_ text: String, _ arguments: [CallArgument]) throws {
    var link = try link()
    let runner = try Runner(link)
    let asked = try call(KnownFunctions(), "f", text, arguments)
    for id in 1...3 as ClosedRange<UInt64> {
      #expect(ask(&link, asked, id: id))
      #expect(runner.question.place == UInt32(OL_IN_MEMORY) && runner.question.function == 0)
      runner.answer(.returned(.init(value: .void)))
      _ = try link.take()
    }
  }

  @Test(
    "A function that the runner hasn't called isn't called by words",
    arguments: [
      RunnerMessage.entryPointMissing, .symbolIsData,
    ])
  func missing(_ answer: RunnerMessage) throws {
    var link = try link()
    let runner = try Runner(link)
    let asked = try call(KnownFunctions(), "f", "i32(i32)", [1])
    for id in 1...3 as ClosedRange<UInt64> {
      #expect(ask(&link, asked, id: id))
      #expect(runner.question.place == UInt32(OL_IN_MEMORY))
      runner.answer(answer)
      #expect(try link.take()?.message == answer)
    }
  }

  @Test("Functions that share a place in the runner's memory never answer for each other") func places() throws {
    var link = try link()
    let runner = try Runner(link)
    let functions = KnownFunctions()
    var random = SeededGenerator(seed: 20_261_129)
    // Three times as many as there are places.
    let calls = try (0..<3 * Int(OL_FUNCTIONS)).map {
      try call(functions, "f\($0)", "u64(u64)", [.unsigned(UInt64($0))])
    }
    var known: [UInt32: UInt64] = [:]
    var byWords = 0
    for id in 1...2000 as ClosedRange<UInt64> {
      let asked = calls.randomElement(using: &random)!
      #expect(ask(&link, asked, id: id))
      let question = runner.question
      if question.place == UInt32(OL_IN_WORDS) {
        byWords += 1
        #expect(known[question.function] == asked.function.number)
        runner.answer(word: id)
      } else {
        // Some aren't there.
        let isThere = Bool.random(using: &random)
        if isThere { known[question.function - 1] = asked.function.number }
        runner.answer(isThere ? .returned(.init(value: .unsigned(id))) : .entryPointMissing)
        guard isThere else {
          #expect(try link.take()?.message == .entryPointMissing)
          continue
        }
      }
      #expect(try value(&link)?.0 == .unsigned(id))
    }
    #expect(byWords > 200)
  }

  @Test("A word is no answer to a question in full, whatever it says") func unasked() throws {
    for text in ["i32(i32)", "cstring(i32)", "{i64}(i32)"] {
      var link = try link()
      let runner = try Runner(link)
      #expect(ask(&link, try call(KnownFunctions(), "f", text, [1]), id: 1))
      runner.answer(word: 5)
      #expect(throws: ProtocolViolation.self) { try link.take() }
    }
  }

  @Test("Whatever word a plugin answers, the value has the type that was asked for") func types() throws {
    var random = SeededGenerator(seed: 20_261_129)
    for scalar in CallLayout.Scalar.allCases {
      var link = try link()
      let runner = try Runner(link)
      let asked = try call(KnownFunctions(), "f", "\(scalar.rawValue)()", [])
      #expect(ask(&link, asked, id: 1))
      runner.answer(.returned(.init(value: scalar.value(of: 0))))
      _ = try link.take()
      for id in 2...200 as ClosedRange<UInt64> {
        #expect(ask(&link, asked, id: id))
        let word = random.next()
        runner.answer(word: word)
        let answered = try #require(try value(&link))
        #expect(answered.isWord)
        #expect(scalar.fits(answered.0), "\(scalar) of \(word)")
      }
    }
  }

  @Test("An answer in full to a call by words isn't taken for one of the type that was asked for") func otherForm()
    throws
  {
    var link = try link()
    let runner = try Runner(link)
    let asked = try call(KnownFunctions(), "f", "i32()", [])
    for id in 1...3 as ClosedRange<UInt64> {
      #expect(ask(&link, asked, id: id))
      runner.answer(.returned(.init(value: .cstring([65]))))
      #expect(try #require(try value(&link)) == (.cstring([65]), false))
    }
  }
}
