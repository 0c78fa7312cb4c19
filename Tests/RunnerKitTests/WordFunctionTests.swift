import Basics
import Glibc
import HostProtocol
import Testing

@testable import RunnerKit

@Suite(.timeLimit(.minutes(1))) struct WordFunctionTests {
  /// A word that is the value of such an argument.
  private static func word(_ scalar: CallLayout.Scalar, _ random: inout SeededGenerator) -> UInt64 {
    scalar.value(of: random.next()).word ?? 0
  }

  private static func address(_ name: String) throws -> UnsafeMutableRawPointer {
    let library = try #require(dlopen("libm.so.6", RTLD_NOW))
    return try #require(dlsym(library, name))
  }

  @Test(
    "A call by words returns what the call in full does",
    arguments: [
      ("abs", "i32(i32)"), ("labs", "i64(i64)"), ("toupper", "i32(i32)"), ("fma", "f64(f64,f64,f64)"),
      ("fmaf", "f32(f32,f32,f32)"), ("ldexp", "f64(f64,i32)"), ("ldexpf", "f32(f32,i32)"), ("copysign", "f64(f64,f64)"),
      ("htons", "u16(u16)"), ("htonl", "u32(u32)"), ("ilogb", "i32(f64)"), ("ffsll", "i32(i64)"),
      ("llround", "i64(f64)"), ("scalbln", "f64(f64,i64)"),
      // Their own types aside, these pass what they are given through.
      ("abs", "i8(i8)"), ("abs", "u8(u8)"), ("abs", "i16(i16)"), ("labs", "pointer(pointer)"),
      ("labs", "handle(handle)"),
      ("labs", "u64(u64)"), ("abs", "void(i32)"), ("abs", "i32(i32,f64,i64,f32,u8,pointer,i16,u32)"),
    ])
  func sameAsInFull(_ name: String, _ text: String) throws {
    var random = SeededGenerator(seed: 20_261_129)
    let signature = try CallSignature(parsing: text)
    let words = try #require(WordSignature(signature))
    let address = try Self.address(name)
    let given = UnsafeMutablePointer<UInt64>.allocate(capacity: WordSignature.maxArguments)
    defer { given.deallocate() }
    let function = try #require(WordFunction(address, signature, words: given))
    for _ in 0..<300 {
      for (index, scalar) in words.arguments.enumerated() { given[index] = Self.word(scalar, &random) }
      let values = words.arguments.indices.map { words.arguments[$0].value(of: given[$0]) }
      let inFull = FunctionCaller.invoke(address, signature, values).value
      let byWords = words.value(of: function.call())
      // Two that aren't numbers are equal by their bits alone.
      #expect(byWords == inFull || byWords.word == inFull.word, "\(text) of \(values)")
    }
  }

  @Test(
    "What has more than words is none",
    arguments: ["cstring()", "void(bytes)", "{i32}()", "i32(&i32)", "void(callback)"])
  func noWords(_ text: String) throws {
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: WordSignature.maxArguments)
    defer { words.deallocate() }
    #expect(WordFunction(try Self.address("abs"), try CallSignature(parsing: text), words: words) == nil)
  }
}
