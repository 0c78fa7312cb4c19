import Basics
import HostProtocol
import TestSupport
import Testing

/// What a plugin passes to a callback, as the host reads it.
@Suite(.timeLimit(.minutes(1))) struct CallbackSignatureTests {
  @Test(arguments: [
    "i32(&i32,&i32)", "void()", "i32(pointer,i32,cstrings(1),cstrings(1))", "u64(bytes(1),u64,handle)",
    "f64(f32,f64,i8,&{i32,[4]u8})", "handle(cstring)", "i64(pointer,out(2),u64)",
    "i32(out i32,out {pointer,u64},out [4]u8)",
  ])
  func comesBackFromItsText(_ text: String) throws {
    #expect("\(try CallbackSignature(parsing: text))" == text)
  }

  @Test(arguments: [
    "", "i32", "i32(", "i32)", "cstring()", "{i32}()", "bytes(0)()", "i32(void)", "i32(i32,)", "i32(bytes)",
    "i32(bytes())",
    "i32(bytes(0))", "i32(i32,bytes(2))", "i32(f64,bytes(0))", "i32(pointer,cstrings(0))", "i32(i32,cstrings(-1))",
    "i32(out(4))", "i32(f64,out(0))", "i32(i32,out(-1))", "i32(out)", "i32(out())", "i32(i32,out(0)", "i32(outer)",
    "i32(inout i32)", "i32(i32,inout(0))", "i32(out [65537]u8)", "i32(&&i32)", "i32(&[65537]u8)", "i32({i32})",
    "i32()x",
    "i32(callback)", "i32(i32,bytes(0)", "i32(i32,bytes(99999999999999999999))",
  ])
  func refuses(_ text: String) {
    #expect(throws: CallSignature.ParseError.self) { try CallbackSignature(parsing: text) }
  }

  @Test func boundsItsArguments() throws {
    func signature(_ count: Int) -> String { "void(\(Array(repeating: "i8", count: count).joined(separator: ",")))" }
    #expect(try CallbackSignature(parsing: signature(16)).arguments.count == 16)
    #expect(throws: CallSignature.ParseError.self) { try CallbackSignature(parsing: signature(17)) }
  }

  private func values(_ text: String, _ arguments: [CallValue]) throws -> [CallValue]? {
    try CallbackSignature(parsing: text).values(of: arguments) { .handle(PluginHandle(plugin: 1, number: $0)) }
  }

  @Test("arguments of the type are taken, with what their addresses led to") func takes() throws {
    #expect(
      try values("i32(&i32,&{u8,u16})", [.bytes([1, 0, 0, 0xff]), .bytes([1, 9, 2, 0])])
        == [.signed(-0xff_ffff), .structure([.unsigned(1), .unsigned(2)])])
    let strings = CallbackSignature.bytes(of: [[65], nil])
    #expect(
      try values("i32(pointer,i32,cstrings(1))", [.pointer(5), .signed(2), .bytes(strings)])
        == [.pointer(5), .signed(2), .array([.cstring([65]), .cstring(nil)])])
    #expect(try values("i32(bytes(1),u8)", [.bytes([1, 2]), .unsigned(2)]) == [.bytes([1, 2]), .unsigned(2)])
    #expect(
      try values("i32(handle,&i8,cstring)", [.pointer(7), .cstring(nil), .cstring(nil)])
        == [.handle(PluginHandle(plugin: 1, number: 7)), .pointer(0), .cstring(nil)])
    #expect(
      try values("i32(out(1),i32,out u64)", [.pointer(9), .signed(0), .pointer(0)])
        == [.pointer(9), .signed(0), .pointer(0)])
    #expect(try values("i32(u64,bytes(0))", [.unsigned(.max), .cstring(nil)]) == [.unsigned(.max), .pointer(0)])
  }

  @Test(
    "arguments of another type, size or count are none",
    arguments: [
      ("i32(i32)", []), ("i32(i32)", [.signed(1), .signed(2)]), ("i32(i32)", [.unsigned(1)]),
      ("i32(i8)", [.signed(128)]),
      ("i32(u16)", [.unsigned(65_536)]), ("i32(pointer)", [.unsigned(1)]), ("i32(&i32)", [.bytes([1, 2, 3])]),
      ("i32(&i32)", [.bytes([1, 2, 3, 4, 5])]), ("i32(&i32)", [.pointer(5)]), ("i32(cstring)", [.bytes([65])]),
      ("i32(cstring)", [.cstring([65, 0])]), ("i32(cstring)", [.cstring(Array(repeating: 65, count: 65_537))]),
      ("i32(i32,bytes(0))", [.signed(3), .bytes([1, 2])]), ("i32(i32,bytes(0))", [.signed(-1), .bytes([])]),
      ("i32(u64,bytes(0))", [.unsigned(.max), .bytes([])]), ("i32(i32,cstrings(0))", [.signed(1), .bytes([])]),
      ("i32(i32,cstrings(0))", [.signed(1), .bytes([0, 0, 0, 0])]),
      ("i32(i32,cstrings(0))", [.signed(1), .bytes([1, 0, 0, 0, 2])]),
      ("i32(i32,cstrings(0))", [.signed(1), .bytes([1, 0, 0, 0, 0, 0])]), ("i32(f32)", [.double(1)]),
      ("i32(i32,out(0))", [.signed(-1), .pointer(8)]), ("i32(i32,out(0))", [.signed(1), .bytes([0])]),
      ("i32(out i32)", [.cstring(nil)]), ("i32(f64)", [.structure([])]), ("i32(handle)", [.handle(nil)]),
    ] as [(String, [CallValue])])
  func refusesValues(_ text: String, _ arguments: [CallValue]) throws {
    #expect(try values(text, arguments) == nil)
  }

  @Test(
    "what a callback may fill is as long as the plugin says, and at most 1 MiB",
    arguments: [
      ("i32(i32,out(0),u64,out(2))", [.signed(5), .pointer(8), .unsigned(.max), .pointer(8)], [5, 0]),
      ("i32(i64,out(0))", [.signed(1 << 30), .pointer(8)], [1 << 20]),
      ("i32(i64,out(0))", [.signed(9), .pointer(0)], [0]),
      ("i32(i64,out(0))", [.signed(-9), .pointer(8)], [0]), ("i32(out {u8,u64},i32)", [.pointer(8), .signed(1)], [16]),
      ("i32(out u8)", [.pointer(0)], [0]), ("i32(i32)", [.signed(1)], []), ("i32(u8,out(0))", [.unsigned(7)], []),
    ] as [(String, [CallValue], [Int])])
  func capacities(_ text: String, _ arguments: [CallValue], _ expected: [Int]) throws {
    #expect(try CallbackSignature(parsing: text).capacities(of: arguments) == expected)
  }

  @Test("whatever values come, they are taken or refused") func anyValues() throws {
    var random = SeededGenerator(seed: 60)
    let signatures = try [
      "i32(i32,u8,&{i8,i64})", "void(i32,cstrings(0),bytes(0))", "f64(f32,cstring,pointer)",
      "void(handle,u64,bytes(1))", "i32(out(1),i32,out {i8,i64})",
    ].map { text in try CallbackSignature(parsing: text) }
    var taken = 0
    for _ in 0..<20_000 {
      let signature = signatures[random.below(signatures.count)]
      let arguments = signature.arguments.map { kind -> CallValue in
        guard !random.chance(3), case .number(let scalar) = kind else { return random.value() }
        return scalar.value(of: random.integer())
      }
      if signature.values(of: arguments, handle: { .pointer($0) }) != nil { taken += 1 }
    }
    #expect(taken > 0)
  }
}
