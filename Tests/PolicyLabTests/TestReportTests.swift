import Foundation
import FoundationXML
import PluginHost
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct TestReportTests {
  private static let hostile = "<script>alert('&\"')</script>\u{1b}[2J\u{0}\u{202e}\nnext ]]>"

  private static func report(_ text: String, log: [String]? = nil) -> TestReport {
    var observed = Observed(outcome: Outcome(.crashed, text))
    observed.log = log ?? [text]
    observed.denials = [.init(wall: "seccomp", call: text, target: text)]
    var report = TestReport()
    for isMet in [true, false] {
      report.results.append(
        PolicyTestResult(
          file: text, line: 3, name: text, call: text, observed: observed,
          lines: [.init(expectation: text, mismatch: isMet ? nil : text)]))
    }
    return report
  }

  private final class Reader: NSObject, XMLParserDelegate {
    var cases: [[String: String]] = []
    var failures: [String] = []

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      if name == "testcase" { cases.append(attributes) }
      if name == "failure" { failures.append(attributes["message"] ?? "") }
    }
  }

  @Test("JUnit is XML whatever a plugin or a file says") func junit() throws {
    let reader = Reader()
    let parser = XMLParser(data: Data(try Self.report(Self.hostile).text(.junit).utf8))
    parser.delegate = reader
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    #expect(reader.cases.count == 2 && reader.failures.count == 1)
    #expect(reader.cases[0]["name"]?.hasPrefix("<script>alert('&\"')</script>") == true)
    #expect(reader.cases[0]["line"] == "3")
  }

  @Test("no report has an element, a control character or a change of direction from what was said")
  func escapes() throws {
    for format in TestReport.Format.allCases {
      let text = try Self.report(Self.hostile).text(format)
      #expect(!text.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{0}" || $0 == "\u{202e}" }, "\(format)")
      if format == .html || format == .junit { #expect(!text.contains("<script"), "\(format)") }
    }
  }

  @Test("the page needs nothing but itself, and its lines are those of the table") func page() throws {
    let html = try Self.report("plain").text(.html)
    #expect(!html.contains("://") && !html.contains("src=") && html.contains("prefers-color-scheme: dark"))
    #expect(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""))
    #expect(html.contains("2 tests: 1 as expected, 1 not") && html.contains(#"<details class="row bad" id="r1" open>"#))
    #expect(try Self.report("plain").text(.table).hasSuffix("2 tests: 1 as expected, 1 not"))
  }

  @Test("what a plugin said last is shown where a test isn't as expected, and the whole page has it") func log() throws
  {
    let report = Self.report("plain", log: (1...20).map { "line \($0)" })
    let table = try report.text(.table).split(separator: "\n").map(String.init)
    let at = try #require(table.firstIndex(of: "     its log, after 12 lines:"))
    #expect(table[(at + 1)...].dropLast() == (13...20).map { "       line \($0)" }[...])
    #expect(table.count { $0.contains("its log") } == 1)
    let junit = try report.text(.junit)
    #expect(junit.contains("<system-out>line 1&#10;") && junit.contains("line 20</system-out>"))
    let object = try JSONSerialization.jsonObject(with: Data(report.text(.json).utf8)) as? [String: Any]
    #expect(((object?["tests"] as? [[String: Any]])?.last?["log"] as? [String])?.count == 20)
  }

  @Test("tests that an interrupt came before are in each form") func interrupted() throws {
    var report = Self.report("plain")
    report.missing = [.init(file: "other.test.yaml", line: 9, name: "late & <lost>")]
    let sum = "3 tests: 1 as expected, 1 not; interrupted, 1 not run"
    #expect(try report.text(.table).hasSuffix(sum))
    #expect(try report.text(.html).contains(sum))
    let object = try JSONSerialization.jsonObject(with: Data(report.text(.json).utf8)) as? [String: Any]
    #expect((object?["notRun"] as? [[String: Any]])?.map { $0["name"] as? String } == ["late & <lost>"])
    let junit = try report.text(.junit)
    #expect(XMLParser(data: Data(junit.utf8)).parse())
    #expect(junit.contains(#"tests="3" failures="1" skipped="1""#) && junit.contains("<skipped message="))
    // One that is whole has nothing of it.
    #expect(try !Self.report("plain").text(.json).contains("notRun"))
  }

  @Test("JSON says the same") func json() throws {
    let object = try JSONSerialization.jsonObject(with: Data(Self.report("plain").text(.json).utf8)) as? [String: Any]
    #expect(object?["failed"] as? Int == 1 && object?["passed"] as? Int == 1)
    #expect((object?["tests"] as? [[String: Any]])?.first?["denials"] as? [String] == ["seccomp: plain(plain)"])
  }
}
