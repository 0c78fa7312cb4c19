/// What an origin serves, where and how.
public struct OriginConfiguration: Sendable {
  public typealias Handler = @Sendable (_ request: RecordedRequest, _ nth: Int) -> Reply?

  /// Any loopback address, in either family; others work too.
  public var address = "127.0.0.1"
  /// 0: one that is free.
  public var port: UInt16 = 0
  /// Paths (without query, decoded) and what they hold. They come before the directory's.
  public var resources: [String: Resource] = [:]
  /// Served read-only; symbolic links in it aren't followed.
  public var directory: String?
  /// Asked first; nil leaves the request to the script.
  public var handler: Handler?
  public var script = FaultScript()
  public var authentication: Authentication?
  /// Passes on what is for other servers of this machine: tunnels and absolute targets. The handler and the script come
  /// first here, too. Only without TLS.
  public var isProxy = false
  /// Who may have something passed on.
  public var proxyAuthentication: Authentication?
  /// nil: plain text.
  public var tls: TLSOptions?
  public var etag = ETagKind.strong
  /// Sent with every 200 and 206; `Want-Repr-Digest` is answered in any case.
  public var digests: [DigestAlgorithm] = []
  /// Of every connection.
  public var bytesPerSecond: Int?
  public var maxConnections = 256
  /// Until a connection has to send its next request.
  public var idleLimit = Duration.seconds(75)
  /// From the first byte of a request to the end of its head.
  public var headLimit = Duration.seconds(30)
  /// A client that takes nothing for so long is dropped.
  public var writeLimit = Duration.seconds(300)
  /// Later requests are counted, but not kept.
  public var maxRecords = 100_000
  /// Told of every response when it has ended. Connections call it, several at once.
  public var onResponse: (@Sendable (ServedResponse) -> Void)?

  public init() {}
}

/// What became of a request.
public struct ServedResponse: Sendable {
  public var request: RecordedRequest?
  /// 0 where no response was sent.
  public var status: Int
  /// Of the body, as they went onto the wire.
  public var bytes: Int
  /// The reply's or the rule's name, or why the request was refused.
  public var fault: String?
}
