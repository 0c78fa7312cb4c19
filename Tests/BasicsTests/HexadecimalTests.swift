import Basics
import Testing

@Suite(.timeLimit(.minutes(1))) struct HexadecimalTests {
  @Test func everyByteIsRead() {
    let bytes = (0...255).map { UInt8($0) }
    let text = Hexadecimal.text(bytes)
    #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.utf8.count == 512)
    #expect(Hexadecimal.bytes(text) == bytes && Hexadecimal.bytes(text.uppercased()) == bytes)
    #expect(Hexadecimal.bytes("") == [])
  }

  @Test(arguments: ["0", "0g", "0x10", " 00", "00 ", "-1", "+1", "٠٠", "0\u{0}"])
  func refuses(_ text: String) { #expect(Hexadecimal.bytes(text) == nil) }
}
