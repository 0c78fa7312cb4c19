import Foundation
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct DenialRecorderTests {
  @Test func countsTheSameAsOne() {
    var recorder = DenialRecorder()
    for _ in 0..<10_000 { recorder.record(wall: "seccomp", operation: "socket", target: "0x2") }
    recorder.record(wall: "limits", operation: "socket", target: "0x2")
    #expect(
      recorder.denials == [
        .init(wall: "seccomp", operation: "socket", target: "0x2", count: 10_000),
        .init(wall: "limits", operation: "socket", target: "0x2", count: 1),
      ])
    #expect(recorder.dropped == 0)
  }

  @Test func keepsTheRuleThatDenied() {
    var recorder = DenialRecorder()
    let denial = RunReport.Denial(
      wall: "seccomp", operation: "prctl", target: "option = 15", count: 1, rule: "systemCalls: …")
    for _ in 0..<3 { recorder.record(denial) }
    recorder.record(wall: "seccomp", operation: "prctl", target: "0x1")
    #expect(recorder.denials.map(\.rule) == ["systemCalls: …", nil] && recorder.denials.map(\.count) == [3, 1])
    #expect(recorder.countsByWall == ["seccomp": 4])
  }

  @Test func meansALinkWhereEachCallDid() {
    var recorder = DenialRecorder()
    func record(_ path: String, _ namesLink: Bool) {
      recorder.record(.init(wall: "files", operation: "newfstatat", target: path, count: 1, namesLink: namesLink))
    }
    for isLink in [true, true] { record("/a", isLink) }
    for isLink in [true, false] { record("/b", isLink) }
    for isLink in [false, true] { record("/c", isLink) }
    #expect(recorder.denials.map(\.namesLink) == [true, false, false])
  }

  @Test func keepsAsManyRowsAsThereIsRoom() {
    var recorder = DenialRecorder()
    for index in 0..<10_000 { recorder.record(wall: "seccomp", operation: "ioctl", target: "\(index)") }
    #expect(recorder.denials.count == DenialRecorder.maxRows)
    #expect(recorder.dropped == 10_000 - DenialRecorder.maxRows)
    // A row that is there goes on counting.
    recorder.record(wall: "seccomp", operation: "ioctl", target: "0")
    #expect(recorder.denials.first?.count == 2)
    #expect(recorder.denials.map(\.target) == (0..<DenialRecorder.maxRows).map(String.init), "in their order")
    for index in 0..<5000 { recorder.record(wall: "files", operation: "openat", target: "/nosuch/\(index)") }
    recorder.record(wall: "limits", operation: "clone", target: "")
    #expect(recorder.denials.count == DenialRecorder.maxRows + DenialRecorder.maxFileRows + 1)
    #expect(recorder.denials.last?.operation == "clone", "each wall has room of its own")
  }
}

@Suite(.timeLimit(.minutes(1))) struct LogRecorderTests {
  @Test func keepsToItsLimit() {
    var recorder = LogRecorder(limit: 1000)
    for _ in 0..<10_000 { recorder.record(level: 3, subsystem: "s", category: "c", message: "0123456789") }
    #expect(recorder.lines.count == 1000 / 28)
    #expect(recorder.droppedBytes == (10_000 - 1000 / 28) * 12)
    #expect(recorder.droppedLines == 10_000 - 1000 / 28)
    #expect(recorder.lines.first == .init(level: "error", subsystem: "s", category: "c", message: "0123456789"))
  }

  @Test func emptyLinesTakeRoomToo() {
    var recorder = LogRecorder(limit: 160)
    for _ in 0..<1000 { recorder.record(level: 0, subsystem: "", category: "", message: "") }
    #expect(recorder.lines.count == 10)
    #expect(recorder.droppedLines == 990, "what had no bytes is missing all the same")
    #expect(recorder.droppedBytes == 0)
  }

  @Test(arguments: [
    (0, "debug"), (1, "info"), (2, "default"), (3, "error"), (4, "fault"), (5, "fault"), (255, "fault"),
  ])
  func levels(_ level: UInt8, _ name: String) {
    var recorder = LogRecorder(limit: 100)
    recorder.record(level: level, subsystem: "", category: "", message: "x")
    #expect(recorder.lines.map(\.level) == [name])
  }

  @Test func output() {
    var recorder = LogRecorder(limit: 1000)
    recorder.recordOutput(Array("one\n\ntwo\n".utf8) + [0xff, 0x41])
    recorder.finishOutput()
    #expect(recorder.lines.map(\.message) == ["one", "two", "\u{fffd}A"])
    #expect(recorder.lines.allSatisfy { $0.category == "output" && $0.level == "default" })
    recorder.recordOutput(Array(repeating: 0x41, count: 10_000))
    recorder.recordOutput(Array(repeating: 0x41, count: 10_000))
    recorder.finishOutput()
    #expect(recorder.droppedBytes == 20_000)
    #expect(recorder.droppedLines == 1)
  }

  /// However it was cut on its way, it is the same lines, and no character is torn.
  @Test func outputIsLinesWhereverItIsCut() {
    let bytes = Array("caf\u{e9} one line\nanother\n\nthe last".utf8)
    for cut in 0...bytes.count {
      for second in cut...bytes.count {
        var recorder = LogRecorder(limit: 1000)
        for part in [bytes[..<cut], bytes[cut..<second], bytes[second...]] { recorder.recordOutput(part) }
        recorder.finishOutput()
        #expect(recorder.lines.map(\.message) == ["caf\u{e9} one line", "another", "the last"])
      }
    }
  }
}

extension LogRecorder {
  fileprivate mutating func recordOutput(_ bytes: some ContiguousBytes) {
    bytes.withUnsafeBytes { recordOutput($0) }
  }
}
