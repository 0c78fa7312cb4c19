public import AssetModel

/// A version of a file that is at its place already, as the journal knew it when it was fetched.
public struct KnownVersion: Sendable, Equatable {
  /// What the server called it; and the record of the download that fetched it, of which the next one takes over what it
  /// knows of the file.
  public var entity: Entity
  /// What there was of the file before it was complete.
  public var partial: Partial
  /// The finished file's inode.
  public var inode: UInt64
  /// Its size in bytes.
  public var size: Int64

  /// nil: the record is of no finished download, or its server gave no validator to ask with.
  ///
  /// - Parameter record: A download as the journal has it.
  public init?(_ record: JobRecord) {
    guard record.state == .finished, let partial = record.partial, let inode = record.publishedInode,
      let size = record.finalSize, partial.entity.coding == nil
    else { return nil }
    (entity, self.partial, self.inode, self.size) = (partial.entity, partial, inode, size)
    guard condition != nil else { return nil }
  }

  /// RFC 9110, 13.1.2 and 13.1.3. A weak tag will do: it is asked whether anything has changed, not for a part.
  var condition: Download.Header? {
    if let tag = entity.strongTag { return Download.Header(name: "If-None-Match", value: tag) }
    if let tag = entity.weakTag { return Download.Header(name: "If-None-Match", value: "W/\(tag)") }
    return entity.lastModified.map { Download.Header(name: "If-Modified-Since", value: $0) }
  }
}
