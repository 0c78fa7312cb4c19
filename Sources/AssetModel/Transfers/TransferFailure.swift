internal import Glibc

/// Why a download ended without its file.
public struct TransferFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// Why a transfer failed; the raw values are what commands print.
  public enum Reason: String, Sendable, CaseIterable {
    case noProgress, sizeMismatch, digestMismatch, hostileResponse, notAllowed, trust, gone, challenge, refused, volume
    case allowance, offline
  }

  /// Why it failed.
  public var reason: Reason
  /// The HTTP status of the response that decided, or nil.
  public var status: Int?
  /// Which request of the redirect chain it was, from 0.
  public var hop: Int
  /// The system's error, where one is the reason.
  public var errno: Int32?
  /// What it was about, where a caller decides by that.
  public var cause: FailureCause?
  /// Bytes that stay for the next download of the same file; nil: none do.
  public private(set) var keptBytes: Int64?
  /// A sentence for people; nothing in it comes unescaped from a server.
  public var detail: String

  /// Creates a failure of its parts.
  public init(
    _ reason: Reason, status: Int? = nil, hop: Int = 0, errno: Int32? = nil, cause: FailureCause? = nil,
    keptBytes: Int64? = nil, detail: String
  ) {
    self.reason = reason
    self.status = status
    self.hop = hop
    self.errno = errno
    self.cause = cause
    self.keptBytes = keptBytes
    self.detail = detail
  }

  /// Creates a failure whose cause says all.
  public init(_ reason: Reason, status: Int? = nil, hop: Int = 0, cause: FailureCause) {
    self.init(reason, status: status, hop: hop, cause: cause, detail: cause.sentence)
  }

  /// The same failure, for which so many bytes stay.
  package func keeping(_ bytes: Int64) -> Self {
    var failure = self
    failure.keptBytes = bytes
    failure.detail += failure.remark
    return failure
  }

  /// The same failure, for which so many bytes are of no use any more.
  ///
  /// - Parameter why: What follows "as"; nil: the sentence says it already.
  package func losing(_ bytes: Int64, as why: String?) -> Self {
    guard bytes > 0 else { return self }
    var failure = self
    failure.detail += "; the \(bytes) bytes that were there are given up\(why.map { ", as \($0)" } ?? "")"
    return failure
  }

  /// The same failure, for a caller that lets go of what was kept.
  package var keepingNothing: Self {
    guard keptBytes != nil else { return self }
    var failure = self
    if detail.hasSuffix(remark) { failure.detail.removeLast(remark.count) }
    failure.keptBytes = nil
    return failure
  }

  /// What follows the sentence of its cause: that something of the file stays.
  package var remark: String {
    let who = isRefusedAccess && status == 403 ? "another URL of the same file" : "the same download"
    return keptBytes.map { "; the \($0) bytes that are there are kept, and \(who) goes on from them" } ?? ""
  }

  /// All of the file was received and right, but something else has its name: what was received stays for the next
  /// request.
  public var isForWantOfPlace: Bool { reason == .refused && errno == EEXIST }

  /// The server doesn't let this request have the file (any more), as when a signed URL has expired: where a digest proves what was
  /// received, it stays for the next request.
  public var isRefusedAccess: Bool { reason == .challenge && (status == 401 || status == 403) }

  /// Nobody who has the file said anything of it: what is in the way failed or refused (a proxy, a certificate, an address, a
  /// rule), or the server only asked who is there or led elsewhere.
  package var isOfTheWay: Bool {
    switch reason {
    case .trust, .notAllowed: return true
    // Without a status it is about a client certificate, in the handshake.
    case .challenge: return status != 403
    case .noProgress: if case .proxy? = cause { return true }
    default: break
    }
    return status.map { (300..<400).contains($0) } ?? false
  }

  public var description: String { "\(reason.rawValue): \(detail)" }
}
