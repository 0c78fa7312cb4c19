internal import AssetModel

/// `Repr-Digest` or `Content-Digest` (RFC 9530): a dictionary of byte sequences (RFC 8941).
struct DigestField: Equatable {
  /// SHA-256 and SHA-512 only; every other algorithm is ignored.
  var known: [ContentDigest]

  private static let mostMembers = 16

  /// nil where the field is absent or malformed.
  init?(_ values: [String]) {
    known = []
    let text = values.joined(separator: ",")
    guard !text.isEmpty, text.utf8.count <= 4096 else { return nil }
    let members = text.split(separator: ",", omittingEmptySubsequences: false)
    guard members.count <= Self.mostMembers else { return nil }
    for member in members {
      let blanks: Set<Character> = [" ", "\t"]
      let trimmed = String(member.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
      guard let equals = trimmed.firstIndex(of: "=") else { return nil }
      let name = trimmed[..<equals]
      let value = trimmed[trimmed.index(after: equals)...]
      guard value.first == ":", let end = value.dropFirst().firstIndex(of: ":"),
        let bytes = Base64.decode(value[value.index(after: value.startIndex)..<end])
      else { return nil }
      guard let algorithm = ContentDigest.Algorithm(rawValue: String(name)) else { continue }
      guard let digest = ContentDigest(algorithm, bytes: bytes) else { return nil }
      // A key that comes twice: the last one counts.
      known.removeAll { $0.algorithm == algorithm }
      known.append(digest)
    }
  }

  /// The one to hold the file to: SHA-256 where there is a choice, because it is faster with hardware.
  var strongest: ContentDigest? { known.first { $0.algorithm == .sha256 } ?? known.first }
}

/// RFC 4648, 4, strict.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      let number = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
      for index in 0..<4 {
        text.append(index <= group.count ? alphabet[Int(number >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var digits = Array(text.utf8)
    guard digits.count % 4 == 0 else { return nil }
    var padding = 0
    while padding < 2, digits.last == UInt8(ascii: "=") {
      digits.removeLast()
      padding += 1
    }
    var bytes: [UInt8] = []
    var number: UInt32 = 0
    for (index, digit) in digits.enumerated() {
      guard let value = alphabet.firstIndex(of: digit) else { return nil }
      number = number << 6 | UInt32(value)
      if index % 4 == 3 {
        bytes += [UInt8(truncatingIfNeeded: number >> 16), UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
        number = 0
      }
    }
    switch digits.count % 4 {
    case 0: return padding == 0 ? bytes : nil
    case 2: return bytes + [UInt8(truncatingIfNeeded: number >> 4)]
    case 3: return bytes + [UInt8(truncatingIfNeeded: number >> 10), UInt8(truncatingIfNeeded: number >> 2)]
    default: return nil
    }
  }
}
