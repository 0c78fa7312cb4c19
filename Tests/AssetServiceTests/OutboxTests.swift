import ServiceProtocol
import Testing

@testable import AssetService

/// What waits for a client that has stopped reading.
@Suite(.timeLimit(.minutes(2))) struct OutboxTests {
  private static let kilobyte = [UInt8](repeating: 1, count: 1 << 10)

  private func progress(_ download: String, _ bytes: Int64) -> ServiceMessage {
    let value = DownloadValue(
      identifier: download, uniqueIdentifier: download, url: "https://example.com/", applicationGroupIdentifier: "g",
      fileSize: 100)
    return .notify(event: .progress(value, totalWritten: bytes, totalExpected: 100))
  }

  @Test("A client that never reads is cut off at a mebibyte of events, and at 64 of answers")
  func bounds() {
    var outbox = Outbox()
    var (events, answers) = (0, 0)
    while outbox.append(Self.kilobyte, isAnswer: false) { events += 1 }
    while outbox.append(Self.kilobyte, isAnswer: true), answers < 1 << 20 { answers += 1 }
    #expect(events == 1024 && answers == 0, "the connection has ended")
    outbox = Outbox()
    while outbox.append(Self.kilobyte, isAnswer: true) {
      answers += 1
      #expect(outbox.isHeldUp == (answers >= 256))
    }
    #expect(answers == 64 << 10)
  }

  @Test("What was read makes room again")
  func drains() {
    var outbox = Outbox()
    for _ in 0..<10_000 {
      guard outbox.append(Self.kilobyte, isAnswer: false), outbox.next()?.count == 1024 else {
        Issue.record("there is no room")
        return
      }
      outbox.sent(1000)
      outbox.sent(24)
    }
    let last = outbox.next()
    #expect(outbox.isEmpty && last == nil)
  }

  @Test("However long the client doesn't read, one progress of each download waits, the newest, behind everything else")
  func merges() throws {
    var outbox = Outbox()
    for bytes in 1...100_000 as ClosedRange<Int64> {
      outbox.setProgress(progress("a", bytes), of: "a")
      outbox.setProgress(progress("b", -bytes), of: "b")
    }
    let isTaken = outbox.append(try FrameCodec.encode(progress("first", 1)), isAnswer: true)
    outbox.setProgress(progress("c", 1), of: "c")
    outbox.dropProgress(of: "b")
    var assembler = FrameAssembler()
    while let bytes = outbox.next() {
      assembler.append(bytes)
      outbox.sent(bytes.count)
    }
    var messages: [ServiceMessage] = []
    while let frame = try assembler.next() { messages.append(try FrameCodec.decode(ServiceMessage.self, from: frame)) }
    #expect(isTaken && messages == [progress("first", 1), progress("a", 100_000), progress("c", 1)])
  }
}
