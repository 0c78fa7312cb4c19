public import AssetModel

/// How far a download is.
public struct DownloadProgress: Sendable, Equatable {
  /// Bytes of the file that have arrived, and those that would survive a power cut.
  public var received: Int64
  /// Bytes that are certain to be on the disk.
  public var durable: Int64
  /// Bytes that the file will have, where that is known.
  public var total: Int64?
  /// Over the last seconds.
  public var bytesPerSecond: Double
  /// Connections that bring bytes of it.
  public var connections: Int

  /// Creates the progress of a download.
  public init(received: Int64, durable: Int64, total: Int64?, bytesPerSecond: Double, connections: Int) {
    self.received = received
    self.durable = durable
    self.total = total
    self.bytesPerSecond = bytesPerSecond
    self.connections = connections
  }
}

/// A file that is complete and has its name.
public struct DownloadedFile: Sendable, Equatable {
  /// Absolute.
  public var path: String
  /// Bytes.
  public var size: Int64
  /// The server said that it has no other version than the one that is there (`EngineOptions.knownVersion`).
  public var isUnchanged = false
  /// A digest that was known beforehand, and held.
  public var verifiedDigest: ContentDigest?
}

/// What the engine tells. Every settled job is told exactly once in the life of an engine; a `finished` one only after its
/// file and the journal are on the disk.
public enum DownloadEvent: Sendable, Equatable {
  case started(JobID)
  /// At most four times a second for each job.
  case progress(JobID, DownloadProgress)
  /// The bytes that were there are of no use any more.
  case restarted(JobID, reason: String)
  /// It waits; `explain` tells the same at any time.
  case waiting(JobID, Explanation)
  case finished(JobID, DownloadedFile)
  case failed(JobID, TransferFailure)
  case paused(JobID)
  case cancelled(JobID)
  case volume(VolumeReport)
  /// Something that an administrator would like to read in a log.
  case note(JobID?, String)
}
