import AssetModel
import HostProtocol
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

  private func isAnswer(_ result: RunnerMessage.CallResult, to text: String) throws -> Bool {
    let call = HostMessage.Call.function(symbol: "f", signature: text, arguments: [])
    return (try? AnswerRule.check(result, of: call, signature: CallSignature(parsing: text))) != nil
  }

  @Test func anAnswerHasTheCallsType() throws {
    let values: [String: CallValue] = [
      "void": .void, "i8": .signed(-128), "u8": .unsigned(255), "i16": .signed(-32768), "u16": .unsigned(65535),
      "i32": .signed(-1 << 31), "u32": .unsigned(1 << 32 - 1), "i64": .signed(.min), "u64": .unsigned(.max),
      "f32": .single(1), "f64": .double(1), "pointer": .pointer(.max), "cstring": .cstring([65]),
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
  }

  @Test func anAnswerHasTheCallsBuffers() throws {
    #expect(try isAnswer(.init(value: .void, out: [[1, 2]]), to: "void(out(2),i32)"))
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
}
