import Sandbox
import Testing

@Suite(.timeLimit(.minutes(1))) struct PolicyVariableTests {
  @Test(arguments: ["A", "A=", "A=b=c", "_x9=ü", "PATH=/bin", "A=\u{301}x"]) func reads(_ text: String) {
    let variable = PolicyVariable(text)
    #expect(variable.text == text && variable.rejectionReason == nil)
  }

  @Test("two spellings of one value are two") func spellings() {
    #expect(PolicyVariable("A=\u{e9}") != PolicyVariable("A=e\u{301}"))
    #expect(Set([PolicyVariable("A=\u{e9}"), PolicyVariable("A=e\u{301}"), PolicyVariable("A=\u{e9}")]).count == 2)
  }

  @Test(arguments: [
    "", "=", "=x", "9A=1", "A B=1", "A-B", "Ä=1", "HOME=/x", "TMPDIR", "LD_PRELOAD=/x.so", "LD_LIBRARY_PATH",
    "OUTRIDER_SHOW_PRIVATE=1", "GLIBC_TUNABLES=x", "SWIFT_BACKTRACE=enable=yes", "A=\0",
    "A=" + String(repeating: "x", count: 40_000), "\u{1b}[2J",
  ])
  func refuses(_ text: String) throws {
    let reason = try #require(PolicyVariable(text).rejectionReason)
    #expect(reason.unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }
}
