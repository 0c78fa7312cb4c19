import HostProtocol
import PluginHost
import PolicyLab
import Testing

@Suite(.timeLimit(.minutes(1))) struct CallFuzzerTests {
  private static let everything =
    "void(i8,u8,i16,u16,i32,u32,i64,u64,f32,f64,pointer,cstring,bytes,u32,out(4),inout(9),u32,"
    + "{i8,f32,[3]u16},&{u8,[2]{i64,[4]u8}},inout i16,out u64,out {i32},handle,inout {pointer,handle})"

  @Test("what is made fits its type, and is no option and no file") func fits() throws {
    let signature = try CallSignature(parsing: Self.everything)
    let kinds = signature.given
    let fuzzer = CallFuzzer(signature, seed: PolicySeed.current)
    struct Never: Error {}
    for attempt in 0..<3000 {
      let words = fuzzer.words(of: attempt)
      try #require(words.count == kinds.count)
      for (word, kind) in zip(words, kinds) {
        let argument = try CallWords.argument(word, kind) { (_) throws(Never) in throw Never() }
        #expect(argument != nil, "\(word) for \(kind)")
        #expect(!word.hasPrefix("--") && !word.hasPrefix("@"), "\(word)")
      }
    }
  }

  @Test(
    "structures are written with their braces, and nothing else is taken for one",
    arguments: [
      ("{i32,f64}", "{1, 2.5}", [1, 2.5]), ("{[2]u8,[3]u8}", "{[1,2],hex:0a}", [[1, 2], .bytes([10])]),
      ("&[2]{i8}", "[{1},{-1}]", [[1], [-1]]), ("inout u64", "8", 8), ("&{i32}", "null", nil), ("handle", "null", nil),
      ("{i32,f64}", "{1}", false), ("{i32,f64}", "{1,2.5,3}", false), ("{i32}", "1", false), ("{i32}", "[1]", false),
      ("{i32}", "{1}}", false), ("{i32}", "{1", false), ("{i8}", "{128}", false), ("{[1]u8}", "{hex:0a0b}", false),
      ("{i32}", "null", false), ("inout u8", "-1", false), ("handle", "4096", false), ("{handle}", "{4096}", false),
      ("inout(2)", "abc", false), ("inout(2)", "ab", "ab"), ("{i32,i32}", "{1,,2}", false),
    ] as [(String, String, Wanted)])
  func structures(_ type: String, _ word: String, _ wanted: Wanted) throws {
    struct Never: Error {}
    let kind = try #require(try CallSignature(parsing: "void(\(type))").arguments.first)
    let argument = try CallWords.argument(word, kind) { (_) throws(Never) in throw Never() }
    #expect(argument == wanted.argument)
  }

  /// `false` where the word fits nothing.
  struct Wanted: Sendable, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringLiteral, ExpressibleByNilLiteral
  {
    var argument: CallArgument?

    init(booleanLiteral: Bool) {}
    init(arrayLiteral elements: CallArgument...) { argument = .list(elements) }
    init(integerLiteral value: Int64) { argument = .integer(value) }
    init(stringLiteral value: String) { argument = .text(value) }
    init(nilLiteral: ()) { argument = .null }
  }

  @Test("the same seed makes the same arguments, and another one others") func repeats() throws {
    let signature = try CallSignature(parsing: Self.everything)
    let (one, same, other) = (
      CallFuzzer(signature, seed: 7), CallFuzzer(signature, seed: 7), CallFuzzer(signature, seed: 8)
    )
    for attempt in 0..<100 {
      #expect(one.words(of: attempt) == same.words(of: attempt))
      #expect(
        one.words(of: attempt) != one.words(of: attempt + 1) && one.words(of: attempt) != other.words(of: attempt))
    }
  }

  @Test("ends are told apart by where they happen, and not by addresses") func classes() {
    var outcomes = FuzzOutcomes()
    for (attempt, detail) in ["in f +0x1 of a.so at 0x7f01", "in f +0x1 of a.so at 0x7f02", "in f +0x2 of a.so"]
      .enumerated()
    {
      outcomes.add(Observed(outcome: Outcome(.crashed, detail)), attempt: attempt, command: "\(attempt)")
    }
    #expect(outcomes.classes.map(\.count) == [2, 1] && outcomes.classes.map(\.command) == ["0", "2"])
    // How much of a limit was used is no other end.
    var limited = FuzzOutcomes()
    for (kind, detail) in [
      (Outcome.Kind.cpuTimeExceeded, "used 101.2 ms of 100.0 ms"), (.cpuTimeExceeded, "used 103.6 ms of 100.0 ms"),
      (.wallTimeExceeded, "100 ms"), (.memoryExceeded, "9 MiB"), (.memoryExceeded, "8 MiB"),
    ] {
      limited.add(Observed(outcome: Outcome(kind, detail)), attempt: 0, command: "x")
    }
    #expect(limited.classes.map(\.count) == [2, 1, 2])
    for attempt in 0..<1000 {
      outcomes.add(Observed(outcome: Outcome(.crashed, "\(attempt)")), attempt: attempt, command: "x")
    }
    #expect(outcomes.classes.count == 64 && outcomes.classes.map(\.count).reduce(0, +) == 1003)
  }
}
