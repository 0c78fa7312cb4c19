import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct OutcomeTests {
  /// Names of files, the loader's words and failed steps stand in it, and people read it on a terminal.
  @Test(arguments: Outcome.Kind.allCases) func theDetailIsFitForATerminal(_ kind: Outcome.Kind) {
    let detail = Outcome(kind, "/tmp/\u{1b}[2J\u{9b}31m\n\u{202e}so.x was changed").detail
    #expect(detail == "/tmp/\\u{1b}[2J\\u{9b}31m\\u{a}\\u{202e}so.x was changed")
    #expect(Outcome(kind, String(repeating: "x", count: 100_000)).detail.count < 3000)
  }
}
