import Basics
import HostProtocol
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct FrameTests {
  private func header(
    magic: UInt16 = Frame.magic, version: UInt8 = Frame.version, kind: UInt8 = 1, length: UInt32, id: UInt64 = 0
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.integer(magic)
    writer.integer(version)
    writer.integer(kind)
    writer.integer(length)
    writer.integer(id)
    return writer.bytes
  }

  private func next(_ bytes: [UInt8], longest: Int = Frame.longestPayload) throws -> Frame? {
    var assembler = FrameAssembler(longestPayload: longest)
    assembler.append(bytes)
    return try assembler.next()
  }

  @Test func hasTheDocumentedForm() {
    let bytes = Frame(kind: 3, id: 0x0102_0304_0506_0708, payload: [9]).encoded()
    #expect(bytes == [0x6f, 0x52, 1, 3, 1, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 9])
  }

  @Test func liesAreRefusedWithTheHeader() {
    #expect(throws: ProtocolViolation.frameTooLong(length: .max, limit: Frame.longestPayload)) {
      try next(header(length: .max))
    }
    #expect(throws: ProtocolViolation.frameTooLong(length: 17, limit: 16)) { try next(header(length: 17), longest: 16) }
    #expect(throws: ProtocolViolation.badMagic(0x4f52)) { try next(header(magic: 0x4f52, length: 0)) }
    #expect(throws: ProtocolViolation.badVersion(2)) { try next(header(version: 2, length: 0)) }
  }

  @Test func waitsForTheRest() throws {
    let bytes = Frame(kind: 1, id: 2, payload: [1, 2, 3]).encoded()
    for count in 0..<bytes.count { #expect(try next(Array(bytes.prefix(count))) == nil) }
    #expect(try next(bytes)?.payload == [1, 2, 3])
    #expect(try next(header(length: 16), longest: 16) == nil)
    #expect(try next(header(length: 0)) == Frame(kind: 1, id: 0, payload: []))
  }

  /// Counts of 4 GiB inside a payload that isn't.
  @Test func countsAreCheckedAgainstWhatIsThere() {
    let huge: [UInt8] = [0xff, 0xff, 0xff, 0xff]
    for kind in [64, 65, 66, 68, 69] as [UInt8] {
      #expect(throws: ProtocolViolation.self) { try RunnerMessage(Frame(kind: kind, id: 0, payload: huge + [0, 0])) }
    }
    #expect(throws: ProtocolViolation.tooMany(elements: .max)) {
      try RunnerMessage(Frame(kind: 64, id: 0, payload: huge))
    }
    #expect(throws: ProtocolViolation.truncated(wanted: 0xffff_ffff, left: 0)) {
      try RunnerMessage(Frame(kind: 66, id: 0, payload: huge))
    }
    #expect(throws: ProtocolViolation.self) { try ServiceRequest(Frame(kind: 130, id: 1, payload: huge + [0])) }
    #expect(throws: ProtocolViolation.self) { try SpawnRequest(decoding: ([0, 0, 0, 0, 0, 0, 0, 0] + huge)[...]) }
  }

  @Test(
    arguments: [
      ([2, 0, 0, 0, 0xc3, 0x28], .notUTF8), ([3, 0, 0, 0, 0xed, 0xa0, 0x80], .notUTF8),
      ([2, 0, 0, 0, 0xc0, 0x80], .notUTF8),
      ([0, 0, 0, 0, 0], .trailing(bytes: 1)), ([0, 0, 0], .truncated(wanted: 4, left: 3)),
    ] as [([UInt8], ProtocolViolation)])
  func textIsUTF8(_ payload: [UInt8], _ violation: ProtocolViolation) {
    #expect(throws: violation) { try RunnerMessage(Frame(kind: 66, id: 0, payload: payload)) }
  }

  @Test func cutsAStreamTheSameWhereverItIsSplit() throws {
    var random = SeededGenerator(seed: 10)
    for _ in 0..<200 {
      let frames = (0..<random.below(8)).map { _ in Codec.all[random.below(4)].make(&random) }
      var rest = frames.flatMap { $0.encoded() }[...]
      var assembler = FrameAssembler()
      var found: [Frame] = []
      while !rest.isEmpty {
        let count = min(rest.count, 1 + random.below(40))
        assembler.append(rest.prefix(count))
        rest = rest.dropFirst(count)
        while let frame = try assembler.next() { found.append(frame) }
      }
      #expect(found == frames)
      #expect(assembler.pending == 0)
    }
  }
}
