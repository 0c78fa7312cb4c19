import Basics
import HostProtocol
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CallSignatureTests {
  @Test(
    arguments: [
      ("i32()", .init(result: .i32, arguments: [])), ("i32(void)", .init(result: .i32, arguments: [])),
      ("void(void)", .init(result: .void, arguments: [])),
      (" u64 ( u64 , bytes,u32 ) ", .init(result: .u64, arguments: [.u64, .bytes, .u32])),
      ("f64(f32,f64)", .init(result: .f64, arguments: [.f32, .f64])),
      ("cstring(cstring,pointer)", .init(result: .cstring, arguments: [.cstring, .pointer])),
      ("i8(u8,i16,u16,i64,i32)", .init(result: .i8, arguments: [.u8, .i16, .u16, .i64, .i32])),
      (
        "{i32,i32}(i32,i32)",
        .init(result: .structure(.structure([.scalar(.i32), .scalar(.i32)])), arguments: [.i32, .i32])
      ),
      (
        "handle(&{i8,[4]u8},inout u64,out handle,inout(9), in out [2]{f32})",
        .init(
          result: .handle,
          arguments: [
            .reference(.input, .structure([.scalar(.i8), .array(.scalar(.u8), count: 4)])),
            .reference(.inOut, .scalar(.u64)), .reference(.output, .scalar(.handle)), .inOut(9),
            .reference(.inOut, .array(.structure([.scalar(.f32)]), count: 2)),
          ])
      ),
      ("pointer(out(1),out(1048576))", .init(result: .pointer, arguments: [.out(1), .out(1 << 20)])),
    ] as [(String, CallSignature)])
  func parses(_ text: String, _ signature: CallSignature) throws {
    #expect(try CallSignature(parsing: text) == signature)
  }

  @Test(arguments: [
    "", "i32", "i32(", "i32)", "(", ")", ")(", "()", "i32)(", "(i32)", "i32()x", "i32((i32))", "i32(i32", "i32(,)",
    "i32(i32,)",
    "i32(,i32)", "int(i32)", "I32()", "i32(void,i32)", "i32(i32,void)", "bytes()", "out(4)()", "i32(out())",
    "i32(out(0))",
    "i32(out(-1))", "i32(out(1073741825))", "i32(out(99999999999999999999))", "i32(out(1)", "i32(out)", "i32(out(x))",
    "i32(i32)(i32)", "i32\t()", "i32(i32\u{301})", "i32()\u{0}", "i32(٣)", "i32({})",
    "i32({i32)", "i32(i32})", "i32({i32,})", "i32({,i32})", "i32({void})", "i32({cstring})", "i32({bytes})",
    "i32([4]u8)",
    "i32(&[0]u8)", "i32(&[-1]u8)", "i32(&[]u8)", "i32(&[4])", "i32(&[65537]u8)", "i32(&[256][257]u8)", "i32(&void)",
    "i32(&)",
    "i32(out {})", "i32(out cstring)", "i32(inout)", "i32(inout(0))", "i32(inout bytes)", "i32(&&i32)", "i32(&out i32)",
    "&i32()", "out i32()", "inout(4)()", "[2]i32()", "i32({out i32})", "i32({&i32})", "i32({[4097]u8})", "{[4097]u8}()",
    "i32(&[99999999999999999999]u8)", "i32(outx)", "i32(inouti31)",
  ])
  func refuses(_ text: String) { #expect(throws: CallSignature.ParseError.self) { try CallSignature(parsing: text) } }

  @Test(
    "a type that is missing is said with its place, and where one is wrong with the word",
    arguments: [
      ("", "a type is missing at the beginning of ''; it is RETURN(ARGUMENTS)"),
      ("(i32)", "a type is missing at the beginning of '(i32)'; it is"), ("i32(", "after 'i32(' of 'i32('"),
      ("i32(i32,)", "after 'i32(i32,' of 'i32(i32,)'"), ("i32({i32,})", "after 'i32({i32,' of 'i32({i32,})'"),
      ("i32(foo)", "'foo' isn't a type; the types are void i8"),
    ])
  func says(_ text: String, _ words: String) throws {
    let error = #expect(throws: CallSignature.ParseError.self) { try CallSignature(parsing: text) }
    #expect(try #require(error).description.contains(words), "\(error!.description)")
  }

  @Test func boundsItsSize() throws {
    func signature(_ count: Int) -> String {
      "void(" + Array(repeating: "i8", count: count).joined(separator: ",") + ")"
    }
    #expect(try CallSignature(parsing: signature(CallSignature.maxArguments)).arguments.count == 32)
    #expect(throws: CallSignature.ParseError.self) { try CallSignature(parsing: signature(33)) }
    #expect(throws: CallSignature.ParseError.self) {
      try CallSignature(parsing: "void(" + String(repeating: " ", count: 1024) + ")")
    }
    do throws(CallSignature.ParseError) {
      _ = try CallSignature(parsing: String(repeating: "x", count: 1 << 20))
      Issue.record("accepted")
    } catch { #expect(error.description.utf8.count < 400) }
  }

  @Test func boundsHowDeepItGoes() throws {
    func nested(_ depth: Int) -> String {
      "void(&" + String(repeating: "{", count: depth) + "u8" + String(repeating: "}", count: depth) + ")"
    }
    #expect(try CallSignature(parsing: nested(CallLayout.deepest)).arguments.count == 1)
    #expect(throws: CallSignature.ParseError.self) { try CallSignature(parsing: nested(CallLayout.deepest + 1)) }
    #expect(throws: CallSignature.ParseError.self) { try CallSignature(parsing: nested(400)) }
    // Each level would multiply the size.
    #expect(throws: CallSignature.ParseError.self) {
      try CallSignature(parsing: "void(&" + String(repeating: "[65536]", count: 8) + "u64)")
    }
  }

  private static let kinds: [CallSignature.Kind] = [
    .i8, .u8, .i16, .u16, .i32, .u32, .i64, .u64, .f32, .f64, .pointer, .cstring,
  ]

  @Test func comesBackFromItsText() throws {
    var random = SeededGenerator(seed: 20)
    for _ in 0..<2000 {
      let arguments = (0..<random.below(8)).map { _ in
        random.chance(3)
          ? .reference(CallSignature.Kind.Passing.allCases[random.below(3)], random.layout())
          : random.chance(8)
            ? .structure(.structure([random.layout(depth: 3)]))
            : random.chance(8)
              ? .inOut(1 + random.below(1 << 20))
              : random.chance(4) ? .out(1 + random.below(1 << 20)) : (Self.kinds + [.bytes])[random.below(13)]
      }
      let signature = CallSignature(result: (Self.kinds + [.void])[random.below(13)], arguments: arguments)
      #expect(try CallSignature(parsing: signature.description) == signature)
    }
  }

  @Test func survivesNoise() {
    var random = SeededGenerator(seed: 21)
    let pieces = [
      "i32", "(", ")", ",", "out(", "4", "void", " ", "bytes", "u64", "\u{301}", "-", "é", "{", "}", "[", "]", "&",
      "inout",
    ]
    for _ in 0..<5000 {
      let text = (0..<random.below(10)).map { _ in pieces[random.below(pieces.count)] }.joined()
      guard let signature = try? CallSignature(parsing: text) else { continue }
      if (try? CallSignature(parsing: signature.description)) != signature { Issue.record("\(text) gave \(signature)") }
    }
  }
}
