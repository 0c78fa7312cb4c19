// What there is of a file, for a later request with another address or other headers.
extension JobRecord {
  /// For a request that takes this one's place: what a digest proves to be of the same file.
  ///
  /// - Parameter isRenewed: It is the same request with another credential: a strong entity tag is enough, too.
  package func partial(for later: DownloadSpecification, isRenewed: Bool) -> Partial? {
    if specification.provesTheSame(as: later), let partial { return partial.moved(to: later.url) }
    return isRenewed ? partial(atThePlaceOf: later) : nil
  }

  /// The same of a failed job, for a request with another URL, where a digest proves that both are for the same bytes.
  package func leftover(provedBy later: DownloadSpecification) -> Partial? {
    guard let leftover else { return nil }
    var known = specification
    known.digest = known.digest ?? leftover.entity.reprDigest
    return known.provesTheSame(as: later) ? leftover.moved(to: later.url) : nil
  }

  /// The same of a failed job, for a request for the same place.
  package func leftover(atThePlaceOf later: DownloadSpecification) -> Partial? {
    guard case .failed(let failure) = state, !failure.isForWantOfPlace, leftover != nil else { return nil }
    return partial(atThePlaceOf: later)
  }

  /// What is there, for a request whose access is granted anew: the same address but for its query, or the same
  /// with other headers, and nothing else different. Without a digest the strong entity tag says whether the
  /// file is still the same one (RFC 9110, 13.1.5), and the end of what is there is compared.
  private func partial(atThePlaceOf later: DownloadSpecification) -> Partial? {
    guard let partial, partial.entity.strongTag != nil, partial.entity.coding == nil,
      specification.digest == nil, later.digest == nil, specification.chunks == nil, later.chunks == nil,
      specification.hasRanges, later.hasRanges, specification.directory == later.directory,
      specification.fileName == later.fileName,
      specification.exactSize == later.exactSize,
      Self.place(specification.url).elementsEqual(Self.place(later.url))
    else { return nil }
    return partial
  }

  /// Signatures and tokens are in the query.
  private static func place(_ url: String) -> String.UTF8View.SubSequence {
    url.utf8.prefix { $0 != UInt8(ascii: "?") }
  }
}

extension Partial {
  /// Validators belong to the old address; a digest is what identifies the file.
  fileprivate func moved(to url: String) -> Partial {
    var partial = self
    partial.entity = Entity(total: entity.total, coding: entity.coding, finalURL: url)
    return partial
  }
}
