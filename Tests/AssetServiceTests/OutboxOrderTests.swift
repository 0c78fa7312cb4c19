import ServiceProtocol
import Testing

@testable import AssetService

/// What waits for one client that reads slowly.
@Suite(.timeLimit(.minutes(2))) struct OutboxOrderTests {
  private static func progress(_ download: String, _ written: Int64) -> ServiceMessage {
    let value = DownloadValue(
      identifier: download, uniqueIdentifier: download, url: "https://example.com/\(download)",
      applicationGroupIdentifier: "group", fileSize: 100)
    return .notify(event: .progress(value, totalWritten: written, totalExpected: 100))
  }

  /// Everything that the client reads, in order.
  private static func read(_ outbox: inout Outbox) throws -> [ServiceMessage] {
    var assembler = FrameAssembler()
    var messages: [ServiceMessage] = []
    while let bytes = outbox.next() {
      assembler.append(bytes)
      outbox.sent(bytes.count)
    }
    while let frame = try assembler.next() { messages.append(try FrameCodec.decode(ServiceMessage.self, from: frame)) }
    return messages
  }

  @Test("Of a download's progress only the newest waits, and everything else goes before it [B41]")
  func progress() throws {
    var outbox = Outbox()
    let answer = ServiceMessage.reply(id: 1, reply: .done)
    for written in 1...1000 {
      outbox.setProgress(Self.progress("a", Int64(written)), of: "a")
      outbox.setProgress(Self.progress("b", Int64(2 * written)), of: "b")
      if written == 500 {
        let isTaken = outbox.append(try FrameCodec.encode(answer), isAnswer: true)
        #expect(isTaken)
      }
    }
    let read = try Self.read(&outbox)
    #expect(read == [answer, Self.progress("a", 1000), Self.progress("b", 2000)])
    #expect(outbox.isEmpty)
  }

  @Test("Progress of a download that is settled isn't told any more [B41]")
  func settled() throws {
    var outbox = Outbox()
    outbox.setProgress(Self.progress("a", 1), of: "a")
    outbox.dropProgress(of: "a")
    #expect(try Self.read(&outbox).isEmpty)
    #expect(outbox.isEmpty)
  }

  @Test("A frame that has gone in part is finished before progress, however much of it arrives meanwhile")
  func partial() throws {
    var outbox = Outbox()
    var assembler = FrameAssembler()
    outbox.setProgress(Self.progress("a", 1), of: "a")
    let next = outbox.next()
    let first = try #require(next)
    assembler.append(first.prefix(5))
    outbox.sent(5)
    outbox.setProgress(Self.progress("a", 2), of: "a")
    while let bytes = outbox.next() {
      assembler.append(bytes)
      outbox.sent(bytes.count)
    }
    var messages: [ServiceMessage] = []
    while let frame = try assembler.next() { messages.append(try FrameCodec.decode(ServiceMessage.self, from: frame)) }
    #expect(messages == [Self.progress("a", 1), Self.progress("a", 2)])
  }
}
