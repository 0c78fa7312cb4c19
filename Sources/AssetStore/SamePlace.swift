internal import AssetModel

extension JobRecord {
  /// What a failed job left for a request whose access is granted anew: the same address but for its query, or the same
  /// with other headers, and nothing else different. Without a digest the strong entity tag says whether the
  /// file is still the same one (RFC 9110, 13.1.5), and the end of what is there is compared.
  func leftover(atThePlaceOf later: DownloadSpecification) -> Partial? {
    guard case .failed(let failure) = state, failure.isRefusedAccess, let left = leftover,
      left.entity.strongTag != nil, left.entity.coding == nil,
      specification.digest == nil, later.digest == nil, specification.chunks == nil, later.chunks == nil,
      specification.hasRanges, later.hasRanges, specification.directory == later.directory,
      specification.fileName == later.fileName,
      specification.exactSize == later.exactSize,
      Self.place(specification.url).elementsEqual(Self.place(later.url))
    else { return nil }
    return left
  }

  /// Signatures and tokens are in the query.
  private static func place(_ url: String) -> String.UTF8View.SubSequence {
    url.utf8.prefix { $0 != UInt8(ascii: "?") }
  }
}
