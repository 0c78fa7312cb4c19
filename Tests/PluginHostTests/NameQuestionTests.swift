import Basics
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// What is decided about a question for a name, and its bytes (RFC 1035).
@Suite(.timeLimit(.minutes(1))) struct NameQuestionTests {
  static func message(
    _ name: String, type: UInt8 = 1, flags: [UInt8] = [1, 0], counts: [UInt8] = [0, 1, 0, 0, 0, 0, 0, 0]
  ) -> [UInt8] {
    var bytes: [UInt8] = [0xab, 0xcd] + flags + counts
    for label in name.split(separator: ".", omittingEmptySubsequences: false) where !name.isEmpty {
      bytes += [UInt8(label.utf8.count)] + Array(label.utf8)
    }
    return bytes + [0, 0, type, 0, 1]
  }

  static func framed(_ name: String) -> [UInt8] {
    let bytes = message(name)
    return [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes
  }

  @Test("a question is read as it was asked") func reads() throws {
    let question = try #require(NameQuestion(Self.message("A.Example")[...]))
    #expect(question.id == 0xabcd && question.name == "a.example" && question.type == 1)
    // EDNS: an additional record that isn't looked at.
    let record: [UInt8] = [0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, 0]
    let extended = Self.message("a.example", counts: [0, 1, 0, 0, 0, 0, 0, 1]) + record
    #expect(NameQuestion(extended[...])?.name == "a.example")
  }

  @Test(
    "what no machine is called has no address",
    arguments: [
      "", "_srv.example", "10.0.0.1", "127.1", "a b", "-a", "a\u{1b}[2J", String(repeating: "a.", count: 127),
    ])
  func noNames(name: String) throws {
    let question = NameQuestion(Self.message(name)[...])
    #expect(question?.name == nil, "\(name)")
  }

  @Test("what isn't one plain question is none") func rejects() {
    let good = Self.message("a.example")
    for length in 0..<good.count { #expect(NameQuestion(good[..<length]) == nil) }
    var pointer = good
    pointer[12] = 0xc0
    let others = [
      pointer, Self.message("a", flags: [0x81, 0]), Self.message("a", flags: [0x28, 0]),
      Self.message("a", counts: [0, 2, 0, 0, 0, 0, 0, 0]), Self.message("a", counts: [0, 0, 0, 0, 0, 0, 0, 0]),
      Self.message("a", counts: [0, 1, 0, 1, 0, 0, 0, 0]), Array(good.dropLast()) + [3],
      good + Array(repeating: 0, count: 600),
    ]
    for bytes in others { #expect(NameQuestion(bytes[...]) == nil, "\(bytes.prefix(40))") }
  }

  @Test("an answer repeats the question, and has an address of version 4 where that was asked for") func replies()
    throws
  {
    let question = try #require(NameQuestion(Self.message("a.example")[...]))
    let body = Array(Self.message("a.example").dropFirst(12))
    #expect(
      question.reply(.address([127, 78, 0, 1])) == [0xab, 0xcd, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0] + body
        + [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 78, 0, 1])
    #expect(question.reply(.unknown) == [0xab, 0xcd, 0x81, 0x83, 0, 1, 0, 0, 0, 0, 0, 0] + body)
    let six = try #require(NameQuestion(Self.message("a.example", type: 28)[...]))
    #expect(six.reply(.address([127, 78, 0, 1]))[3...7] == [0x80, 0, 1, 0, 0], "there, and not of version 6")
  }

  @Test("any bytes are read without harm", arguments: 0..<8 as Range<UInt64>) func hostile(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5000 {
      var bytes = Self.message("aa.example")
      for _ in 0..<random.below(6) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      if random.chance(3) { bytes = Array(bytes.prefix(random.below(bytes.count))) }
      guard let question = NameQuestion(bytes[...]) else { continue }
      #expect(question.reply(.address([1, 2, 3, 4])).count <= bytes.count + 16)
      #expect(question.name.map { (try? NetworkHost($0))?.text == $0 } ?? true)
    }
  }

  @Test("each name keeps its address, a listed one has its own, and no more are known than so many") func asked() throws
  {
    let plan = NetworkPlan(
      try ["a.example:1", "127.78.0.2:80", "[::2]:1"].map { try NetworkEndpoint($0) }, sockets: 256)
    var names = AskedNames(plan)
    #expect(names.ask("a.example") == .address(plan.places[0].address) && names.asked.isEmpty)
    #expect(names.ask(nil) == .unknown)
    #expect(names.ask("b") == .address([127, 78, 0, 1]) && names.ask("c") == .address([127, 78, 0, 3]))
    #expect(names.ask("b") == .address([127, 78, 0, 1]) && names.name(of: [127, 78, 0, 3]) == "c")
    var answers: Set<[UInt8]> = []
    for index in 0..<1000 { if case .address(let address) = names.ask("n\(index)") { answers.insert(address) } }
    #expect(answers.count == NetworkPlan.maxAsked - 3 && !answers.contains([127, 78, 0, 2]))
    #expect(names.asked.count == NetworkPlan.maxAsked - 1 && names.asked[0] == ("b", 2))
  }
}
