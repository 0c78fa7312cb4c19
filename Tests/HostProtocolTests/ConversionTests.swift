import HostProtocol
import Testing

/// What a returned value can be taken for.
@Suite(.timeLimit(.minutes(1))) struct ConversionTests {
  @Test("an integer is given as every type that holds it, and as no other") func integers() throws {
    #expect(try CallValue.signed(-128).int8 == -128)
    #expect(try CallValue.signed(127).uint8 == 127)
    #expect(try CallValue.unsigned(.max).uint64 == .max)
    #expect(try CallValue.unsigned(7).int == 7)
    #expect(try CallValue.signed(7).uint == 7)
    #expect(try CallValue.signed(-32768).int16 == -32768)
    #expect(try CallValue.unsigned(65535).uint16 == 65535)
    #expect(try CallValue.signed(.min).int64 == .min)
    #expect(try CallValue.unsigned(1 << 31).uint32 == 1 << 31)
    #expect(throws: CallValueError.self) { try CallValue.signed(128).int8 }
    #expect(throws: CallValueError.self) { try CallValue.signed(-1).uint64 }
    #expect(throws: CallValueError.self) { try CallValue.unsigned(1 << 31).int32 }
    #expect(throws: CallValueError.self) { try CallValue.unsigned(.max).int64 }
    #expect(throws: CallValueError.self) { try CallValue.double(1).int32 }
    #expect(throws: CallValueError.self) { try CallValue.pointer(1).uint64 }
  }

  @Test("no bit of a float is lost") func floats() throws {
    #expect(try CallValue.single(0.5).double == 0.5)
    #expect(try CallValue.double(0.5).float == 0.5)
    #expect(try CallValue.double(.infinity).float == .infinity)
    #expect(try CallValue.double(.nan).float.isNaN)
    #expect(throws: CallValueError.self) { try CallValue.double(0.1).float }
    #expect(throws: CallValueError.self) { try CallValue.double(1e300).float }
    #expect(throws: CallValueError.self) { try CallValue.signed(1).double }
  }

  @Test("text is valid and whole") func text() throws {
    #expect(try CallValue.cstring(Array("hé".utf8)).string == "hé")
    #expect(try CallValue.bytes([104, 105, 0, 255]).string == "hi")
    #expect(try CallValue.cstring([255]).data == [255])
    #expect(throws: CallValueError.self) { try CallValue.cstring([255]).string }
    #expect(throws: CallValueError.self) { try CallValue.cstring(nil).string }
    let cut = CallValue.cstring(Array(repeating: 65, count: 64 << 10))
    #expect(throws: CallValueError.self) { try cut.string }
    #expect(try cut.data.count == 64 << 10)
  }

  @Test("what is NULL is no handle and no text") func null() throws {
    for value in [CallValue.pointer(0), .cstring(nil), .handle(nil)] { #expect(value.isNull) }
    for value in [CallValue.pointer(1), .cstring([]), .signed(0), .void] { #expect(!value.isNull) }
    #expect(try CallValue.pointer(0).address == 0)
    #expect(throws: CallValueError.self) { try CallValue.handle(nil).handle }
    #expect(throws: CallValueError.self) { try CallValue.pointer(4096).handle }
  }

  @Test("fields and outputs are there by their number") func parts() throws {
    var result = CallResult(value: .structure([.signed(3), .unsigned(2)]), out: [[1, 2], [7]])
    #expect(try result.fields[1].uint32 == 2)
    #expect(try result.output(1).data == [7])
    #expect(result.outputs == [.bytes([1, 2]), .bytes([7])])
    #expect(throws: CallValueError.self) { try result.output(2) }
    #expect(throws: CallValueError.self) { try result.output(-1) }
    #expect(throws: CallValueError.self) { try result.int32 }
    #expect(try CallValue.bytes([1, 2]).fields == [.unsigned(1), .unsigned(2)])
    result.value = .signed(-5)
    #expect(try result.int32 == -5)
  }

  @Test(
    "an error says what was asked for and what there is",
    arguments: [
      (CallValue.signed(-1), "asked for UInt32, but the value is the integer -1"),
      (.double(2.5), "asked for UInt32, but the value is the f64 2.5"),
      (.void, "asked for UInt32, but the value is void"),
      (.pointer(255), "asked for UInt32, but the value is the pointer 0xff"),
      (.cstring(nil), "asked for UInt32, but the value is a cstring that is NULL"),
      (.bytes([1, 2]), "asked for UInt32, but the value is 2 bytes"),
      (.structure([.void]), "asked for UInt32, but the value is a structure of 1 fields"),
      (.array([]), "asked for UInt32, but the value is an array of 0 elements"),
      (.handle(nil), "asked for UInt32, but the value is a handle that is NULL"),
    ])
  func says(_ value: CallValue, _ sentence: String) {
    do throws(CallValueError) {
      _ = try value.uint32
      Issue.record("\(value) was taken for a UInt32")
    } catch { #expect(error.description == sentence) }
  }
}
