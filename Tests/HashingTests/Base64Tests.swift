import Basics
import Hashing
import Testing

@Suite(.timeLimit(.minutes(1))) struct Base64Tests {
  @Test(
    "What RFC 4648, 10 has as examples",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func examples(text: String, encoded: String) {
    #expect(Base64.encode(Array(text.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(text.utf8))
    #expect(Base64.decode(encoded.filter { $0 != "=" }) == Array(text.utf8), "without padding")
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>) func isItsOwnInverse(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for count in 0..<100 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let text = Base64.encode(bytes)
      #expect(text.utf8.count % 4 == 0 && Base64.decode(text) == bytes, "seed \(seed)")
    }
  }

  @Test(arguments: [
    "A", "AA=", "A===", "AAA==", "====", "=", "AA==AAAA", "AAAAA", "A A=", "AA-_", " AAAA", "AAAA\n", "AA\0A", "ÄAAA",
    "AA=A",
  ])
  func refuses(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test("Whatever is read is written as it was", arguments: 1...20 as ClosedRange<UInt64>)
  func survivesAnything(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let digits = Array("ABCxyz019+/==-_ \n".utf8)
    for _ in 0..<500 {
      let text = String(
        decoding: (0..<Int.random(in: 0...12, using: &random)).map { _ in digits.randomElement(using: &random)! },
        as: UTF8.self)
      guard let bytes = Base64.decode(text) else { continue }
      // The bits that no byte takes may be anything.
      let again = Base64.encode(bytes)
      #expect(
        Base64.decode(again) == bytes && again.prefix(bytes.count) == text.prefix(bytes.count), "seed \(seed): \(text)")
    }
  }
}
