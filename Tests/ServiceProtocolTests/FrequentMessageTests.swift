import Basics
import Foundation
import ServiceProtocol
import TestSupport
import Testing

/// What is written and read directly is the JSON that Foundation writes and reads.
@Suite(.timeLimit(.minutes(2))) struct FrequentMessageTests {
  @Test("Foundation reads what is written directly, and the other way round", arguments: 1...20 as ClosedRange<UInt64>)
  func sameJSON(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<100 {
      let request = Self.request(&random)
      #expect(try JSONDecoder().decode(ClientMessage.self, from: Self.payload(request)) == request)
      #expect(try FrameCodec.decode(ClientMessage.self, from: Self.payload(request)[...]) == request)
      #expect(try FrameCodec.decode(ClientMessage.self, from: Array(JSONEncoder().encode(request))[...]) == request)
      let message = Self.message(&random)
      #expect(try JSONDecoder().decode(ServiceMessage.self, from: Self.payload(message)) == message)
      #expect(try FrameCodec.decode(ServiceMessage.self, from: Self.payload(message)[...]) == message)
      #expect(try FrameCodec.decode(ServiceMessage.self, from: Array(JSONEncoder().encode(message))[...]) == message)
    }
  }

  @Test("What was mutated is read as Foundation reads it, or not at all", arguments: 1...20 as ClosedRange<UInt64>)
  func sameVerdicts(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let alphabet = Array(#"{}[]",:\|pbu0019-.eE "#.utf8) + [0, 0x1F, 0x7F, 0x80, 0xC3, 0xE2, 0xFF]
    func mutated(_ payload: Data) -> [UInt8] {
      var bytes = Array(payload)
      for _ in 0...random.below(3) where !bytes.isEmpty {
        let place = random.below(bytes.count)
        switch random.below(3) {
        case 0: bytes[place] = alphabet[random.below(alphabet.count)]
        case 1: bytes.insert(alphabet[random.below(alphabet.count)], at: place)
        default: bytes.remove(at: place)
        }
      }
      return bytes
    }
    for _ in 0..<300 {
      let request = mutated(try Self.payload(Self.request(&random)))
      #expect(
        (try? FrameCodec.decode(ClientMessage.self, from: request[...]))
          == (try? JSONDecoder().decode(ClientMessage.self, from: Data(request))), "\(request)")
      let message = mutated(try Self.payload(Self.message(&random)))
      #expect(
        (try? FrameCodec.decode(ServiceMessage.self, from: message[...]))
          == (try? JSONDecoder().decode(ServiceMessage.self, from: Data(message))), "\(message)")
    }
  }

  /// Without the length.
  private static func payload(_ message: some Encodable) throws -> Data {
    Data(try FrameCodec.encode(message).dropFirst(4))
  }

  private static func request(_ random: inout SeededGenerator) -> ClientMessage {
    let id = random.chance(3) ? random.next() : UInt64(random.below(100))
    return switch random.below(4) {
    case 0: .request(id: id, request: .currentDownloads)
    case 1: .request(id: id, request: .schedule(download: download(&random)))
    case 2: .request(id: id, request: .startForeground(download: download(&random)))
    default: .request(id: id, request: .downloads(app: text(&random)))
    }
  }

  private static func message(_ random: inout SeededGenerator) -> ServiceMessage {
    let id = random.chance(3) ? random.next() : UInt64(random.below(100))
    return switch random.below(5) {
    case 0: .reply(id: id, reply: .done)
    case 1: .reply(id: id, reply: .downloads((0..<random.below(4)).map { _ in download(&random) }))
    case 2: .part(id: id, reply: .downloads((0..<random.below(4)).map { _ in download(&random) }))
    case 3:
      .notify(
        event: .progress(
          download(&random), totalWritten: random.chance(2) ? -1 : Int64(truncatingIfNeeded: random.next()),
          totalExpected: random.chance(5) ? .min : 12))
    default: .failure(id: id, failure: .framework(55, text(&random)))
    }
  }

  private static func download(_ random: inout SeededGenerator) -> DownloadValue {
    DownloadValue(
      identifier: text(&random), uniqueIdentifier: text(&random), url: text(&random),
      httpHeaders: random.chance(2) ? [:] : [text(&random): text(&random)],
      httpBody: random.chance(3) ? Data(text(&random).utf8) : nil, applicationGroupIdentifier: text(&random),
      fileSize: random.chance(2) ? nil : Int64(truncatingIfNeeded: random.next()), isEssential: random.chance(2),
      priority: random.below(200) - 100, isManifest: random.chance(2), state: random.below(5) - 1)
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    let scalars: [Unicode.Scalar] = [
      "a", "Z", "0", "|", "\\", "\"", "/", "\n", "\r", "\t", "\0", "\u{1F}", "\u{7F}", "é", "\u{2028}", "\u{1F600}",
    ]
    var text = ""
    for _ in 0..<random.below(12) { text.unicodeScalars.append(scalars[random.below(scalars.count)]) }
    return text
  }
}
