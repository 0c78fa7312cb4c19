internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// The file of one activation: what is on it, what is on its way to it, and what is known of its bytes. Network thread only;
/// its lanes do the slow work.
final class JobFile {
  var destination: Destination?
  var staging: StagingFile?
  /// All of a small file, which goes to the publisher without having been written: one hand-over instead of three.
  var content: TransferBuffer?
  /// Also those of connections that ended, until their last buffer is on the file.
  var writers: [UInt64: BodyWriter] = [:]
  var chunks: ChunkMap?
  var written = Written()
  var checkpoint: Checkpointing
  var identity = Identity()
  var hashing = Hashing()
  var evidence = Evidence()
  /// Buffers that its lane has to write, or has written without the network thread knowing of it.
  var writesInLane = 0
  /// A write kept the network thread waiting.
  var isSlowToWrite = false
  var isPreallocated = false
  var failure: SystemCallError?

  /// Made when they are needed: a small file needs none.
  private(set) lazy var lane = DispatchQueue(label: "outrider.file", target: lanes.files)
  private(set) lazy var hashingLane = DispatchQueue(label: "outrider.hash", target: lanes.hashes)
  private let lanes: Lanes

  /// What the lanes of all files run on.
  struct Lanes {
    let files = DispatchQueue(label: "outrider.io", attributes: .concurrent)
    let hashes = DispatchQueue(label: "outrider.hashing", attributes: .concurrent)
  }

  /// How far the file has come, in bytes.
  struct Written {
    /// The first byte that isn't on the file, in a job without chunks.
    var offset: Int64 = 0
    /// The bytes before it that a resume is compared with, where no digest checks the file.
    var tail: [UInt8] = []
    /// Of the file, in this activation, and how many of them before the last checkpoint.
    var bytes: Int64 = 0
    var synchronised: Int64 = 0
    /// On the file at the last checkpoint.
    var checkpointed: Int64 = 0
  }

  struct Checkpointing {
    var isInFlight = false
    /// Boot time.
    var last: Duration
  }

  /// Whether the journal knows how to find the file again, or is just told.
  struct Identity {
    var isJournalled = false
    /// The file of the generation before, as long as the journal doesn't know this one.
    var outdated: String?
    var isOnItsWay = false
  }

  struct Hashing {
    var hasher: FileHasher? { didSet { offset = 0 } }
    /// How far the digest has come.
    var offset: Int64 = 0
    /// Buffers that the hashing lane holds, and chunks that are read for their digests.
    var buffers = 0
    var chunks = 0
  }

  /// What is known of the file's bytes.
  struct Evidence {
    /// What the server says of an answer that came to its end.
    var check: ContentCheck?
    /// What the server says of the whole file (`Repr-Digest`).
    var declaredDigests: [ContentDigest] = []
    var isLengthProved = true
    /// What was said of a file that came out otherwise.
    var mismatched: MismatchedDigests?
    /// A chunk came wrong: a cache on the way may have it so.
    var hadBadChunk = false
    /// Bytes of an answer whose length nobody told, and whose digest was wrong: that many again are no cut connection.
    var unprovedLength: Int64?
  }

  /// Bytes up to which handing a file from thread to thread costs more than hashing or writing it.
  static let small = 64 << 10

  /// Bytes up to which a killed service may fetch again: the journal hears of a file before it grows beyond.
  static let worthAnIdentity: Int64 = 8 << 20

  init(_ lanes: Lanes, now: Duration) {
    self.lanes = lanes
    checkpoint = Checkpointing(last: now)
  }

  /// No buffer, digest or commit of the file is on its way.
  var isQuiet: Bool {
    writers.values.allSatisfy { $0.inFlight == 0 } && !checkpoint.isInFlight && hashing.chunks == 0
      && !identity.isOnItsWay
  }

  /// Also of chunks that aren't whole yet: what the disk has of them is found by their digests.
  var unsynchronisedBytes: Int64 {
    chunks == nil ? written.offset - written.checkpointed : written.bytes - written.synchronised
  }

  /// Whether something would be lost with the next step that the journal could know. Publishing synchronises by itself; only
  /// what takes long to verify is made safe before.
  func needsCheckpoint(before next: NextStep, worth: Int64) -> Bool {
    if let chunks {
      return chunks.verifiedBytes > chunks.journalledBytes || written.bytes > written.synchronised
    }
    let fresh = written.offset - written.checkpointed
    if case .verify = next { return fresh > worth }
    return fresh > 0
  }

  /// Everything that was ever said of the file has to hold, not only what is trusted most. `known`: what is known beforehand.
  func expect(_ known: ContentDigest?) {
    guard chunks == nil, let staging else { return }
    var expected = hashing.hasher?.expected ?? []
    let before = expected.count
    for digest in evidence.declaredDigests + (known.map { [$0] } ?? []) where !expected.contains(digest) {
      expected.append(digest)
    }
    // What an older one has seen already is read from the file again.
    if expected.count > before { hashing.hasher = FileHasher(expected: expected, file: staging) }
  }

  /// Nothing that was written counts any more. `staging`: the new and empty file, where there is one.
  func empty(_ staging: StagingFile?, _ list: ChunkList?) {
    if let staging {
      self.staging?.end()
      self.staging = staging
    }
    hashing.hasher = nil
    evidence.declaredDigests = []
    evidence.check = nil
    content = nil
    written.offset = 0
    written.tail = []
    written.checkpointed = 0
    failure = nil
    identity.isJournalled = list != nil
    chunks = list.map { ChunkMap($0) }
  }
}
