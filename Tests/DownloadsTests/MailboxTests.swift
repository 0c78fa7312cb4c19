import AssetModel
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct MailboxTests {
  private static let bell = MemoryTransport.Bell()

  private static func ids(_ messages: [EngineMessage]) -> [Int64] {
    messages.map {
      guard case .request(.perform(.pause, let id)) = $0 else { return -1 }
      return id.number
    }
  }

  @Test func messagesComeInTheirOrderAndOnce() {
    let mailbox = Mailbox(Self.bell)
    for number in 1...100 { #expect(mailbox.post(.request(.perform(.pause, on: JobID(Int64(number)))))) }
    #expect(Self.ids(mailbox.take()) == Array(1...100))
    #expect(mailbox.take().isEmpty)
    mailbox.post(.request(.perform(.pause, on: JobID(101))))
    #expect(Self.ids(mailbox.close()) == [101])
    #expect(!mailbox.post(.request(.perform(.pause, on: JobID(102)))))
    #expect(mailbox.take().isEmpty && mailbox.close().isEmpty)
  }

  @Test func theFirstOfSeveralRings() {
    let bell = MemoryTransport.Bell()
    let mailbox = Mailbox(bell)
    mailbox.post(.request(.networkChanged))
    mailbox.post(.request(.networkChanged))
    #expect(bell.wait(atMost: .zero))
    #expect(!bell.wait(atMost: .zero))
    _ = mailbox.take()
    mailbox.post(.request(.networkChanged))
    #expect(bell.wait(atMost: .zero))
  }

  @Test func whoAsksIsAnsweredAlsoWhenTheEngineIsClosed() async throws {
    let mailbox = Mailbox(Self.bell)
    async let answer = mailbox.ask { .explain(JobID(1), $0) }
    var messages: [EngineMessage] = []
    while messages.isEmpty {
      await Task.yield()
      messages = mailbox.take()
    }
    guard case .request(.explain(_, let reply))? = messages.first else {
      Issue.record("something else was asked")
      return
    }
    reply.answer(nil)
    #expect(try await answer == nil)
    _ = mailbox.close()
    await #expect(throws: EngineClosed.self) { _ = try await mailbox.ask { .explain(JobID(1), $0) } }
  }

  /// There is one for each buffer that is written, and they are copied.
  @Test func aMessageIsSmall() {
    #expect(MemoryLayout<EngineMessage>.size <= 48)
    #expect(MemoryLayout<TransferAnswer>.size <= 32)
  }
}
