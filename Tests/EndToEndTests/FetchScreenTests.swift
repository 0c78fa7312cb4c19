import DevelopmentOrigin
import Downloads
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import outrider

/// What a person sees of a fetch, on terminals of every width and of one that changes.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FetchScreenTests {
  private static func progress(_ received: Int64) -> DownloadProgress {
    DownloadProgress(received: received, durable: 0, total: 1 << 31, bytesPerSecond: 12_345_678, connections: 1)
  }

  /// The rows of some files, as they are drawn.
  private static func rows(_ count: Int, _ step: Int64, columns: Int) -> [String] {
    let names = (1...count).map { "a-rather-long-name-of-file-\($0).bin" }
    return names.enumerated().map { index, name in
      FetchRow.text(
        name, progress(step << 27 + Int64(index) << 20), note: nil, nameWidth: names[0].count, columns: columns - 1)
    }
  }

  @Test(arguments: [40, 60, 80, 100, 115, 200]) func aRowUsesTheWidth(columns: Int) {
    let row = FetchRow.text("talk.mp4", Self.progress(1 << 30), note: nil, columns: columns - 1)
    #expect(row.contains("█") && row.contains("·") && row.contains(" 50 %"), "\(row)")
    #expect(row.contains("11.8 MiB/s") == (columns >= 40) && row.contains("1:27 left") == (columns >= 60), "\(row)")
    #expect(row.contains("2.0 GiB") == (columns >= 80), "\(row)")
    #expect(row.contains("1.0 GiB of 2.0 GiB") == (columns >= 80), "\(row)")
    #expect(FetchRow.width(row) <= columns - 1 && FetchRow.width(row) >= columns - 14, "\(row)")
  }

  @Test func timesAreRoundedUp() {
    #expect(FetchWords.timeLeft(10, at: 4) == "0:03 left" && FetchWords.timeLeft(0, at: 4) == "0:00 left")
    #expect(FetchWords.timeLeft(125, at: 1) == "2:05 left" && FetchWords.timeLeft(3725, at: 1) == "1:02:05 left")
    #expect(FetchWords.timeLeft(.max, at: 1) == "over 99 h" && FetchWords.timeLeft(nil, at: 1) == nil)
    #expect(FetchWords.timeLeft(5, at: 0) == nil && FetchWords.timeLeft(5, at: .nan) == nil)
  }

  /// Whatever becomes of the rows that were drawn before, nothing of them stays, and nothing above them is touched.
  @Test(arguments: [true, false], [[115, 60, 33, 90, 20, 200], [80, 40, 80, 40], [200, 21]])
  func nothingIsLeftWhenTheTerminalChanges(reflows: Bool, widths: [Int]) {
    var terminal = TerminalScreen(columns: widths[0])
    terminal.reflows = reflows
    terminal.take("earlier\r\n$ fetch\r\n")
    var screen = FetchScreen()
    for (step, width) in widths.enumerated() {
      // A frame that was measured before the change, then the change, then one that was measured after it.
      terminal.take(screen.draw(Self.rows(5, Int64(step), columns: terminal.columns)))
      let stale = Self.rows(4, Int64(step), columns: terminal.columns)
      terminal.resize(columns: width)
      terminal.take(screen.draw(stale))
      let rows = Self.rows(4, Int64(step) + 1, columns: width)
      terminal.take(screen.draw(rows))
      #expect(terminal.text == ["earlier", "$ fetch"] + rows, "\(width)")
    }
    terminal.take(screen.erase() + "a message\r\n")
    #expect(terminal.text == ["earlier", "$ fetch", "a message"] && screen.erase().isEmpty)
  }

  @Test func draws() throws {
    let place = try FetchTests.Place { $0.bytesPerSecond = 500_000 }
    let urls = ["/a.bin", "/a.bin?2", "/a.bin?3"].map(place.origin.url)
    let (process, terminal) = try place.fetch(columns: 100, urls[0], urls[1], urls[2])
    defer { close(terminal) }
    var screen = TerminalScreen(columns: 100)
    /// Reads until the screen shows what is looked for.
    func wait(_ isThere: ([String]) -> Bool) -> Bool {
      var buffer = [UInt8](repeating: 0, count: 65536)
      while !isThere(screen.text) {
        // A command that has nothing more to draw would keep the test for ever.
        var ready = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 20_000) == 1 else { return false }
        let count = read(terminal, &buffer, buffer.count)
        if count <= 0 { return false }
        screen.take(String(decoding: buffer[..<count], as: UTF8.self))
      }
      return true
    }
    let figures = wait { text in
      ["a.bin", "a-2.bin", "a-3.bin"].allSatisfy { name in
        text.contains {
          $0.hasPrefix("\(name) ") && $0.contains("█") && $0.hasSuffix(" left") && $0.contains(" of 4.8 MiB")
        }
      }
    }
    #expect(figures, "\(screen.text)")
    #expect(screen.text.last?.hasPrefix("0 of 3 files, ") == true && screen.text.count == 4, "\(screen.text)")
    var size = winsize(ws_row: 24, ws_col: 50, ws_xpixel: 0, ws_ypixel: 0)
    #expect(ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0)
    screen.resize(columns: 50)
    // The next frames fit; nothing of the wider ones is there.
    let narrow = wait { text in
      text.count == 4 && text.allSatisfy { $0.count < 50 } && text.filter { $0.contains("█") }.count == 3
    }
    #expect(narrow, "\(screen.text)")
    kill(process.processIdentifier, SIGINT)
    _ = wait { _ in false }
    process.waitUntilExit()
    #expect(screen.text.allSatisfy { !$0.contains("█") }, "nothing is left of the rows: \(screen.text)")
  }
}
