/// What identifies a representation on a server, so that bytes of two versions never meet in one file (RFC 9110, 8.8).
public struct Entity: Sendable, Equatable {
  /// A strong entity tag with its quotes, or nil.
  public var strongTag: String?
  /// A weak one, without its `W/`: equal ones prove nothing, but where they differ it is another version.
  public var weakTag: String?
  /// `Last-Modified` as it was sent, only where it is usable: at least 60 s older than the response's `Date`.
  public var lastModified: String?
  /// Bytes of the whole representation, where the server said so.
  public var total: Int64?
  /// The content coding; nil: identity.
  public var coding: String?
  /// The URL that answered, after every redirect.
  public var finalURL: String
  /// `Repr-Digest` of the first response (RFC 9530), where the request brought no digest of its own.
  public var reprDigest: ContentDigest?

  /// Creates what an answer says of the file that it is a part of.
  public init(
    strongTag: String? = nil, weakTag: String? = nil, lastModified: String? = nil, total: Int64? = nil,
    coding: String? = nil, finalURL: String,
    reprDigest: ContentDigest? = nil
  ) {
    self.strongTag = strongTag
    self.weakTag = weakTag
    self.lastModified = lastModified
    self.total = total
    self.coding = coding
    self.finalURL = finalURL
    self.reprDigest = reprDigest
  }
}

/// A staging file as the journal knows it.
public struct Partial: Sendable, Equatable {
  /// An offset that was synchronised, with the SHA-256 of the (at most 1 MiB) bytes before it.
  public struct Checkpoint: Sendable, Equatable {
    /// Bytes from the start of the file that are certain to be on the disk.
    public var offset: Int64
    /// Empty where the bytes before were right by a chunk list that isn't there any more.
    public var tailDigest: [UInt8]

    /// Creates a checkpoint.
    public init(offset: Int64, tailDigest: [UInt8]) {
      self.offset = offset
      self.tailDigest = tailDigest
    }
  }

  /// Checkpoints that are kept to go back to.
  public static let keptCheckpoints = 4
  /// Bytes before a checkpoint that its digest covers.
  public static let tailLength: Int64 = 1 << 20

  /// The staging file's name in its directory: a hash of app, identifier and generation.
  public var stagingName: String
  /// The version of the file that the bytes are of.
  public var entity: Entity
  /// Rising; the last one is the durable offset. Unused where there is a chunk list.
  public var checkpoints: [Checkpoint]
  /// One bit per chunk of the chunk list: on disk, synchronised and its digest right. Empty without a chunk list.
  public var verifiedChunks: [UInt8]
  /// The boot in which the file was last written (/proc/sys/kernel/random/boot_id); `lostPages` after a synchronisation
  /// that failed; empty when only what the journal says is certain for another reason.
  public var bootIdentifier: String
  /// The volume of the staging file, as `stat(2)` numbers it.
  public var device: UInt64
  /// The staging file's inode.
  public var inode: UInt64

  /// What memory still shows of the file may never have got to the disk, and a second synchronisation proves nothing.
  public static let lostPages = "lost"

  /// Creates a partial file of its parts.
  public init(
    stagingName: String, entity: Entity, checkpoints: [Checkpoint] = [], verifiedChunks: [UInt8] = [],
    bootIdentifier: String, device: UInt64, inode: UInt64
  ) {
    self.stagingName = stagingName
    self.entity = entity
    self.checkpoints = checkpoints
    self.verifiedChunks = verifiedChunks
    self.bootIdentifier = bootIdentifier
    self.device = device
    self.inode = inode
  }

  /// Without their list, chunks count as far as there is no gap before them.
  mutating func forgetChunks(_ list: ChunkList) {
    let bits = verifiedChunks
    let gap = (0..<list.count).first { $0 / 8 >= bits.count || bits[$0 / 8] & 1 << ($0 % 8) == 0 } ?? list.count
    verifiedChunks = []
    checkpoints = gap == 0 ? [] : [Checkpoint(offset: list.range(of: gap - 1).upperBound, tailDigest: [])]
    // How long the file is says nothing.
    bootIdentifier = ""
  }

  /// How far the file is on disk *and* journalled, from its start.
  public var durableOffset: Int64 { checkpoints.last?.offset ?? 0 }
}
