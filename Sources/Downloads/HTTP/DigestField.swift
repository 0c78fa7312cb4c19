internal import AssetModel
internal import Hashing
internal import RawStructuredFieldValues

/// `Repr-Digest` or `Content-Digest` (RFC 9530): a dictionary of byte sequences (RFC 8941).
struct DigestField: Sendable, Equatable {
  /// SHA-256 and SHA-512 only; every other algorithm is ignored.
  var known: [ContentDigest]

  private static let maxMembers = 16
  private static let maxParameters = 64
  private static let maxBytes = 4096

  /// nil where the field is absent or malformed. Several lines are one dictionary (RFC 8941, 4.2).
  init?(_ values: [String]) {
    guard !values.isEmpty, values.reduce(values.count, { $0 + $1.utf8.count }) <= Self.maxBytes else { return nil }
    let text = Array(values.joined(separator: ",").utf8)
    // The parser has no bounds of its own, and looks for a key among all before it. Separators within strings count, too.
    guard text.count(where: { $0 == UInt8(ascii: ",") }) < Self.maxMembers,
      text.count(where: { $0 == UInt8(ascii: ";") }) <= Self.maxParameters
    else { return nil }
    var parser = StructuredFieldValueParser(text)
    guard let members = try? parser.parseDictionaryFieldValue() else { return nil }
    known = []
    for (key, member) in members {
      guard case .item(let item) = member, case .undecodedByteSequence(let encoded) = item.rfc9651BareItem,
        let bytes = Base64.decode(encoded)
      else { return nil }
      guard let algorithm = ContentDigest.Algorithm(rawValue: key) else { continue }
      guard let digest = ContentDigest(algorithm, bytes: bytes) else { return nil }
      known.append(digest)
    }
  }

  /// The one to hold the file to: SHA-256 where there is a choice, because it is faster with hardware.
  var strongest: ContentDigest? { known.first { $0.algorithm == .sha256 } ?? known.first }
}
