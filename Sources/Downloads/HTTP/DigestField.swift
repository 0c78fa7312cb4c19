internal import AssetModel

/// `Repr-Digest` or `Content-Digest` (RFC 9530): a dictionary of byte sequences (RFC 8941).
struct DigestField: Sendable, Equatable {
  /// SHA-256 and SHA-512 only; every other algorithm is ignored.
  var known: [ContentDigest]

  private static let maxMembers = 16
  private static let maxBytes = 4096

  /// nil where the field is absent or malformed. Several lines are one dictionary (RFC 8941, 4.2).
  init?(_ values: [String]) {
    guard !values.isEmpty, values.reduce(values.count, { $0 + $1.utf8.count }) <= Self.maxBytes,
      let members = StructuredField.byteSequences(values.joined(separator: ","), atMost: Self.maxMembers)
    else { return nil }
    known = []
    for member in members {
      guard let algorithm = ContentDigest.Algorithm(rawValue: member.key) else { continue }
      guard let digest = ContentDigest(algorithm, bytes: member.bytes) else { return nil }
      known.append(digest)
    }
  }

  /// The one to hold the file to: SHA-256 where there is a choice, because it is faster with hardware.
  var strongest: ContentDigest? { known.first { $0.algorithm == .sha256 } ?? known.first }
}
