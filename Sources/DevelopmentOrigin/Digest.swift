internal import COpenSSL

/// A hash function, by its name in HTTP (RFC 9530 and RFC 7616).
public enum DigestAlgorithm: String, Sendable, CaseIterable {
  case sha256 = "sha-256"
  case sha512 = "sha-512"
  case md5
}

/// A running hash, computed by OpenSSL.
struct Hasher: ~Copyable {
  private let context: OpaquePointer

  init(_ algorithm: DigestAlgorithm) {
    let kind =
      switch algorithm {
      case .sha256: EVP_sha256()
      case .sha512: EVP_sha512()
      case .md5: EVP_md5()
      }
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, kind, nil) == 1 else {
      fatalError("OpenSSL has no \(algorithm.rawValue)")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { fatalError("EVP_DigestUpdate failed") }
  }

  consuming func finish() -> [UInt8] {
    var result = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_DigestFinal_ex(context, &result, &count) == 1 else { fatalError("EVP_DigestFinal_ex failed") }
    return Array(result.prefix(Int(count)))
  }

  static func hash(_ bytes: some Sequence<UInt8>, _ algorithm: DigestAlgorithm = .sha256) -> [UInt8] {
    var hasher = Hasher(algorithm)
    Array(bytes).withUnsafeBytes { hasher.update($0) }
    return hasher.finish()
  }
}

/// Bytes as text.
enum TextCoding {
  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  static func base64(_ bytes: [UInt8]) -> String {
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
    return String(decoding: text.prefix(Int(count)), as: UTF8.self)
  }

  /// `size` bytes that nobody can guess.
  static func random(_ size: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    guard RAND_bytes(&bytes, Int32(size)) == 1 else { fatalError("OpenSSL has no randomness") }
    return bytes
  }
}
