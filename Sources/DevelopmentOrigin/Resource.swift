/// What an ETag is made of.
public enum ETagKind: String, Sendable, CaseIterable {
  case strong, weak, none
}

/// What a path holds: one or more versions of some bytes, the last of which is served unless a reply says otherwise.
public struct Resource: Sendable {
  public var versions: [Content]
  public var contentType: String
  /// nil: as the configuration says.
  public var etag: ETagKind?
  /// Seconds since 1970; nil: no `Last-Modified`.
  public var lastModified: Int?

  public init(
    versions: [Content], contentType: String = "application/octet-stream", etag: ETagKind? = nil,
    lastModified: Int? = 1_700_000_000
  ) {
    self.versions = versions
    self.contentType = contentType
    self.etag = etag
    self.lastModified = lastModified
  }

  public init(_ content: Content, contentType: String = "application/octet-stream") {
    self.init(versions: [content], contentType: contentType)
  }

  /// Version `number`, counted from 1; beyond those that are there, one that is made up.
  func version(_ number: Int, lengthChange: Int) -> Content {
    let last = versions.last ?? .bytes([])
    guard number <= versions.count, number >= 1 else { return last.altered(to: number, lengthChange: lengthChange) }
    let found = versions[number - 1]
    return lengthChange == 0 ? found : found.altered(to: number, lengthChange: lengthChange)
  }
}
