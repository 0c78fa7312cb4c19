import AssetModel
import HostProtocol
import Sandbox
import Testing

@testable import PluginHost

/// What can be asked, and what is an answer to it.
@Suite(.timeLimit(.minutes(1))) struct CallBoundsTests {
  private func refusal(_ symbol: String, _ text: String, _ arguments: [CallArgument] = []) -> String {
    do throws(HostError) {
      try PluginHost.check(symbol, text, arguments: arguments)
      return ""
    } catch {
      guard case .usage(let sentence) = error else { return "not a usage error: \(error)" }
      return sentence
    }
  }

  @Test func aRunnerTakesWhatAPolicyCanAllow() {
    #expect(Frame.longestAllowed == Limits.frameBytesRange.upperBound)
  }

  @Test func whatNoFrameHoldsIsRefused() {
    let out = Array(repeating: "out(1048576)", count: 4).joined(separator: ",")
    #expect(refusal("f", "void(\(out))").contains("at most 4194304 fit"))
    #expect(refusal("f", "void(out(1048576),out(1048576),out(1048576))").isEmpty)
    let long = CallArgument.bytes(Array(repeating: 0, count: 2 << 20))
    #expect(refusal("f", "void(bytes,bytes)", [long, long]).contains("at most 4194304 fit"))
    #expect(refusal("f", "void(bytes)", [long]).isEmpty)
    #expect(refusal("", "i32()").contains("symbol is missing"))
  }

  /// The bound on an answer is that of its frame, to the byte.
  @Test func theLongestAnswerIsKnown() throws {
    let samples: [(String, RunnerMessage.CallResult)] = [
      ("u64(out(5),i32,out(7))", .init(value: .unsigned(1), out: [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6, 7]])),
      (
        "{i8,f64}(inout(3),out [2]u16,&i64)",
        .init(value: .bytes(Array(repeating: 1, count: 16)), out: [[1, 2, 3], [1, 2, 3, 4]])
      ),
      ("cstring()", .init(value: .cstring(Array(repeating: 65, count: CallSignature.longestString)))),
    ]
    for (text, result) in samples {
      #expect(
        try CallSignature(parsing: text).longestAnswer
          == RunnerMessage.returned(result).frame(id: 1).payload.count)
    }
  }

  @Test func floatsStayFinite() {
    #expect(refusal("f", "f32(f32)", [1e300]).contains("doesn't fit f32"))
    #expect(refusal("f", "f32(f32)", [.double(.infinity)]).isEmpty)
    #expect(refusal("f", "f64(f64)", [1e300]).isEmpty)
  }

  @Test("a whole number is passed to a floating type as it is, or not at all") func wholeNumbersAreExact() {
    #expect(refusal("f", "f64(f64)", [9_007_199_254_740_993]).contains("argument 1 doesn't fit f64"))
    #expect(refusal("f", "f64(f64)", [.unsigned(.max)]).contains("doesn't fit f64"))
    #expect(refusal("f", "f64(f64)", [9_007_199_254_740_992]).isEmpty)
    #expect(refusal("f", "f64(f64)", [.unsigned(1 << 63)]).isEmpty)
    #expect(refusal("f", "f32(f32)", [16_777_217]).contains("doesn't fit f32"))
    #expect(refusal("f", "f32(f32)", [-16_777_216]).isEmpty)
    #expect(refusal("f", "void(&{i32,f32})", [[1, 16_777_217]]).contains("value 2 doesn't fit f32"))
    // Any other is the nearest that there is.
    #expect(refusal("f", "f32(f32)", [0.1]).isEmpty && refusal("f", "f32(f32)", [1e-310]).isEmpty)
  }

  private func isAnswer(_ result: RunnerMessage.CallResult, to text: String) throws -> Bool {
    let call = HostMessage.Call.function(symbol: "f", signature: text, arguments: [])
    return (try? AnswerRule.check(result, of: call, signature: CallSignature(parsing: text))) != nil
  }

  @Test func anAnswerHasTheCallsType() throws {
    let values: [String: CallValue] = [
      "void": .void, "i8": .signed(-128), "u8": .unsigned(255), "i16": .signed(-32768), "u16": .unsigned(65535),
      "i32": .signed(-1 << 31), "u32": .unsigned(1 << 32 - 1), "i64": .signed(.min), "u64": .unsigned(.max),
      "f32": .single(1), "f64": .double(1), "pointer": .pointer(.max), "cstring": .cstring([65]),
      "{i8,i32}": .bytes(Array(repeating: 0, count: 8)),
    ]
    for (kind, _) in values {
      for (other, value) in values {
        let fits = try isAnswer(.init(value: value), to: "\(kind)()")
        if kind == other { #expect(fits, "\(value) for \(kind)") }
        if "\(values[kind]!)".prefix(4) != "\(value)".prefix(4) { #expect(!fits, "\(value) for \(kind)") }
      }
    }
    #expect(try !isAnswer(.init(value: .signed(128)), to: "i8()"))
    #expect(try !isAnswer(.init(value: .unsigned(256)), to: "u8()"))
    #expect(try !isAnswer(.init(value: .cstring([65, 0])), to: "cstring()"))
    #expect(try isAnswer(.init(value: .cstring(nil)), to: "cstring()"))
    #expect(try isAnswer(.init(value: .pointer(1)), to: "handle()"))
    for count in [0, 7, 9] {
      #expect(try !isAnswer(.init(value: .bytes(Array(repeating: 0, count: count))), to: "{i8,i32}()"))
    }
  }

  @Test func anAnswerHasTheCallsBuffers() throws {
    #expect(try isAnswer(.init(value: .void, out: [[1, 2]]), to: "void(out(2),i32)"))
    #expect(try isAnswer(.init(value: .void, out: [[1, 2], [1, 2, 3, 4]]), to: "void(inout(2),&i64,inout i32)"))
    #expect(try !isAnswer(.init(value: .void, out: [[1, 2], [1, 2, 3]]), to: "void(inout(2),&i64,inout i32)"))
    for out: [[UInt8]] in [[], [[1]], [[1, 2, 3]], [[1, 2], []]] {
      #expect(try !isAnswer(.init(value: .void, out: out), to: "void(out(2),i32)"))
    }
    let download = Download(identifier: "a", url: "https://a/b", applicationGroupIdentifier: "g", fileSize: 1)
    #expect(try !isAnswer(.init(value: .void, downloads: [download]), to: "void()"))
    #expect(throws: ProtocolViolation.self) {
      try AnswerRule.check(.init(value: .signed(0)), of: .willTerminate, signature: nil)
    }
    try AnswerRule.check(
      .init(value: .signed(0), downloads: [download]),
      of: .contentRequest(kind: .install, manifest: "", remaining: -1, essentialRemaining: -1), signature: nil)
  }

  private func values(_ text: String, _ arguments: [CallArgument]) throws -> [CallValue] {
    try CallBounds.function("f", text, arguments, KnownFunctions()).call.arguments
  }

  @Test("structures become the bytes that they lie in, and zeros between them") func structures() throws {
    #expect(
      try values("void({i8,i32,[3]u8})", [[-1, 513, .bytes([7])]])
        == [.bytes([255, 0, 0, 0, 1, 2, 0, 0, 7, 0, 0, 0])])
    #expect(
      try values("void(inout [2]{u8,u16},&f32)", [[[1, 2], [3, 4]], 1.5])
        == [.bytes([1, 0, 2, 0, 3, 0, 4, 0]), .bytes([0, 0, 0xc0, 0x3f])])
    #expect(try values("void(inout(4),bytes)", ["ab", [1, 255]]) == [.bytes([97, 98]), .bytes([1, 255])])
    #expect(try values("void(&{i32},pointer,handle)", [nil, nil, nil]) == [.cstring(nil), .pointer(0), .pointer(0)])
  }

  @Test(
    "what doesn't fit a layout is refused, and the error says where",
    arguments: [
      ("void({i32,i32})", [[1]], "argument 1: {i32,i32} takes 2 values; 1 were given"),
      ("void({i32,i32})", [[1, 2, 3]], "argument 1: {i32,i32} takes 2 values; 3 were given"),
      ("void({i32,{u8}})", [[1, [256]]], "argument 1, value 2, value 1 doesn't fit u8"),
      ("void({i32})", [5], "argument 1 doesn't fit {i32}: it takes a list of 1"),
      ("void(&[2]u8)", [.bytes([1, 2, 3])], "argument 1 has 3 bytes; [2]u8 takes at most 2"),
      ("void(i8,inout u8)", [1, -1], "argument 2 doesn't fit u8"),
      ("void(inout i32)", [nil], "argument 1 doesn't fit i32"),
      ("void(inout(2))", ["abc"], "argument 1 has 3 bytes; inout(2) takes at most 2"),
      ("void(inout(2))", [nil], "argument 1 doesn't fit inout(2)"),
      ("void(handle)", [5], "argument 1 doesn't fit handle"),
      ("void({handle})", [[5]], "argument 1, value 1 doesn't fit handle"),
      ("void(bytes)", [[1, 256]], "argument 1 doesn't fit bytes"),
      ("void(i32)", [[1]], "argument 1 doesn't fit i32"),
      ("void({f32})", [[1e300]], "argument 1, value 1 doesn't fit f32"),
      ("void(out i32)", [5], "void(out i32) takes 0 arguments (out(N) and 'out T' take none); 1 were given"),
    ] as [(String, [CallArgument], String)])
  func misfits(_ text: String, _ arguments: [CallArgument], _ sentence: String) {
    #expect(refusal("f", text, arguments) == sentence)
  }
}
