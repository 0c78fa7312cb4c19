import Foundation
import TestSupport
import Testing

/// The page of `policy test --format html`, as readers see it in a real browser and on paper.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(2))) struct TestPageTests {
  /// Marks piled up upon a letter, an element, a sign of the page's own, and a word without an end.
  private static let hostile =
    "Z" + String(repeating: "\u{301}", count: 40) + "<script>alert(1)</script><img/src=x>✓"
    + String(repeating: "A", count: 300)

  private static let rows: [(words: String, state: String)] = [
    ("{name: computes, call: abs, signature: i32(i32), arguments: [-5], expect: [returned 5, no denials]}", "ok"),
    (
      "{name: wrong, call: abs, signature: i32(i32), arguments: [-5], expect: [returned 6, outcome returned]}", "bad"
    ),
    (
      "{name: no socket, call: socket, signature: 'i32(i32,i32,i32)', arguments: [2, 1, 0], expect: [deny socket]}",
      "ok"
    ),
    (
      "{name: no file, call: open, signature: 'i32(cstring,i32)', arguments: [/etc/passwd, 0], expect: [deny /etc/passwd]}",
      "ok"
    ),
    (
      "{name: nowhere, call: open, signature: 'i32(cstring,i32)', arguments: [/nowhere, 0], observe: true, expect: [returned -1]}",
      "ok"
    ),
    ("{name: waits, call: pause, signature: i32(), limits: {wall: 200ms}, expect: [outcome wallTimeExceeded]}", "ok"),
    ("{name: aborts, call: abort, expect: [outcome crashed]}", "ok"),
    ("{name: missing, call: no_such_function, expect: [outcome entryPointMissing]}", "ok"),
    ("{name: '\(hostile)', call: abs, signature: i32(i32), arguments: [-5], expect: [returned 5]}", "ok"),
  ]

  private static func made(_ rows: [String]) throws -> String {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let text = "plugin: libc.so.6\ntests:\n" + rows.map { "  - \($0)\n" }.joined()
    try text.write(toFile: "\(folder)/t.yaml", atomically: true, encoding: .utf8)
    let end = try Workspace.run(["policy", "test", "\(folder)/t.yaml", "--format", "html"])
    guard end.status == 1, end.errors.isEmpty else { throw Browser.Failure(description: "\(end)") }
    return end.output
  }

  private static let page = Result { try made(rows.map(\.words)) }

  /// Runs `body` with a browser and the name of the page's file.
  private static func browse(_ html: String, _ body: (Browser, String) throws -> Void) throws {
    let file = try Workspace.temporaryFile(html, suffix: ".html")
    defer { try? FileManager.default.removeItem(atPath: file) }
    let browser = try Browser()
    defer { browser.close() }
    try body(browser, file)
  }

  struct View: Sendable, CustomTestStringConvertible {
    var width: Int
    var isPhone: Bool
    var isDark: Bool
    var testDescription: String { "\(width) px\(isPhone ? ", phone" : "")\(isDark ? ", dark" : "")" }
  }

  private static let views = [(1280, false), (800, false), (390, true), (360, true)].flatMap { width, isPhone in
    [false, true].map { View(width: width, isPhone: isPhone, isDark: $0) }
  }

  /// What a script that isn't the page's sees of it.
  private struct Seen: Decodable {
    struct Box: Decodable {
      var row: String
      /// Its classes.
      var kind: String
      var text: String
      var colour: Picture.Colour
      var left: Double
      var top: Double
      var width: Double
      var height: Double
      /// Whether all of its text lies within it.
      var holds: Bool
    }
    struct Row: Decodable {
      var id: String
      var state: String
      var name: String
      var lines: [String]
    }
    var width: Double
    /// Texts that lie beside the page.
    var beside: [String]
    var boxes: [Box]
    var rows: [Row]
    var foreign: Int
  }

  private static let look = """
    (() => {
      const places = node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].filter(r => r.width > 0 && r.height > 0);
      };
      const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const beside = [];
      while (texts.nextNode()) {
        const text = texts.currentNode;
        if (!text.parentElement.checkVisibility({contentVisibilityAuto: true})) continue;
        if (places(text).some(r => r.left < 0 || r.right > innerWidth + .5)) beside.push(text.data.slice(0, 60));
      }
      const box = e => {
        const r = e.getBoundingClientRect();
        const [red, green, blue] = getComputedStyle(e).color.match(/[0-9.]+/g).map(Number);
        return {
          row: e.closest('.row')?.id ?? '', kind: e.className, text: e.innerText, colour: {red, green, blue},
          left: r.left + scrollX, top: r.top + scrollY, width: r.width, height: r.height,
          holds: places(e).every(p => p.left >= r.left - .5 && p.right <= r.right + .5 && p.bottom <= r.bottom + 1)
        };
      };
      const isShown = e => e.checkVisibility({contentVisibilityAuto: true}) && e.getBoundingClientRect().height > 0;
      return {
        width: document.documentElement.scrollWidth, beside,
        boxes: [...document.querySelectorAll('.head .wall, .row .mark, .row .outcome, .row .cell')].map(box),
        rows: [...document.querySelectorAll('.row')].map(row => ({
          id: row.id, state: row.classList[1], name: row.querySelector('bdi').textContent,
          lines: [...row.querySelectorAll('.more li')].filter(isShown).map(e => e.innerText)
        })),
        foreign: document.querySelectorAll('script, img, link, iframe, object').length
      };
    })()
    """

  @Test("the matrix is painted in the colours of its states, holds its texts and fits the screen", arguments: views)
  func painted(view: View) throws {
    try Self.browse(Self.page.get()) { browser, file in
      let scale = view.isPhone ? 2 : 1
      try browser.open(
        file, width: view.width, height: 900, scale: scale, isPhone: view.isPhone, isDark: view.isDark)
      let seen = try browser.evaluate(Seen.self, Self.look)
      #expect(seen.width == Double(view.width) && seen.beside.isEmpty, "\(seen.width): \(seen.beside)")
      #expect(seen.foreign == 0 && browser.requests == ["file://\(file)"], "\(browser.requests)")
      #expect(seen.rows.map(\.state) == Self.rows.map(\.state))
      #expect(seen.boxes.filter { !$0.holds }.isEmpty, "\(seen.boxes.filter { !$0.holds })")

      // Cells lie below the names of their walls.
      let heads = seen.boxes.filter { $0.kind == "wall" }
      #expect(heads.map { $0.text.prefix { $0.isLetter } } == ["seccomp", "files", "limits", "network"])
      for row in seen.rows {
        let lefts = seen.boxes.filter { $0.row == row.id && $0.kind.hasPrefix("cell") }.map(\.left)
        #expect(zip(lefts, heads).allSatisfy { abs($0 - $1.left) < 1 } && lefts.count == heads.count, "\(lefts)")
      }

      let boxes = seen.boxes.filter { !$0.row.isEmpty }
      let png = try browser.screenshot()
      let places = boxes.flatMap { box in
        [4, box.width - 4].map { [Int(box.left + $0) * scale, Int(box.top + box.height / 2) * scale] }
      }
      let colours = try browser.colours(of: png, at: places + [[2, 2]])
      let backdrop = colours.last?.red ?? 0
      #expect(view.isDark ? backdrop < 64 : backdrop > 224)
      var painted: [String: Picture.Colour] = [:]
      for (index, box) in boxes.enumerated() {
        let colour = colours[2 * index]
        #expect(colours[2 * index + 1] == colour && painted[box.kind] ?? colour == colour, "\(box)")
        #expect(colour.contrast(with: box.colour) >= 4.5, "\(box): \(colour)")
        // What is open to what is below it isn't a colour of its own.
        if box.kind != "cell absent" { painted[box.kind] = colour }
      }
      #expect(painted["mark ok"]?.isGreen == true && painted["mark bad"]?.isRed == true, "\(painted)")
      #expect(painted["cell denied"]?.isAmber == true && painted["cell ended"]?.isViolet == true, "\(painted)")
      for kinds in [
        ["cell denied", "cell ended", "cell none"],
        ["outcome returned", "outcome limited", "outcome broken", "outcome missing"],
      ] {
        let found = kinds.compactMap { painted[$0] }
        #expect(found.count == kinds.count, "\(painted)")
        for (index, one) in found.enumerated() {
          for other in found[(index + 1)...] { #expect(one.distance(to: other) > 24, "\(painted)") }
        }
      }
      // Without colours, too: each state has a sign of its own.
      let signs = Dictionary(grouping: boxes.filter { $0.kind.hasPrefix("cell") }, by: \.kind)
        .mapValues { Set($0.map { $0.text.prefix(1) }) }
      #expect(
        signs == ["cell denied": ["⊘"], "cell ended": ["■"], "cell absent": ["○"], "cell none": ["·"]], "\(signs)")
      #expect(
        boxes.filter { $0.kind.hasPrefix("cell") && $0.row == "r2" }.map(\.text) == ["⊘ 1", "·", "·", "·"])
    }
  }

  @Test("a row opens to its lines, and one that isn't as expected is open; a hostile name is text, and covers no other")
  func drillDown() throws {
    try Self.browse(Self.page.get()) { browser, file in
      try browser.open(file, width: 360, height: 900, scale: 1, isPhone: true, isDark: false)
      let closed = try browser.evaluate(Seen.self, Self.look)
      let isOpen = closed.rows.map { !$0.lines.isEmpty }
      #expect(isOpen == Self.rows.map { $0.state == "bad" })
      #expect(closed.rows[1].lines == ["✗ expected returned 6; returned 5", "✓ outcome returned"])
      #expect(closed.rows.last?.name == Self.hostile)

      // As a finger does, in the middle of the name.
      let spot = try browser.evaluate(
        [Double].self,
        """
        (() => {
          const name = document.querySelector('#r2 bdi');
          name.scrollIntoView({block: 'center'});
          const r = name.getBoundingClientRect();
          return [r.left + r.width / 2, r.top + r.height / 2];
        })()
        """)
      for kind in ["mousePressed", "mouseReleased"] {
        try browser.call(
          "Input.dispatchMouseEvent", ["type": kind, "x": spot[0], "y": spot[1], "button": "left", "clickCount": 1])
      }
      let opened = try browser.evaluate(Seen.self, Self.look)
      #expect(opened.rows[2].lines.dropLast() == ["✓ returned", "✓ deny socket"], "\(opened.rows[2])")
      #expect(opened.rows[2].lines.last?.hasPrefix("seccomp: socket(") == true && opened.beside.isEmpty)

      // What the piled marks would cover without being cut off is the row above.
      let pixels = try browser.evaluate(
        [Double].self,
        """
        (() => {
          const r = document.querySelector('#r7').getBoundingClientRect();
          return [r.left, r.right, r.bottom + scrollY];
        })()
        """)
      let edge = Int(pixels[2]) - 3
      let places = stride(from: Int(pixels[0]) + 1, to: Int(pixels[1]) - 1, by: 1).map { [$0, edge] }
      let line = try browser.colours(of: browser.screenshot(), at: places)
      #expect(Set(line.map(\.description)).count == 1, "\(line)")
    }
  }

  @Test("a switch hides what is as expected") func onlyFailures() throws {
    try Self.browse(Self.page.get()) { browser, file in
      try browser.open(file, width: 800, height: 900, scale: 1, isPhone: false, isDark: false)
      let shown = "[...document.querySelectorAll('.row')].filter(e => e.checkVisibility()).map(e => e.id)"
      #expect(try browser.evaluate([String].self, shown).count == Self.rows.count)
      _ = try browser.evaluate(String.self, "(document.querySelector('label').click(), 'done')")
      #expect(try browser.evaluate([String].self, shown) == ["r1"])
    }
  }

  private struct Word {
    var text: String
    var left: Double
    var top: Double
    var right: Double
    var bottom: Double
  }

  /// The words of each sheet, in points.
  private static func sheets(of pdf: String) throws -> [[Word]] {
    let tool = try Browser.tool("/usr/bin/pdftotext", of: "poppler-utils")
    let text = try Workspace.run(["-bbox", pdf, "-"], program: tool).output
    let word = #/<word xMin="([0-9.]+)" yMin="([0-9.]+)" xMax="([0-9.]+)" yMax="([0-9.]+)">(.*)</word>/#
    return text.components(separatedBy: "<page ").dropFirst().map { sheet in
      sheet.matches(of: word).map { match in
        Word(
          text: String(match.5), left: Double(match.1) ?? -1, top: Double(match.2) ?? -1, right: Double(match.3) ?? -1,
          bottom: Double(match.4) ?? -1)
      }
    }
  }

  @Test("on paper what isn't as expected has its lines, cells their colours, and each sheet the names of the walls")
  func printed() throws {
    let more = (0..<60).map { "{name: further \($0), call: abs, signature: i32(i32), arguments: [-5]}" }
    let html = try Self.made(Self.rows.map(\.words) + more)
    try Self.browse(html) { browser, file in
      try browser.open(file, width: 360, height: 900, scale: 1, isPhone: true, isDark: true)
      // A reader has closed it.
      _ = try browser.evaluate(String.self, "(document.querySelector('#r1').open = false, 'closed')")
      let pdf = try Workspace.temporaryFile("", suffix: ".pdf")
      let picture = try Workspace.temporaryFile("", suffix: ".ppm")
      defer { for path in [pdf, picture] { try? FileManager.default.removeItem(atPath: path) } }
      try browser.pdf().write(to: URL(fileURLWithPath: pdf))
      let sheets = try Self.sheets(of: pdf)
      #expect(sheets.count > 1)
      let text = sheets.flatMap { $0 }.map(\.text).joined(separator: " ")
      #expect(text.contains("expected returned 6; returned 5") && !text.contains("deny socket"), "\(text)")
      #expect((0..<60).allSatisfy { text.contains("further \($0) ") })
      for sheet in sheets {
        #expect(sheet.count { $0.text == "seccomp" } == 1 && sheet.count { $0.text == "network" } == 1)
        for word in sheet { #expect(word.left > 20 && word.right < 575 && word.top > 20 && word.bottom < 822) }
      }

      let tool = try Browser.tool("/usr/bin/pdftoppm", of: "poppler-utils")
      let end = try Workspace.run(
        ["-r", "72", "-f", "1", "-l", "1", "-singlefile", pdf, String(picture.dropLast(4))], program: tool)
      #expect(end.status == 0, "\(end)")
      let sheet = try Picture(ppm: Data(contentsOf: URL(fileURLWithPath: picture)))
      #expect(sheet.colour(5, 5) == .init(255, 255, 255))
      /// Below the matrix's head, to the left of the sign.
      func colours(_ sign: String) -> [Picture.Colour] {
        let head = sheets[0].first { $0.text == "seccomp" }?.bottom ?? 0
        let words = sheets[0].filter { $0.text == sign && $0.top > head }
        // What stands further to the right than the first is a line of a row that is open.
        let first = words.map(\.left).min() ?? 0
        return words.filter { sign != "✓" || $0.left < first + 2 }.compactMap {
          sheet.colour(Int($0.left) - 2, Int(($0.top + $0.bottom) / 2))
        }
      }
      #expect(colours("⊘").count == 2 && colours("⊘").allSatisfy(\.isAmber), "\(colours("⊘"))")
      #expect(colours("■").count == 1 && colours("■").allSatisfy(\.isViolet), "\(colours("■"))")
      #expect(colours("✓").count > 20 && colours("✓").allSatisfy(\.isGreen), "\(colours("✓"))")
    }
  }
}
