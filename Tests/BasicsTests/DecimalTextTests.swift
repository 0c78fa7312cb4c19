import Basics
import Testing

@Suite(.timeLimit(.minutes(1))) struct DecimalTextTests {
  @Test(
    arguments: [
      ("0", 0), ("007", 7), ("9223372036854775807", .max), ("9223372036854775808", nil), ("", nil), ("+1", nil),
      ("-1", nil), (" 1", nil), ("1 ", nil), ("1.0", nil), ("0x1", nil), ("\u{0661}", nil), ("1\u{0301}", nil),
      ("½", nil),
    ] as [(String, Int64?)])
  func numbers(text: String, value: Int64?) {
    #expect(DecimalText.value(text) == value)
    #expect(DecimalText.isDigits(text) == (value != nil || text == "9223372036854775808"))
  }
}
