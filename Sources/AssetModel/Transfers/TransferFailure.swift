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
  /// A sentence for people; nothing in it comes unescaped from a server.
  public var detail: String

  /// Creates a failure of its parts.
  public init(_ reason: Reason, status: Int? = nil, hop: Int = 0, errno: Int32? = nil, detail: String) {
    self.reason = reason
    self.status = status
    self.hop = hop
    self.errno = errno
    self.detail = detail
  }

  /// All of the file was received and right, but something else has its name: what was received stays for the next
  /// request.
  public var isForWantOfPlace: Bool { reason == .refused && errno == EEXIST }

  /// The server lets nobody have the file (any more), as when a signed URL has expired: where a digest proves what was
  /// received, it stays for the next request.
  public var isRefusedAccess: Bool { reason == .challenge && (status == 401 || status == 403) }

  public var description: String { "\(reason.rawValue): \(detail)" }
}
