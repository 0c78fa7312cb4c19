internal import Basics

/// A digest of a whole file or of one chunk. Only SHA-256 and SHA-512 count; older algorithms are never believed.
public struct ContentDigest: Sendable, Hashable {
  /// The two algorithms of RFC 9530 that are neither broken nor rare.
  public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// Bytes of a digest: 32 or 64.
    public var byteCount: Int { self == .sha256 ? 32 : 64 }
  }

  /// What made `bytes`.
  public let algorithm: Algorithm
  /// `algorithm.byteCount` bytes.
  public let bytes: [UInt8]

  /// nil when the number of bytes isn't the algorithm's.
  public init?(_ algorithm: Algorithm, bytes: [UInt8]) {
    guard bytes.count == algorithm.byteCount else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Reads hexadecimal digits; their number (64 or 128) says which algorithm is meant.
  public init?(hex: some StringProtocol) {
    guard let bytes = Hexadecimal.bytes(hex) else { return nil }
    guard let algorithm = Algorithm.allCases.first(where: { $0.byteCount == bytes.count }) else { return nil }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// `bytes` in lower-case hexadecimal digits.
  public var hex: String { Hexadecimal.text(bytes) }
}

/// The SHA-256 digests of a file's chunks, in order: what lets parts be verified, repaired and fetched side by side.
public struct ChunkList: Sendable, Hashable {
  /// Bytes of a chunk where nothing else is said: 4 MiB.
  public static let usualChunkSize: Int64 = 4 << 20

  /// Bytes of every chunk but the last; a power of two from 64 KiB to 64 MiB.
  public let chunkSize: Int64
  /// Bytes of the whole file.
  public let totalSize: Int64
  /// One digest of 32 bytes after another.
  public let digests: [UInt8]

  /// nil when the digests don't cover `totalSize` exactly, or a number is outside its range.
  public init?(chunkSize: Int64, totalSize: Int64, digests: [UInt8]) {
    guard (64 << 10...64 << 20).contains(chunkSize), chunkSize & (chunkSize - 1) == 0, totalSize > 0,
      digests.count % 32 == 0, Int64(digests.count / 32) == (totalSize - 1) / chunkSize + 1
    else { return nil }
    self.chunkSize = chunkSize
    self.totalSize = totalSize
    self.digests = digests
  }

  /// How many chunks the list has.
  public var count: Int { digests.count / 32 }

  package func digest(of chunk: Int) -> ArraySlice<UInt8> { digests[chunk * 32..<chunk * 32 + 32] }

  /// The bytes of the file that a chunk has.
  package func range(of chunk: Int) -> Range<Int64> {
    let start = Int64(chunk) * chunkSize
    return start..<min(start + chunkSize, totalSize)
  }
}
