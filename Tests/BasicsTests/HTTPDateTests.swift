import Basics
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPDateTests {
  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
      ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
      ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800), ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
      ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ] as [(String, Int64)])
  func reads(text: String, seconds: Int64) {
    #expect(HTTPDate.seconds(text) == seconds)
  }

  @Test(arguments: [
    "", "0", "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    " Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
    "Wed, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Wed, 29 Feb 2023 00:00:00 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
    "Sun Nov 06 08:49:37 1994 GMT",
    "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT\n", "Sun, 06 Nov 1994 08:49 GMT",
    "Sun, 06 Nov 1994 -8:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
  ])
  func refuses(text: String) {
    #expect(HTTPDate.seconds(text) == nil)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>) func whatIsWrittenIsRead(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let seconds = Int64.random(in: -62_135_596_800...253_402_300_799, using: &random)
      #expect(HTTPDate.seconds(HTTPDate.text(seconds)) == seconds, "seed \(seed)")
    }
  }

  @Test func writesWhateverItIsGiven() {
    #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(
      HTTPDate.text(.max) == "Fri, 31 Dec 9999 23:59:59 GMT" && HTTPDate.text(.min) == "Mon, 01 Jan 0001 00:00:00 GMT")
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>) func survivesAnything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
      for _ in 0..<50 {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0x20...0x7e, using: &random)
        }
        if let seconds = HTTPDate.seconds(String(decoding: bytes, as: UTF8.self)) {
          #expect((-62_135_596_800...253_402_300_800).contains(seconds), "seed \(seed)")
        }
      }
    }
  }
}
