internal import AssetModel
internal import Glibc

extension TransferFailure {
  /// Nothing but the status of an answer is the reason.
  var isBareStatus: Bool { if case .httpStatus? = cause { true } else { false } }
}

/// What went wrong with an attempt, as far as the next one is concerned.
enum TransferProblem: Sendable, Equatable, CustomStringConvertible {
  case resolve(String)
  case connect(String)
  case tls(String)
  case reset(String)
  case proxy(String)
  case truncated, stalled, headTimeout
  /// `detail`: at whom, and why.
  case http2(enhanceYourCalm: Bool, detail: String)
  case status(Int)
  /// 502 and the like, of a proxy that passed on the request or of the server itself: `by` names both.
  case gateway(Int, by: String)
  case protocolFault(String)

  enum Classification: Equatable {
    case transient
    case permanent(TransferFailure.Reason)
    /// A file that isn't there yet: publication takes time.
    case publication
    /// A failure that doesn't count against the job.
    case notAnAttempt
  }

  /// `hasTime`: the answer says when to ask again.
  func classification(hasTime: Bool) -> Classification {
    switch self {
    case .proxy: .notAnAttempt
    case .gateway: .transient
    case .status(404): .publication
    // Numbers beyond 599 aren't defined, and count as 5xx (RFC 9110, 15).
    // 425: sent too early, so it is sent once more (RFC 8470, 5.2).
    case .status(408), .status(425), .status(429), .status(500...): .transient
    case .status(413) where hasTime: .transient
    case .status(401), .status(403), .status(407): .permanent(.challenge)
    case .status(410), .status(451): .permanent(.gone)
    case .status: .permanent(.refused)
    case .resolve, .connect, .tls, .reset, .truncated, .stalled, .headTimeout, .http2, .protocolFault: .transient
    }
  }

  var status: Int? {
    switch self {
    case .status(let status), .gateway(let status, _): status
    default: nil
    }
  }

  /// What later decisions go by.
  var cause: FailureCause? { status.map { .httpStatus($0) } }

  /// What the system would say of it: a name without an address is an unreachable host. Nil where the server answered, or a
  /// proxy is in between.
  var errno: Int32? {
    switch self {
    case .resolve: EHOSTUNREACH
    case .connect: ECONNREFUSED
    case .tls: EPROTO
    case .reset, .truncated, .http2: ECONNRESET
    case .stalled, .headTimeout: ETIMEDOUT
    case .protocolFault: EBADMSG
    case .proxy, .status, .gateway: nil
    }
  }

  var description: String {
    switch self {
    case .resolve(let text), .connect(let text), .tls(let text), .reset(let text), .proxy(let text): text
    case .truncated: "the connection ended before the file did"
    case .stalled: "next to nothing arrived for too long"
    case .headTimeout: "the server didn't answer in time"
    case .http2(true, _): "the server asked for fewer requests (HTTP/2)"
    case .http2(false, let detail): "HTTP/2 failed: \(detail)"
    case .gateway(let status, let names): "\(names) answered \(status)"
    case .status(let status): FailureCause.httpStatus(status).sentence
    case .protocolFault(let text): text
    }
  }
}
