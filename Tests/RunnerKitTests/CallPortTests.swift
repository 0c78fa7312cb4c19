import Basics
import CLinux
import Foundation
import Glibc
import HostProtocol
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import RunnerKit

/// The plugin can write to the memory in which the host asks.
@Suite(.timeLimit(.minutes(1))) struct CallPortTests {
  private let memory: CallMemory

  init() throws {
    var number: Int32 = -1
    try check("memfd_create", "memory for calls") { ol_region_create(Int(OL_REGION_BYTES), &number) }
    let region = OwnedDescriptor(taking: number)
    memory = try CallMemory(mapping: region.number)
  }

  private func ask(
    place: UInt32 = UInt32(OL_IN_MEMORY), kind: UInt32, _ payload: [UInt8], length: UInt32? = nil, room: UInt32 = 0,
    function: UInt32 = 0
  ) {
    payload.withUnsafeBytes { bytes in
      if let from = bytes.baseAddress { memory.questions.copyMemory(from: from, byteCount: bytes.count) }
    }
    let next = ol_region_load(ol_question_word(memory.words)) &+ 1
    ol_ask(
      memory.words,
      ol_question(
        sequence: next, place: place, kind: kind, length: length ?? UInt32(payload.count), id: 7, room: room,
        spin_limit: 0,
        host_waits: 0, host_processor: 0, taken: next &- 1, function: function, bell: next))
  }

  /// The next one, where it lies in the memory; nil where it is elsewhere.
  @discardableResult private static func question(
    _ port: inout CallPort
  ) throws(ProtocolViolation) -> CallPort.Question? {
    guard case .inMemory(let question) = try port.next() else { return nil }
    return try port.question(question)
  }

  private let call = PlacedCall(
    symbol: "abs", signature: "i32(i32)", arguments: [.value(.signed(-5))])

  @Test("A question that is one is taken, and the next one after it") func questions() throws {
    var port = CallPort(memory)
    for _ in 0..<3 {
      ask(kind: UInt32(PlacedCall.kind), call.payload)
      guard case .function(let taken, let id, nil) = try Self.question(&port) else { throw Unexpected() }
      #expect(taken == call && id == 7)
      ask(place: UInt32(OL_ON_SOCKET), kind: 0, [])
      guard case .onSocket = try port.next() else { throw Unexpected() }
    }
  }

  @Test("What the plugin made of a question is named as such, and never taken for the host's end")
  func nonsense() {
    let kind = UInt32(PlacedCall.kind)
    let whole = call.payload
    var random = SeededGenerator(seed: 20_261_125)
    var asked: [(UInt32, UInt32, [UInt8], UInt32?)] = [
      (3, kind, whole, nil), (7, kind, whole, nil), (.max, 0, [], nil), (0, 256, whole, nil), (0, .max, [], nil),
      (0, kind, whole, UInt32(CallMemory.area) + 1), (0, kind, whole, .max), (0, kind, [], nil),
    ]
    asked += whole.indices.map { (0, kind, Array(whole.prefix($0)), nil) }
    asked += (0..<64).map { _ in (UInt32(truncatingIfNeeded: random.next()) | 4, 5, whole, nil) }
    var port = CallPort(memory)
    for (place, kind, payload, length) in asked {
      ask(place: place, kind: kind, payload, length: length)
      #expect(throws: ProtocolViolation.self, "\(place) \(kind) \(payload.count) \(String(describing: length))") {
        try Self.question(&port)
      }
    }
  }

  @Test("Words are taken as they are asked, and no more of them or for another place than there are") func words()
    throws
  {
    var port = CallPort(memory)
    for (count, place) in [(0, 0), (1, 63), (8, 5)] as [(UInt32, UInt32)] {
      for index in 0..<count { ol_put_word(memory.words, index, UInt64(index) + 100) }
      ask(place: UInt32(OL_IN_WORDS), kind: 0, [], length: count, function: place)
      guard case .words(Int(place), Int(count), 7) = try port.next() else { throw Unexpected() }
      #expect((0..<Int(count)).map { port.words[$0] } == (0..<UInt64(count)).map { $0 + 100 })
    }
    for (count, place) in [(9, 0), (.max, 0), (0, 64), (1, .max)] as [(UInt32, UInt32)] {
      ask(place: UInt32(OL_IN_WORDS), kind: 0, [], length: count, function: place)
      #expect(throws: ProtocolViolation.self) { try port.next() }
    }
    ask(kind: UInt32(PlacedCall.kind), call.payload, function: 65)
    #expect(throws: ProtocolViolation.self) { try Self.question(&port) }
    ask(kind: UInt32(PlacedCall.kind), call.payload, function: 64)
    guard case .function(call, 7, 63) = try Self.question(&port) else { throw Unexpected() }
  }

  @Test("An answer says whether something was sent on a socket since the last one, and where it was given")
  func sentBefore() throws {
    let (mine, theirs) = try Sockets.pair(stream: true)
    defer {
      close(mine)
      close(theirs)
    }
    let channel = Channel(mine)
    var port = CallPort(memory)
    var said: [Bool] = []
    for isSent in [false, true, false, false, true, true] {
      var hasSent = true
      // Other tests of this process send as well, and one may between the two: what nobody has sent is said once at least.
      for _ in 0..<(isSent ? 1 : 1000) where hasSent {
        ask(kind: UInt32(PlacedCall.kind), call.payload, room: 4096)
        _ = try port.next()
        _ = Channel.hasSent.exchange(false, ordering: .acquiringAndReleasing)
        if isSent { _ = channel.send(RunnerMessage.answered.frame(id: 0)) }
        let isPlaced = port.answer(PlacedAnswer(value: .signed(5), out: []), id: 7, on: channel)
        #expect(isPlaced)
        hasSent = ol_read_answer(memory.words).has_sent != 0
      }
      said.append(hasSent)
      #expect((1...Int(sysconf(Int32(_SC_NPROCESSORS_CONF)))).contains(Int(ol_runner_processor(memory.words))))
    }
    #expect(said == [false, true, false, false, true, true])
  }

  /// A runner's thread that waits for the next question.
  private func waiting(_ body: (WaitingRunner) throws -> Void) throws {
    let runner = WaitingRunner(memory)
    let thread = Thread { runner.wait() }
    thread.start()
    try body(runner)
    #expect(becomes { runner.taken != nil })
  }

  @Test("A runner that sleeps spins for a question that was announced, and sleeps again where none comes")
  func announcement() throws {
    let words = memory.words
    let waits = ol_runner_waits(words)
    try waiting { runner in
      #expect(becomes { ol_region_load(waits) == UInt32(OL_WAITS_FOR_WORD) })
      for _ in 0..<20 {
        // From no processor that there is.
        ol_announce(words, .max, ol_region_load(ol_bell(words)) &+ 1)
        ol_region_store(waits, 99)
        ol_region_wake(ol_bell(words))
        #expect(becomes { ol_region_load(waits) == UInt32(OL_WAITS_FOR_WORD) })
        #expect(runner.taken == nil)
      }
      ask(place: UInt32(OL_IN_WORDS), kind: 0, [], length: 0, function: 9)
      ol_region_wake(ol_bell(words))
      #expect(becomes { runner.taken == 9 })
    }
  }

  private struct Unexpected: Error {}
}

private final class WaitingRunner: Sendable {
  nonisolated(unsafe) private let memory: CallMemory
  private let found = Mutex<Int?>(nil)

  init(_ memory: CallMemory) { self.memory = memory }

  var taken: Int? { found.withLock { $0 } }

  func wait() {
    var port = CallPort(memory)
    if case .words(let place, _, _) = try? port.next() { found.withLock { $0 = place } }
  }
}
