/// Unsigned decimal digits and nothing else: no sign, no blank, no other script's digits.
package enum DecimalText {
  /// nil for anything else, and beyond 64 bits.
  package static func value(_ text: some StringProtocol) -> Int64? {
    guard isDigits(text) else { return nil }
    var value: Int64 = 0
    for digit in text.utf8 {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int64(digit - UInt8(ascii: "0")))
      if overflow || carry { return nil }
      value = sum
    }
    return value
  }

  /// Whether there is one at least, and nothing else.
  package static func isDigits(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }
}
