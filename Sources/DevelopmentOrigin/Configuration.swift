/// What an origin serves, where and how.
package struct OriginConfiguration: Sendable {
  package typealias Handler = @Sendable (_ request: RecordedRequest, _ nth: Int) -> Reply?

  /// Any loopback address, in either family; others work too.
  package var address = "127.0.0.1"
  /// 0: one that is free.
  package var port: UInt16 = 0
  /// Paths (without query, decoded) and what they hold. They come before the directory's.
  package var resources: [String: Resource] = [:]
  /// Served read-only; symbolic links in it aren't followed.
  package var directory: String?
  /// Asked first; nil leaves the request to the script.
  package var handler: Handler?
  package var script = FaultScript()
  package var authentication: Authentication?
  /// Passes on what is for other servers of this machine: tunnels and absolute targets. The handler and the script come
  /// first here, too. Only without TLS.
  package var isProxy = false
  /// Who may have something passed on.
  package var proxyAuthentication: Authentication?
  /// nil: plain text.
  package var tls: TLSOptions?
  package var etag = ETagKind.strong
  /// Sent with every 200 and 206; `Want-Repr-Digest` is answered in any case.
  package var digests: [DigestAlgorithm] = []
  /// Of every connection.
  package var bytesPerSecond: Int?
  package var maxConnections = 256
  /// Until a connection has to send its next request.
  package var idleLimit = Duration.seconds(75)
  /// From the first byte of a request to the end of its head.
  package var headLimit = Duration.seconds(30)
  /// A client that takes nothing for so long is dropped.
  package var writeLimit = Duration.seconds(300)
  /// Later requests are counted, but not kept.
  package var maxRecords = 100_000
  /// Told of every response when it has ended. Connections call it, several at once.
  package var onResponse: (@Sendable (ServedResponse) -> Void)?

  package init() {}
}

/// What became of a request.
package struct ServedResponse: Sendable {
  package var request: RecordedRequest?
  /// 0 where no response was sent.
  package var status: Int
  /// Of the body, as they went onto the wire.
  package var bytes: Int
  /// The reply's or the rule's name, or why the request was refused.
  package var fault: String?
}
