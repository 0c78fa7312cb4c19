/// What is to be fetched and where it goes: the part of a job that never changes.
public struct DownloadSpecification: Sendable, Equatable {
  /// The app that the download belongs to; identifiers are unique within it.
  public var app: String
  /// What the app calls the download; unique within the app.
  public var identifier: String
  /// Where the file is; absolute.
  public var url: String
  /// As in RFC 9110, 9. Only a GET without a body is resumed: whatever else is asked begins again.
  public var method: String
  /// Bytes that are sent with each request.
  public var body: [UInt8]
  /// Fields that go with each request to the URL's own origin, and to no other.
  public var headers: [Download.Header]
  /// Who waits for it.
  public var transferClass: TransferClass
  /// Whether the app isn't launched before this is settled.
  public var isEssential: Bool
  /// -100…100; higher goes first within an app.
  public var priority: Int
  /// Bytes that the client declared, or nil.
  public var declaredSize: Int64?
  /// The digest of the whole file; nil: unknown.
  public var digest: ContentDigest?
  /// The digests of its parts; nil: unknown.
  public var chunks: ChunkList?
  /// Other URLs of the same bytes, at most `maxMirrors`. They need a chunk list, which says who sent what was wrong, and
  /// get none of the headers unless they are at the same origin.
  public var mirrors: [String]
  /// An absolute path: the directory in which the finished file appears. Staging lies on the same filesystem.
  public var directory: String
  /// The finished file's name in `directory`; chosen here, never by the network.
  public var fileName: String
  /// Hosts that may be asked, as in `BADownloadDomainAllowList`; nil: any (the administrator's policy alone binds).
  public var allowedDomains: [String]?
  /// The allowance that bytes are charged to; nil: none.
  public var budget: String?
  /// The app's manifest: 1 MiB of the allowance is always left for it.
  public var isManifest: Bool

  /// Creates a specification. Nothing is checked before it is added.
  public init(
    app: String, identifier: String, url: String, method: String = "GET", body: [UInt8] = [],
    headers: [Download.Header] = [], transferClass: TransferClass,
    isEssential: Bool = false, priority: Int = 0, declaredSize: Int64? = nil, digest: ContentDigest? = nil,
    chunks: ChunkList? = nil, mirrors: [String] = [], directory: String, fileName: String,
    allowedDomains: [String]? = nil, budget: String? = nil, isManifest: Bool = false
  ) {
    self.app = app
    self.identifier = identifier
    self.url = url
    self.method = method
    self.body = body
    self.headers = headers
    self.transferClass = transferClass
    self.isEssential = isEssential
    self.priority = priority
    self.declaredSize = declaredSize
    self.digest = digest
    self.chunks = chunks
    self.mirrors = mirrors
    self.directory = directory
    self.fileName = fileName
    self.allowedDomains = allowedDomains
    self.budget = budget
    self.isManifest = isManifest
  }

  /// Whether both ask for the same file at the same place. How urgent it is and who else has it may differ, and one may
  /// expect something of its bytes of which the other says nothing.
  package func asksForTheSame(as other: Self) -> Bool {
    var other = other
    other.transferClass = transferClass
    other.priority = priority
    other.mirrors = mirrors
    if digest == nil || other.digest == nil { other.digest = digest }
    if chunks == nil || other.chunks == nil { other.chunks = chunks }
    return self == other
  }

  /// Whether the same bytes are right for both.
  package func expectsTheSame(as other: Self) -> Bool { digest == other.digest && chunks == other.chunks }

  /// Whether a part of its answer may be asked for: only the same GET has the same answer (RFC 9110, 14.2).
  public var hasRanges: Bool { method == "GET" && body.isEmpty }

  /// Whether bytes of one are bytes of the other, wherever they come from: a digest has the last word.
  package func provesTheSame(as other: Self) -> Bool {
    guard app == other.app, directory == other.directory, exactSize == other.exactSize else { return false }
    if chunks != nil || other.chunks != nil { return chunks == other.chunks }
    return digest != nil && digest == other.digest
  }

  /// Bytes that a file may have: far more than a volume holds, and few enough that sums of them are numbers.
  public static let largestSize: Int64 = 1 << 50

  /// How many other URLs a download may have.
  public static let maxMirrors = 16

  /// Why no journal takes it, whatever its app may do; nil: nothing is wrong with its numbers.
  public var rejectionReason: String? {
    if let size = declaredSize, !(0...Self.largestSize).contains(size) {
      return "the declared size is \(size); at most \(Self.largestSize) bytes are possible"
    }
    if let chunks, chunks.totalSize > Self.largestSize {
      return "the chunk list is for \(chunks.totalSize) bytes; at most \(Self.largestSize) are possible"
    }
    if !mirrors.isEmpty, chunks == nil { return "it has mirrors, but no chunk list to check what they send against" }
    if mirrors.count > Self.maxMirrors { return "it has \(mirrors.count) mirrors; at most \(Self.maxMirrors) do" }
    if let mirror = mirrors.first(where: { $0.utf8.count > DownloadRules.longestURL }) {
      return "a mirror's URL has \(mirror.utf8.count) bytes; at most \(DownloadRules.longestURL) do"
    }
    if let rejectionReason = DownloadRules.rejectionReason(forMethod: method, bodyLength: body.count) {
      return rejectionReason
    }
    if !hasRanges, chunks != nil { return "it has a chunk list, and \(method) requests with bodies have no parts" }
    for header in headers {
      if let rejectionReason = DownloadRules.rejectionReason(forHeader: header) { return rejectionReason }
    }
    if !(-100...100).contains(priority) { return "priority \(priority) is outside -100...100" }
    return nil
  }

  /// Whether the declared size binds to the byte; otherwise it is advice (B52).
  public var isSizeExact: Bool { declaredSize != nil && (isEssential || digest != nil || chunks != nil) }

  /// The number of bytes that the file must have, where that is known for certain.
  public var exactSize: Int64? { chunks?.totalSize ?? (isSizeExact ? declaredSize : nil) }
}
