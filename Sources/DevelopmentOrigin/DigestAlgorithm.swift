internal import COpenSSL
internal import Hashing

/// A hash function, by its name in HTTP (RFC 9530 and RFC 7616).
public enum DigestAlgorithm: String, Sendable, CaseIterable {
  case sha256 = "sha-256"
  case sha512 = "sha-512"
  case md5

  var function: RunningHash.Function {
    switch self {
    case .sha256: .sha256
    case .sha512: .sha512
    case .md5: .md5
    }
  }

  func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] { RunningHash.digest(function, of: bytes) }
}

/// `size` bytes that can't be guessed: RAND_bytes(3).
func secretBytes(_ size: Int) -> [UInt8] {
  var bytes = [UInt8](repeating: 0, count: size)
  guard RAND_bytes(&bytes, Int32(size)) == 1 else { fatalError("RAND_bytes: OpenSSL has no randomness") }
  return bytes
}
