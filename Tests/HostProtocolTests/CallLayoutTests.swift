import Basics
import HostProtocol
import TestSupport
import Testing

/// How structures lie in memory. That a C compiler lays them out so, the end-to-end tests show (`LayoutTests`).
@Suite(.timeLimit(.minutes(1))) struct CallLayoutTests {
  private static func layout(_ text: String) throws -> CallLayout { try CallSignature.layout(parsing: text) }

  @Test(arguments: [
    ("u8", 1, 1), ("{i8,i32}", 8, 4), ("{i32,i8}", 8, 4), ("{i8,f64,i8}", 24, 8), ("{i32,f64,[4]u8}", 24, 8),
    ("{i8,{i16,i8},i8}", 8, 2), ("[3]{i32,i8}", 24, 4), ("{u8,[3]u16}", 8, 2), ("{handle,pointer}", 16, 8),
    ("{[3]u8}", 3, 1), ("{f32,f32,f32}", 12, 4),
  ])
  func hasItsSize(_ text: String, _ size: Int, _ alignment: Int) throws {
    let layout = try Self.layout(text)
    #expect(layout.size == size)
    #expect(layout.alignment == alignment)
  }

  @Test(arguments: ["", "i32,i32", "{i32}}", "&i32", "out i32", "void", "{i32", "cstring", "i32()"])
  func refuses(_ text: String) {
    #expect(throws: CallSignature.ParseError.self) { try Self.layout(text) }
  }

  @Test("fields are taken from their places, whatever lies between them") func values() throws {
    let layout = try Self.layout("{i8,i32,[2]u8,{f32,handle},[2]i16}")
    var bytes: [UInt8] = [0xff, 1, 2, 3, 0xfe, 0xff, 0xff, 0xff, 7, 8, 9, 9, 9, 9, 9, 9]
    bytes += [0, 0, 0x80, 0x3f, 9, 9, 9, 9, 5, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0xff, 0xff, 9, 9, 9, 9]
    #expect(layout.size == bytes.count)
    var handles: [UInt64] = []
    let value = layout.value(in: bytes) { (address) -> CallValue in
      handles.append(address)
      return .handle(nil)
    }
    #expect(
      value
        == .structure([
          .signed(-1), .signed(-2), .bytes([7, 8]), .structure([.single(1), .handle(nil)]),
          .array([.signed(-32768), .signed(-1)]),
        ]))
    #expect(handles == [0x1000_0000_0000_0005])
    #expect(layout.handles == 1)
    #expect(try Self.layout("[3]{handle,[2]handle}").handles == 9)
  }

  @Test("whatever bytes come, a value of each layout is made of them") func anyBytes() {
    var random = SeededGenerator(seed: 30)
    for _ in 0..<3000 {
      let layout = random.layout()
      let bytes = (0..<layout.size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      var handles = 0
      _ = layout.value(in: bytes) { (_) -> CallValue in
        handles += 1
        return .handle(nil)
      }
      #expect(handles == layout.handles)
      #expect(layout.size % layout.alignment == 0)
    }
  }
}
