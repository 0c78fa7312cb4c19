internal import Sandbox

/// One question to a resolver, and its answer, as they are on the wire (RFC 1035). A pure value.
struct NameQuestion: Equatable {
  /// What is said of a name.
  enum Answer: Equatable {
    /// It has this address of version 4, and none of version 6.
    case address([UInt8])
    case unknown
  }

  /// Of one message; longer ones are no questions.
  static let maxBytes = 512
  private static let headerBytes = 12
  /// Types and the class of a record (RFC 1035, 3.2).
  private static let (typeA, classInternet) = (UInt16(1), UInt16(1))

  let id: UInt16
  /// In lower case, without the dot at its end; nil: no machine is called so.
  let name: String?
  let type: UInt16
  private let wantsRecursion: Bool
  /// As it is repeated in the answer.
  private let question: [UInt8]

  /// Reads a message. nil: it isn't one plain question of the class IN.
  init?(_ message: ArraySlice<UInt8>) {
    let bytes = Array(message)
    guard bytes.count > Self.headerBytes, bytes.count <= Self.maxBytes else { return nil }
    func word(_ index: Int) -> UInt16 { UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]) }
    // QR and OPCODE are 0; one question, no answers. Additional records, such as EDNS, aren't looked at.
    guard bytes[2] & 0xf8 == 0, word(4) == 1, word(6) == 0, word(8) == 0 else { return nil }
    var labels: [String] = []
    var next = Self.headerBytes
    while true {
      guard next < bytes.count else { return nil }
      let length = Int(bytes[next])
      // A pointer, in a question, leads nowhere but back.
      guard length < 64 else { return nil }
      next += 1
      if length == 0 { break }
      guard next + length <= bytes.count else { return nil }
      labels.append(String(decoding: bytes[next..<next + length], as: UTF8.self))
      next += length
    }
    guard next - Self.headerBytes <= 255, next + 4 <= bytes.count, word(next + 2) == Self.classInternet else {
      return nil
    }
    id = word(0)
    wantsRecursion = bytes[2] & 1 != 0
    type = word(next)
    question = Array(bytes[Self.headerBytes..<next + 4])
    let host = try? NetworkHost(labels.joined(separator: "."))
    name = host?.address == nil ? host?.text : nil
  }

  /// The message that says so. Nothing of it is to be kept.
  func reply(_ answer: Answer) -> [UInt8] {
    var isKnown = false
    var record: [UInt8] = []
    if case .address(let address) = answer {
      isKnown = true
      if type == Self.typeA, address.count == 4 {
        // The question's name, A, IN, 0 s, 4 bytes.
        record = [0xc0, UInt8(Self.headerBytes), 0, 1, 0, 1, 0, 0, 0, 0, 0, 4] + address
      }
    }
    // A response, with recursion as asked and available; NXDOMAIN where nothing has that name.
    let flags: [UInt8] = [0x80 | (wantsRecursion ? 1 : 0), 0x80 | (isKnown ? 0 : 3)]
    let counts: [UInt8] = [0, 1, 0, record.isEmpty ? 0 : 1, 0, 0, 0, 0]
    return [UInt8(id >> 8), UInt8(id & 0xff)] + flags + counts + question + record
  }
}
