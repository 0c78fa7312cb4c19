/// What a bundle may cost: it comes from anywhere, and an archive of some kilobytes may stand for more than any disk holds.
public struct BundleLimits: Sendable, Equatable {
  /// Bytes of all files together.
  public var totalBytes: Int64 = 8 << 30
  /// Files, folders and links.
  public var entries = 50_000
  /// Folders within each other, from the top of the bundle or archive.
  public var depth = 32
  /// Bytes of a path within the bundle or archive.
  public var pathLength = 1024
  /// Unpacked bytes for each byte of an archive; enforced beyond `freeBytes`.
  public var ratio: Int64 = 200
  /// Bytes that an archive may unpack to whatever its ratio is.
  public var freeBytes: Int64 = 64 << 20

  /// Creates the limits that an installation has by default.
  public init() {}
}
