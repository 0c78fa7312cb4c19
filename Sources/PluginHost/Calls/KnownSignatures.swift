internal import HostProtocol
internal import Synchronization

/// Signatures that were parsed before: reading the text takes as long as a call.
enum KnownSignatures {
  /// Signatures beyond that are parsed at each call.
  private static let maxCount = 1024
  private static let known = Mutex<[String: CallSignature]>([:])

  static func parse(_ text: String) throws(CallSignature.ParseError) -> CallSignature {
    if let found = known.withLock({ $0[text] }) { return found }
    let parsed = try CallSignature(parsing: text)
    known.withLock { if $0.count < maxCount { $0[text] = parsed } }
    return parsed
  }
}
