import Basics
import HostProtocol
import TestSupport
import Testing

/// Hostile bytes in quantity. A crash here is a crash of the host.
@Suite(.timeLimit(.minutes(1))) struct FuzzTests {
  private static let rounds = 20_000

  @Test(arguments: 0..<Codec.all.count) func survives(_ index: Int) throws {
    let codec = Codec.all[index]
    var random = SeededGenerator(seed: 100 + UInt64(index))
    var accepted = 0
    for round in 0..<Self.rounds {
      let bytes = Self.hostile(codec, &random)
      var assembler = FrameAssembler(longestPayload: 4096)
      let split = random.below(bytes.count + 1)
      do {
        assembler.append(bytes[..<split])
        if try assembler.next() == nil { assembler.append(bytes[split...]) }
        while let frame = try assembler.next() { accepted += try Self.decode(frame, round) }
      } catch let violation as ProtocolViolation {
        // The refusal is the expected end; another kind of error is none.
        _ = violation
      }
    }
    // Were everything refused early, nothing would have been tried.
    #expect(accepted > Self.rounds / 50)
  }

  /// Every decoder looks at every frame. Counts those that take it.
  private static func decode(_ frame: Frame, _ round: Int) throws -> Int {
    var count = 0
    for codec in Codec.all {
      do {
        let again = try codec.again(frame)
        count += 1
        // Not #expect for each: a hundred thousand expectations take longer than the rest.
        if again != frame { Issue.record("round \(round): \(codec.testDescription) took \(frame) for \(again)") }
      } catch is ProtocolViolation {}
    }
    return count
  }

  private static func hostile(_ codec: Codec, _ random: inout SeededGenerator) -> [UInt8] {
    var frame = codec.make(&random)
    switch random.below(8) {
    case 0:
      // Nothing but noise.
      return (0..<random.below(64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    case 1:
      // Noise in an honest frame.
      frame.payload = (0..<random.below(96)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      return frame.encoded()
    case 2:
      frame.kind = UInt8(truncatingIfNeeded: random.next())
      return frame.encoded()
    case 3:
      frame.payload = Array(frame.payload.prefix(random.below(frame.payload.count + 1)))
      return frame.encoded()
    case 4:
      // A count that lies, inside a frame whose length is right.
      if frame.payload.count >= 4 { overwrite(&frame.payload, at: random.below(frame.payload.count - 3), &random) }
      return frame.encoded()
    case 5:
      var bytes = frame.encoded()
      overwrite(&bytes, at: random.below(bytes.count - 3), &random)
      return bytes
    case 6:
      for _ in 0...random.below(3) where !frame.payload.isEmpty {
        frame.payload[random.below(frame.payload.count)] ^= 1 << UInt8(random.below(8))
      }
      return frame.encoded()
    default:
      return frame.encoded() + codec.make(&random).encoded()
    }
  }

  private static func overwrite(_ bytes: inout [UInt8], at offset: Int, _ random: inout SeededGenerator) {
    let lies: [UInt32] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0x8000_0000, .max, .max - 15, UInt32(bytes.count)]
    let lie = lies[random.below(lies.count)]
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: lie >> UInt32(8 * index)) }
  }
}
