import Basics
import Foundation
import Testing

@testable import HostProtocol

@Suite(.timeLimit(.minutes(1))) struct PlacedDataTests {
  private static let area = 1 << 16

  @Test func callsComeBack() throws {
    var room = AreaRoom(capacity: Self.area)
    let long = [UInt8](repeating: 1, count: PlacedData.shortest)
    let values: [CallValue] = [.signed(-5), .bytes(long), .cstring(nil), .bytes([1, 2]), .cstring(long), .double(2)]
    let call = try #require(PlacedCall(symbol: "f", signature: "void()", placing: values, in: &room))
    #expect(try PlacedCall(payload: call.payload, area: Self.area) == call)
    let places = call.arguments.compactMap { if case .placed(let place) = $0 { place } else { nil } }
    #expect(places.map(\.count) == [long.count, long.count])
    // Apart, with room for a NUL, and where a library may expect any type to lie.
    #expect(places[0].offset == PlacedData.payloadRoom && places[0].offset + long.count < places[1].offset)
    #expect(places.allSatisfy { $0.offset % 16 == 0 })
    #expect(
      PlacedCall(
        symbol: "f", signature: "void()", placing: [.bytes([UInt8](repeating: 0, count: Self.area))], in: &room) == nil)
  }

  /// What isn't placed is as ever.
  @Test func shortCallsAreOrdinaryFrames() throws {
    let message = HostMessage.call(.function(symbol: "abs", signature: "i32(i32)", arguments: [.signed(-5)]))
    let frame = message.frame(id: 2)
    var room = AreaRoom(capacity: Self.area)
    let call = try #require(PlacedCall(symbol: "abs", signature: "i32(i32)", placing: [.signed(-5)], in: &room))
    #expect(frame.kind == PlacedCall.kind && frame.payload == call.payload && room.isEmpty)
  }

  @Test func answersAreCopied() throws {
    let memory = [UInt8](repeating: 9, count: Self.area)
    let answer = PlacedAnswer(
      value: .signed(1), out: [.bytes([1]), .placed(PlacedData(offset: 32, count: 5000)), .bytes([])])
    let frame = Frame(kind: RunnerMessage.returnedKind, id: 1, payload: answer.payload)
    let message = try memory.withUnsafeBytes { try RunnerMessage(frame, area: $0) }
    #expect(message == .returned(CallResult(value: .signed(1), out: [[1], [UInt8](repeating: 9, count: 5000), []])))
    // On a socket there is no such thing.
    #expect(throws: ProtocolViolation.self) { try RunnerMessage(frame) }
  }

  @Test("data lies within the memory, and all of it together is no longer", arguments: [0, 1, 2])
  func isBounded(which: Int) {
    let memory = [UInt8](repeating: 9, count: Self.area)
    let places: [PlacedData] =
      switch which {
      case 0: [PlacedData(offset: Self.area - 8, count: 9)]
      case 1: [PlacedData(offset: 1 << 31, count: 1)]
      default: Array(repeating: PlacedData(offset: 0, count: Self.area / 2 + 1), count: 1000)
      }
    let answer = PlacedAnswer(value: .void, out: places.map { .placed($0) })
    let frame = Frame(kind: RunnerMessage.returnedKind, id: 1, payload: answer.payload)
    #expect(throws: ProtocolViolation.self) { try memory.withUnsafeBytes { try RunnerMessage(frame, area: $0) } }
  }

  @Test("whatever a runner finds in the memory, it reads no further", arguments: 0..<20 as Range<UInt64>)
  func noise(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var room = AreaRoom(capacity: Self.area)
    let long = CallValue.bytes([UInt8](repeating: 1, count: 5000))
    let sound = try #require(PlacedCall(symbol: "f", signature: "i32()", placing: [long, .signed(1)], in: &room))
      .payload
    for _ in 0..<2000 {
      var bytes = sound
      for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      guard let call = try? PlacedCall(payload: bytes, area: Self.area) else { continue }
      for case .placed(let place) in call.arguments {
        #expect(place.offset >= 0 && place.count >= 0 && place.offset + place.count <= Self.area)
      }
    }
  }
}
