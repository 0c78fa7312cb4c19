internal import AssetModel

/// One request on the wire: a hop of a redirect chain, or a segment.
struct TransferID: Hashable, Sendable {
  let number: UInt64
}

/// Everything that the transport is told. It follows no redirect, resumes nothing and reads no environment.
struct TransportRequest {
  enum Trust: Equatable {
    /// The system's roots, and those of `TransportOptions.authorityFile`.
    case roots
    /// A leaf key (`sha256//…`) that takes the place of verification, for this host only: an accepted challenge.
    case exactKey(String)
  }

  var url: ParsedURL
  /// Connected to instead of those that the host's name has, and checked like them.
  var address: String?
  var method = "GET"
  var body: [UInt8] = []
  var headers: [Download.Header]
  /// For the proxy alone, where there is one; a tunnel's other end never sees them.
  var proxyHeaders: [Download.Header] = []
  /// Verified besides everything else.
  var pins: [String] = []
  var trust = Trust.roots
  /// Shown if the server asks for one.
  var clientCertificate: ClientCertificate?
  /// A body of 8 MiB or more is better off alone on its connection.
  var isLarge = false
  /// On a connection that nothing used before: those that are there are going away.
  var needsFreshConnection = false
  /// Handshake only, without verification and without a request: to see the chain after a failed verification.
  var looksAtChainOnly = false

  /// Whether HTTP/2 is offered: by ALPN, so under TLS only.
  var mayBeHTTP2: Bool { url.scheme == "https" && !isLarge }

  var isPlainGet: Bool { method == "GET" && body.isEmpty }

  /// Whether nothing but its URL, its headers and its size tells it from others. What is granted to one host or job must
  /// not stay on a handle that serves another.
  var isOrdinary: Bool {
    trust == .roots && pins.isEmpty && clientCertificate == nil && proxyHeaders.isEmpty && address == nil
      && !looksAtChainOnly && isPlainGet
  }
}

/// Why the address policy let no socket be opened.
struct AddressRefusal: Equatable {
  /// The last address that it refused; nil: what it was given is none that it knows.
  var address: NetworkAddress?
  /// Which address it is, and what is against it.
  var reason: String

  func cause(of host: String) -> FailureCause {
    .refusedAddress(host: host, address: address?.description, reason: reason)
  }
}

/// How the transport ended a request.
struct TransportEnd {
  enum HTTP2Fault: Equatable {
    case connection, stream
    /// The server asks for fewer requests (ENHANCE_YOUR_CALM of RFC 9113, 7).
    case enhanceYourCalm
  }

  enum Problem: Equatable {
    /// Of HTTP/2: the connection is of no use any more, or just the one stream.
    case http2(HTTP2Fault)
    case resolve, connect, tls, proxy, reset, truncated, timeout, protocolFault, other
    /// The peer's certificate wasn't accepted.
    case untrusted(TLSDiagnosis.Fault)
    /// The peer wants a client certificate, or another one.
    case clientCertificate(TLSDiagnosis.Demand)
    /// The address policy refused every address.
    case refusedAddress(AddressRefusal)
    /// The client said so, by a verdict.
    case aborted
  }

  /// nil: the message ended where the protocol says it does.
  var problem: Problem?
  var message = ""
  /// The status by which a proxy said that it can't reach the origin.
  var proxyStatus: Int?
  /// What broke was our sending, after the connection had come about.
  var brokeSending = false
  /// Not a byte of an answer came because the connection was going away: the peer hasn't looked at the request
  /// (RFC 9113, 6.8), or it had closed a connection that was idle.
  var cameTooLate = false
  /// Header and body bytes that arrived.
  var receivedBytes: Int64 = 0
  var remoteAddress = ""
  /// PEM certificates, leaf first; only where the request looked at the chain.
  var chain: [String] = []
}

enum HeadVerdict { case take, drain, abort }
enum DataVerdict { case taken, pause, abort }

/// Who owns the transfers. Called on the network thread, inside `poll`.
protocol TransportClient: AnyObject {
  func transfer(_ id: TransferID, answered head: ResponseHead) -> HeadVerdict
  func transfer(_ id: TransferID, sentHostileHead failure: HeadFailure, overHTTP2: Bool)
  /// Connected, TLS and tunnel included; the request follows.
  func transferConnected(_ id: TransferID)
  /// `.pause` takes nothing; the same bytes come again after `Transport.resume`.
  func transfer(_ id: TransferID, received bytes: UnsafeRawBufferPointer) -> DataVerdict
  func transfer(_ id: TransferID, ended end: TransportEnd)
}

/// What carries requests. Confined to the network thread but for `wake`.
protocol Transport: AnyObject {
  var client: (any TransportClient)? { get set }
  func start(_ request: TransportRequest, as id: TransferID)
  /// Goes on after `.pause`.
  func resume(_ id: TransferID)
  /// The transfer is gone at once and its end isn't told; the connection is closed unless the message was complete.
  func cancel(_ id: TransferID) -> Int64
  /// What the kernel knows of a transfer's connection; nil: it has none, or there is nothing to know.
  func receiveSample(of id: TransferID) -> ReceiveWindow.Sample?
  /// Bytes that the peer may send ahead on a transfer's connection. Ends with the transfer.
  func limitWindow(of id: TransferID, to bytes: Int)
  /// Works until something happened, `wake` was called, or the time is over: how long that is, is asked when nothing is left
  /// to do.
  func poll(atMost limit: () -> Duration)
  /// Requests that start from now on follow these.
  func follow(_ options: TransportOptions)
  /// Forgets connections and addresses: the network changed, or the machine slept.
  func forgetConnections()
  /// Ends a `poll`, from any thread.
  var waker: any Waker { get }
}

protocol Waker: Sendable {
  func wake()
}
