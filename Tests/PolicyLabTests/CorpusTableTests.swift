import AssetModel
import PluginHost
import Sandbox
import TestSupport
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct CorpusTableTests {
  private static func row(_ cells: [Int: String] = [:]) -> String {
    var row = [
      "H01", "build/a.so", "f", "i32(i32)", "1 2", "--wall 300ms --observe", "returned|crashed", "1|5..7", "open", "no",
      "Does it.",
    ]
    for (index, cell) in cells { row[index] = cell }
    return row.joined(separator: "\t")
  }

  @Test("a row is read as its head says") func rows() throws {
    let corpus = try Corpus(
      parsing:
        "# a comment\n\n\(Self.row())\n\(Self.row([2: "-", 4: "-", 5: "--request periodic --memory 1MiB", 7: "*", 8: "-"]))\n"
    )
    let (first, second) = (corpus.rows[0], corpus.rows[1])
    #expect(first.name == "H01 f 1 2" && first.line == 3 && first.outcomes == [.returned, .crashed])
    #expect(
      first.policy(over: Policy()).limits.wallTime == .milliseconds(300) && first.policy(over: Policy()).observesFiles)
    #expect(second.symbol == nil && second.request == .periodic && second.values.isEmpty && second.denied == .nothing)
    #expect(second.policy(over: Policy()).limits.memory == 1 << 20)
  }

  @Test("the places that a row lists are added to those of the policy, each once") func network() throws {
    let row = try Corpus(parsing: Self.row([5: "--network 127.0.0.1:9 --network A.example:443"])).rows[0]
    #expect(row.policy(over: Policy()).network.map(\.text) == ["127.0.0.1:9", "a.example:443"])
    var base = Policy()
    base.network = [try NetworkEndpoint("a.example:443"), try NetworkEndpoint("b.example:1")]
    #expect(row.policy(over: base).network.map(\.text) == ["a.example:443", "b.example:1", "127.0.0.1:9"])
  }

  @Test(
    "what isn't a table is refused with its line",
    arguments: [
      ("", "no row"), ("# only\n", "no row"), ("a\tb", "11 columns"), (row() + "\tx", "FILE:LINE"),
      (row() + "\tx.c:1\ty", "11 columns"), (row() + "\t/etc/x.c:1", "FILE:LINE"), (row() + "\tx.c:0", "FILE:LINE"),
      (row([6: "fine"]), "isn't an outcome"), (row([6: ""]), "has an outcome"), (row([5: "--root"]), "is none of"),
      (row([5: "--wall soon"]), "is none of"), (row([5: "--wall"]), "is none of"),
      (row([1: "/etc/x.so"]), "below the corpus"),
      (row([1: "build/../../x.so"]), "below the corpus"), (row([0: ""]), "an id"),
      (row([6: "\u{1b}[2J"]), "isn't an outcome"),
    ])
  func refusals(text: String, words: String) {
    #expect {
      _ = try Corpus(parsing: text)
    } throws: { error in
      let text = (error as? Corpus.Invalid)?.description(in: "c/expected.tsv") ?? ""
      return text.hasPrefix("c/expected.tsv:1: ") && text.contains(words) && !text.contains("\u{1b}")
    }
  }

  @Test("what was collected from a file names that file and its line, in errors and in reports") func sources() throws {
    let row = try Corpus(parsing: Self.row() + "\ttime/f.c:7").rows[0]
    #expect(row.source == Corpus.Place(file: "time/f.c", line: 7) && row.place(in: "c/expected.tsv") == "c/time/f.c:7")
    #expect(try Corpus(parsing: Self.row()).rows[0].place(in: "c/expected.tsv") == "c/expected.tsv:1")
    // A line end of two characters is one to Swift.
    #expect(try Corpus(parsing: "# head\r\n" + Self.row() + "\r\n" + Self.row() + "\n").rows.count == 2)
    #expect {
      _ = try Corpus(parsing: "\n" + Self.row([6: "fine"]) + "\ttime/f.c:7")
    } throws: { error in
      (error as? Corpus.Invalid)?.description(in: "expected.tsv") == "time/f.c:7: \"fine\" isn't an outcome"
    }
  }

  @Test(
    "a verdict names what was seen instead",
    arguments: [
      ("1", ["open"], 0), ("6", ["open", "x"], 0), ("8", ["open"], 1), ("1", [], 1), ("1", ["x"], 1), ("0", [], 2),
    ] as [(String, [String], Int)])
  func verdicts(value: String, denied: [String], mismatches: Int) throws {
    let row = try Corpus(parsing: Self.row()).rows[0]
    var observed = Observed(outcome: Outcome(.returned, ""))
    observed.value = value
    observed.denials = denied.map { Observed.Denial(wall: "seccomp", call: $0, target: "") }
    #expect(row.verdict(on: observed).count { $0.mismatch != nil } == mismatches)
    #expect(!row.gotThrough(observed), "nothing shows that it succeeds without walls")
    let control = try Corpus(parsing: Self.row([9: "yes"])).rows[0]
    #expect(control.gotThrough(observed) == (value == "0"))
    observed.outcome = Outcome(.hostFailed, "gone")
    #expect(row.verdict(on: observed).first?.mismatch == "hostFailed: gone")
  }
}
