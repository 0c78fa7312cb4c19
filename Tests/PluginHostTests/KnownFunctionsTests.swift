import HostProtocol
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct KnownFunctionsTests {
  @Test("A name and a type are read once, and told apart by their bytes") func identity() throws {
    let functions = KnownFunctions()
    let names = ["f", "g", "é", "e\u{301}", ""].map { $0 + "x" }
    for text in ["i32(i32)", "i32( i32)", "u32(i32)"] {
      let found = try names.map { try functions.function($0, text) }
      #expect(Set(found.map(\.number)).count == names.count)
      for (name, function) in zip(names, found) {
        #expect(try functions.function(name, text) === function)
        #expect(Array(function.symbol.utf8) == Array(name.utf8) && function.text == text)
      }
    }
    #expect(try functions.function("fx", "i32(i32)").number != functions.function("fx", "i32( i32)").number)
    #expect(try functions.function("fx", "i32(i32)").number != KnownFunctions().function("fx", "i32(i32)").number)
  }

  @Test("Beyond so many a function is read anew at each call, and never called by words") func bounded() throws {
    let functions = KnownFunctions()
    for index in 0..<KnownFunctions.maxCount { _ = try functions.function("f\(index)", "i32(i32)") }
    let first = try functions.function("f0", "i32(i32)")
    let other = try functions.function("other", "i32(i32)")
    #expect(try functions.function("other", "i32(i32)") !== other)
    #expect(other.words == nil && other.number == 0 && other.longestAnswer == first.longestAnswer)
    #expect(try functions.function("f0", "i32(i32)") === first)
    let long = String(repeating: "f", count: KnownFunctions.longestName + 1)
    let others = KnownFunctions()
    #expect(try others.function(long, "i32(i32)") !== others.function(long, "i32(i32)"))
    #expect(try others.function(String(long.dropLast()), "i32(i32)").words != nil)
    #expect(first.words != nil)
  }

  @Test(
    "What is no function is refused each time", arguments: [("", "i32()"), ("a\0b", "i32()"), ("f", "i32"), ("f", "")])
  func refused(_ symbol: String, _ text: String) {
    let functions = KnownFunctions()
    for _ in 0..<2 { #expect(throws: HostError.self) { try functions.function(symbol, text) } }
  }
}
