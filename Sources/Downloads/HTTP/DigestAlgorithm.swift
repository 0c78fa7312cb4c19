internal import Basics
internal import Hashing

/// The hashes of Digest authentication (RFC 7616, 3.3).
struct DigestAlgorithm: Sendable, Equatable {
  enum Hash: String, Sendable {
    case md5 = "MD5"
    case sha256 = "SHA-256"
    case sha512256 = "SHA-512-256"
  }

  let hash: Hash
  /// `-sess`: the password's hash is bound to the first client nonce as well.
  let isSession: Bool

  /// nil stands for MD5, as old servers have it; nil comes back for what isn't known.
  init?(_ name: String?) {
    let name = HeaderToken.lowercased(name ?? "md5")
    switch name {
    case "md5", "md5-sess": hash = .md5
    case "sha-256", "sha-256-sess": hash = .sha256
    case "sha-512-256", "sha-512-256-sess": hash = .sha512256
    default: return nil
    }
    isSession = name.utf8.count > hash.rawValue.utf8.count
  }

  /// As it goes back to the server: never what the server wrote.
  var name: String { hash.rawValue + (isSession ? "-sess" : "") }

  var strength: Int {
    switch hash {
    case .md5: 0
    case .sha256: 1
    case .sha512256: 2
    }
  }

  /// Lower-case hexadecimal digits of the hash of a text's UTF-8.
  func hex(_ text: String) -> String {
    let function: RunningHash.Function =
      switch hash {
      case .md5: .md5
      case .sha256: .sha256
      case .sha512256: .sha512256
      }
    return Hexadecimal.text(RunningHash.digest(function, of: text.utf8))
  }
}
