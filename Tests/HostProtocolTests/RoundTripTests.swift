import Basics
import HostProtocol
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct RoundTripTests {
  private static let rounds = 500

  @Test func hostMessages() throws {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<Self.rounds {
      let message = random.hostMessage()
      #expect(try HostMessage(message.frame(id: 7)) == message)
    }
  }

  @Test func runnerMessages() throws {
    var random = SeededGenerator(seed: 2)
    for _ in 0..<Self.rounds {
      let message = random.runnerMessage()
      #expect(try RunnerMessage(message.frame(id: 7)) == message)
    }
  }

  @Test func serviceRequests() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<Self.rounds {
      let request = random.serviceRequest()
      #expect(try ServiceRequest(request.frame(id: request.expectsReply ? 7 : 0)) == request)
      #expect(throws: ProtocolViolation.self) { try ServiceRequest(request.frame(id: request.expectsReply ? 0 : 7)) }
    }
  }

  @Test func serviceReplies() throws {
    var random = SeededGenerator(seed: 4)
    for _ in 0..<Self.rounds {
      let reply = random.serviceReply()
      #expect(try ServiceReply(reply.frame(id: 7)) == reply)
    }
  }

  @Test func datagrams() throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<Self.rounds {
      let request = random.serverRequest()
      #expect(try ServerRequest(decoding: request.encoded()[...]) == request)
      let event = random.serverEvent()
      #expect(try ServerEvent(decoding: event.encoded()[...]) == event)
    }
  }

  @Test func notANumberKeepsItsBits() throws {
    let quiet = Double(bitPattern: 0x7ff8_0000_dead_beef)
    let message = HostMessage.call(
      .function(
        symbol: "f", signature: "f64(f64,f32)", arguments: [.double(quiet), .single(.nan), .double(-.infinity)]))
    let frame = message.frame(id: 1)
    #expect(try HostMessage(frame).frame(id: 1) == frame)
  }

  @Test(arguments: Codec.all) func everyByteCounts(_ codec: Codec) throws {
    var random = SeededGenerator(seed: 6)
    for _ in 0..<100 {
      let frame = codec.make(&random)
      #expect(try codec.again(frame) == frame)
      var longer = frame
      longer.payload.append(0)
      #expect(throws: ProtocolViolation.trailing(bytes: 1)) { try codec.again(longer) }
      for count in 0..<frame.payload.count {
        var shorter = frame
        shorter.payload = Array(frame.payload.prefix(count))
        #expect(throws: ProtocolViolation.self) { try codec.again(shorter) }
      }
    }
  }
}
