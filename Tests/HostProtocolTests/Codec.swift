import Basics
import HostProtocol
import TestSupport
import Testing

/// One decoder with its encoder. Every form on the wire has exactly one value and the other way round, so what is
/// accepted has to come out again byte for byte: nothing is skipped, defaulted or left over.
struct Codec: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// A valid message, as a frame. Datagrams have no header; they travel as the payload of one here.
  let make: @Sendable (inout SeededGenerator) -> Frame
  /// Decodes and encodes again; nil where the bytes are refused.
  let again: @Sendable (Frame) throws -> Frame

  static let all: [Codec] = [
    Codec(
      testDescription: "HostMessage", make: { $0.hostMessage().frame(id: $0.next()) },
      again: { try HostMessage($0).frame(id: $0.id) }),
    Codec(
      testDescription: "RunnerMessage", make: { $0.runnerMessage().frame(id: $0.next()) },
      again: { try RunnerMessage($0).frame(id: $0.id) }),
    Codec(
      testDescription: "ServiceRequest",
      make: {
        let request = $0.serviceRequest()
        return request.frame(id: request.expectsReply ? $0.next() | 1 : 0)
      },
      again: { try ServiceRequest($0).frame(id: $0.id) }),
    Codec(
      testDescription: "ServiceReply", make: { $0.serviceReply().frame(id: $0.next()) },
      again: { try ServiceReply($0).frame(id: $0.id) }),
    Codec(
      testDescription: "ServerRequest", make: { Frame(kind: 0, id: 0, payload: $0.serverRequest().encoded()) },
      again: { Frame(kind: $0.kind, id: $0.id, payload: try ServerRequest(decoding: $0.payload[...]).encoded()) }),
    Codec(
      testDescription: "ServerEvent", make: { Frame(kind: 0, id: 0, payload: $0.serverEvent().encoded()) },
      again: { Frame(kind: $0.kind, id: $0.id, payload: try ServerEvent(decoding: $0.payload[...]).encoded()) }),
  ]
}
