internal import AssetModel
internal import Hashing

/// A running digest over a file's bytes, in order.
struct StreamDigest {
  private var hash: RunningHash
  private(set) var position: Int64 = 0

  init(_ algorithm: ContentDigest.Algorithm) {
    hash = RunningHash(algorithm.function)
  }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    hash.update(bytes)
    position += Int64(bytes.count)
  }

  /// For messages: which digest it is, and which one was expected; nil: all are as expected.
  static func difference(of digests: [StreamDigest], from expected: [ContentDigest]) -> String? {
    for (digest, expected) in zip(digests, expected) {
      let received = digest.bytes
      guard received != expected.bytes, let received = ContentDigest(expected.algorithm, bytes: received) else {
        continue
      }
      return "\(expected.algorithm.rawValue) is \(received.hex), expected was \(expected.hex)"
    }
    return nil
  }

  /// Of what came until now.
  var bytes: [UInt8] { hash.digest }
}

/// What a server says of the bytes of one answer (`Content-Digest`, RFC 9530), beside those that came.
///
/// @unchecked Sendable: takes bytes in the job's lane, and is asked when nothing is left there.
final class ContentCheck: @unchecked Sendable {
  /// Where the first byte of the answer belongs in the file.
  let start: Int64
  private let expected: [ContentDigest]
  private var digests: [StreamDigest]

  /// nil: nothing is said that can be checked.
  init?(_ head: ResponseHead, from start: Int64) {
    guard let known = DigestField(head.values("content-digest"))?.known, !known.isEmpty else { return nil }
    self.start = start
    expected = known
    digests = known.map { StreamDigest($0.algorithm) }
  }

  func take(_ bytes: UnsafeRawBufferPointer) {
    for index in digests.indices { digests[index].update(bytes) }
  }

  /// Whether all of the answer is what was meant.
  var isRight: Bool { difference == nil }

  /// The first digest that isn't the expected one, and that one; nil: all are.
  var difference: String? { StreamDigest.difference(of: digests, from: expected) }
}

/// The digests of one staging file, computed beside its transfer.
///
/// @unchecked Sendable: touched in the job's hashing lane only; `difference` when nothing is left there.
final class FileHasher: @unchecked Sendable {
  /// All of them have to hold.
  let expected: [ContentDigest]
  private var digests: [StreamDigest]
  private let file: StagingFile
  /// What `matches` found, for messages.
  private(set) var difference: String?

  init(expected: [ContentDigest], file: StagingFile) {
    self.expected = expected
    self.file = file
    digests = expected.map { StreamDigest($0.algorithm) }
  }

  private var position: Int64 { digests.first?.position ?? 0 }

  private func update(_ bytes: UnsafeRawBufferPointer) {
    for index in digests.indices { digests[index].update(bytes) }
  }

  /// Takes a buffer that is next, from memory; what lies before it is read from the file.
  func take(_ buffer: TransferBuffer) throws {
    try catchUp(to: buffer.offset)
    if position == buffer.offset { update(buffer.bytes) }
  }

  private func catchUp(to offset: Int64) throws {
    guard position < offset else { return }
    try file.read(position..<offset) { update($0) }
  }

  func matches(size: Int64) throws -> Bool {
    try catchUp(to: size)
    difference = StreamDigest.difference(of: digests, from: expected)
    return position == size && difference == nil
  }
}
