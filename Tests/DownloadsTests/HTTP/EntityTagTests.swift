import TestSupport
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct EntityTagTests {
  @Test(arguments: [
    ("\"\"", "\"\"", false), ("\"a,b\\\"", "\"a,b\\\"", false), ("W/\"x\"", "\"x\"", true),
  ])
  func reads(value: String, text: String, isWeak: Bool) {
    let tag = EntityTag(value)
    #expect(tag?.text == text && tag?.isWeak == isWeak)
  }

  @Test(
    arguments: [
      "", "\"", "x", "w/\"x\"", "W/x", "W/", "\"a\"b\"", "\"a", "a\"", "\"a b\"", "\"a\u{7f}\"", "\"a\tb\"",
      "\"a\", \"b\"", "\"\u{fffd}\"", "\"\u{e9}\"", "\"e\u{301}\"",
      "\"" + String(repeating: "x", count: 1023) + "\"",
    ].map(Abbreviated.init))
  func refuses(value: Abbreviated<String>) {
    let tag = EntityTag(value.value)
    #expect(tag == nil)
  }

  @Test func tagsThatLostTheirBytesAreNone() {
    let (one, other) = (
      String(decoding: [0x22, 0xfe, 0x22], as: UTF8.self), String(decoding: [0x22, 0xff, 0x22], as: UTF8.self)
    )
    #expect(one == other && EntityTag(one) == nil)
  }

  static let (old, new) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT")

  @Test(arguments: [
    ([old], [new], true), ([old], ["Sun, 06 Nov 1994 08:50:36 GMT"], false), ([new], [old], false), ([old], [], false),
    ([], [new], false), ([old, old], [new], false), (["garbage"], [new], false), ([old], ["garbage"], false),
    ([old], [new, old], false),
  ])
  func lastModified(modified: [String], dates: [String], isUsable: Bool) {
    let head = ResponseHeadTests.head(modified.map { ("last-modified", $0) } + dates.map { ("date", $0) })
    #expect(EntityTag.usableLastModified(in: head) == (isUsable ? modified[0] : nil))
  }
}
