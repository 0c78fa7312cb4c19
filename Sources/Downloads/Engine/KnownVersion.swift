public import AssetModel

/// A version of a file that is at its place already, as the journal knew it when it was fetched.
public struct KnownVersion: Sendable, Equatable {
  /// What the server called it; and the record of the download that fetched it, of which the next one takes over what it
  /// knows of the file.
  public var entity: Entity
  public var partial: Partial
  public var inode: UInt64
  public var size: Int64

  /// nil: the record is of no finished download, or its server gave no validator to ask with.
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

extension EngineCore {
  /// Only where there is nothing yet of another version, and only of a GET: a 304 to anything else is no answer.
  func knownVersion(_ job: ActiveJob, _ segment: Segment) -> KnownVersion? {
    let specification = job.record.specification
    guard segment.request.ask == .whole, job.record.partial == nil, job.file.written.offset == 0, job.file.chunks == nil,
      specification.hasRanges
    else { return nil }
    return options.knownVersion?(specification)
  }

  /// The file stays, and the newest download of it is one that finished with it.
  func finishUnchanged(_ job: ActiveJob, _ known: KnownVersion) {
    guard job.next == nil else { return continueSettling(job) }
    job.record.state = .finished
    job.record.wait = nil
    job.record.partial = known.partial
    (job.record.publishedInode, job.record.finalSize) = (known.inode, known.size)
    discard(job) { core, job in core.commitAndRetire(job, .unchanged(size: known.size)) }
  }
}
