import Basics
import Foundation
import TestSupport
import Testing

@testable import PolicyLab

/// What comes back from the plugin that reads headers, which may write anything.
@Suite(.timeLimit(.minutes(2))) struct HeaderDecoderTests {
  private static let good = """
    outrider-headers 3
    enum
    enum color
    4
    0
    2
    RED
    0
    GREEN
    -1
    struct
    struct pair
    8
    4
    1
    a
    0
    0
    base
    4
    5
    int
    function
    answer
    answer64
    1
    0
    1
    typedef
    word
    base
    4
    7
    unsigned int
    3
    each
    pointer
    function
    void (int, fn)
    1
    1
    void
    2
    value
    base
    4
    5
    int

    typedef
    fn
    pointer
    function
    int (int)
    0
    name
    pointer
    const
    base
    1
    6
    char

    pointer
    record
    struct pair
    -2
    end

    """

  private static func decode(_ text: String) throws -> HeaderDescription {
    try HeaderDecoder.description(Array(text.utf8))
  }

  @Test("what a compiler found wrong is told, whatever it made of the rest") func problems() throws {
    let text = "outrider-headers 3\ndiagnostic\na.h:1: error\nfunction\nx\u{1}y\n"
    #expect(try Self.decode(text).problems == ["a.h:1: error"])
  }

  @Test("a description is read as it was written") func whole() throws {
    let description = try Self.decode(Self.good)
    let function = try #require(description.functions["answer64"])
    #expect(function.name == "answer" && function.hasPrototype)
    #expect(
      function.type.prototype(of: "answer")
        == "word answer(void (*each)(int, fn), const char *name, struct pair *, ...)",
      "\(function.type)")
    guard case .function("void (int, fn)", let each?)? = function.type.parameters[0].type.target else {
      Issue.record("\(function.type.parameters[0])")
      return
    }
    #expect(each.isVariadic && each.result == .void && each.parameters.map(\.name) == ["value", ""])
    #expect(each.parameters[1].type == .named("fn", .pointer(.function("int (int)"))))
    #expect(
      description.enumerations == [
        .init(
          name: "enum color", size: 4, isSigned: false,
          members: [.init(name: "RED", value: 0), .init(name: "GREEN", value: -1)])
      ])
    #expect(description.records.first?.fields.first?.name == "a" && description.records.count == 1)
  }

  @Test("every line that is missing is noticed") func cut() throws {
    let lines = Self.good.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    for count in 0..<lines.count {
      let text = lines.prefix(count).map { $0 + "\n" }.joined()
      #expect(throws: HeaderDecoder.Violation.self) { try Self.decode(text) }
    }
    #expect(throws: HeaderDecoder.Violation.self) { try Self.decode(Self.good + "end\n") }
    #expect(throws: HeaderDecoder.Violation.self) { try Self.decode(String(Self.good.dropLast())) }
  }

  @Test(
    "what a line can't be is refused",
    arguments: [
      ("outrider-headers 3", "outrider-headers 2"), ("\nanswer\n", "\nan swer\n"), ("\nanswer\n", "\n\n"),
      ("\nRED\n", "\nRED=1; system()\n"), ("\nword\n", "\nw\u{202e}ord\n"), ("\n3\neach", "\n257\neach"),
      ("\n3\neach", "\n-1\neach"), ("\n3\neach", "\n03\neach"), ("\n2\nvalue", "\n257\nvalue"),
      ("\n2\nvalue", "\n2\nval ue"), ("fn)\n1\n1", "fn)\n2\n1"), ("fn)\n1\n1", "fn)\n1\n2"),
      ("\n2\nRED", "\n65537\nRED"),
      ("pointer\nconst", "pointer\nfrob"), ("\n1\n0\n1\ntypedef", "\n2\n0\n1\ntypedef"),
      ("\n1\n0\n1\ntypedef", "\n1\n0\n2\ntypedef"),
      ("enum color", String(repeating: "x", count: 401)),
      ("pointer\nconst", String(repeating: "pointer\n", count: 40) + "const"),
      ("\n-1\n", "\n9223372036854775808\n"),
    ])
  func refused(what: String, by: String) throws {
    let text = try #require(Self.good.firstRange(of: what).map { Self.good.replacingCharacters(in: $0, with: by) })
    #expect(throws: HeaderDecoder.Violation.self) { try Self.decode(text) }
  }

  @Test("what isn't text, and what is too long, is refused") func notText() throws {
    var bytes = Array(Self.good.utf8)
    bytes[bytes.count / 2] = 0xff
    #expect(throws: HeaderDecoder.Violation.self) { try HeaderDecoder.description(bytes) }
    let long = Array(repeating: UInt8(ascii: "\n"), count: HeaderDecoder.longest + 1)
    #expect(throws: HeaderDecoder.Violation.self) { try HeaderDecoder.description(long) }
  }

  @Test("random changes lead to a description or to a violation", arguments: [seed])
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let lines = Self.good.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    var (read, refused) = (0, 0)
    for _ in 0..<20_000 {
      var changed = lines
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 0..<changed.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: changed[at] = lines.randomElement(using: &random) ?? ""
        case 1: changed.insert(lines.randomElement(using: &random) ?? "", at: at)
        default: changed[at] = ["", "-1", "99999999999999999999", "65536", "\u{0}"].randomElement(using: &random) ?? ""
        }
      }
      do {
        let description = try Self.decode(changed.map { $0 + "\n" }.joined())
        #expect(description.functions.count <= 1)
        read += 1
      } catch is HeaderDecoder.Violation {
        refused += 1
      }
    }
    #expect(read > 0 && refused > read, "\(read) \(refused)")
  }

  /// OUTRIDER_SEED repeats one.
  private static let seed =
    ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
}
