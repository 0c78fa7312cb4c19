import Basics
import Glibc
import HostProtocol
import Testing

@testable import RunnerKit

/// What is taken for zero is zero, whatever was put there, and whichever thread asked while it was cleared.
@Suite(.timeLimit(.minutes(1))) struct ClearedAreaTests {
  @Test(
    "random calls, with buffers of every length, some of them interrupted while they are cleared", arguments: 0..<50)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let size = 1 << 20
    let answers = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    defer { answers.deallocate() }
    memset(answers, 0xff, size)
    let area = ClearedArea()
    for _ in 0..<200 {
      var room = AreaRoom(capacity: size)
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        guard let place = room.place(Int.random(in: 4096...(300 << 10), using: &random)) else { break }
        if area.isZero(place) {
          let bytes = UnsafeRawBufferPointer(start: answers + place.offset, count: place.count)
          #expect(bytes.allSatisfy { $0 == 0 })
        }
        area.put(place)
        memset(answers + place.offset, 0xff, place.count)
      }
      let payload = Int.random(in: 0...10, using: &random) == 0 ? Int.random(in: 0..<size, using: &random) : 100
      memset(answers, 0xff, payload)
      area.put(payload: payload)
      let isWorthIt = area.callEnded()
      var looks = Int.random(in: 0...12, using: &random)
      if isWorthIt, Bool.random(using: &random) {
        _ = area.clear(answers) {
          looks -= 1
          return looks < 0
        }
      }
    }
  }

  @Test("a long buffer is cleared and taken for zero, and a short one isn't worth it") func worth() {
    let answers = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { answers.deallocate() }
    let area = ClearedArea()
    let long = PlacedData(offset: PlacedData.payloadRoom, count: 512 << 10)
    area.put(PlacedData(offset: PlacedData.payloadRoom, count: 4096))
    #expect(!area.callEnded())
    area.put(long)
    #expect(area.callEnded() && !area.isZero(long))
    #expect(area.clear(answers) { false } && area.isZero(long))
    area.put(long)
    #expect(area.callEnded() && !area.isZero(long))
  }
}
