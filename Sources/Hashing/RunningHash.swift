internal import CCrypto

/// A cryptographic hash over bytes that come in pieces: EVP_DigestInit_ex(3), EVP_DigestUpdate(3) of OpenSSL's libcrypto, which
/// uses the processor's instructions for it where there are any.
///
/// A copy goes on by itself. Nothing here fails but for want of memory, or where the machine's OpenSSL refuses the
/// function (MD5 in FIPS mode); both end the process.
package struct RunningHash {
  package enum Function: String, Sendable, CaseIterable {
    /// For Digest authentication alone (RFC 7616): it has been broken.
    case md5 = "MD5"
    case sha256 = "SHA256"
    case sha512 = "SHA512"
    /// SHA-512/256 (FIPS 180-4, 5.3.6.2).
    case sha512256 = "SHA512-256"
  }

  private var context: Context

  /// A program may exit while another of its threads hashes: OpenSSL's exit handler would free what that one uses
  /// (OPENSSL_init_crypto(3)). Where the program has used OpenSSL before, it has decided that.
  fileprivate static let isKeptAtExit = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  package init(_ function: Function) { context = Context(function) }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    if !isKnownUniquelyReferenced(&context) { context = Context(copying: context) }
    context.update(bytes)
  }

  /// The hash of what came until now; more may follow.
  package var digest: [UInt8] { Context(copying: context).finalize() }

  package static func digest(_ function: Function, of bytes: some Sequence<UInt8>) -> [UInt8] {
    var hash = RunningHash(function)
    if bytes.withContiguousStorageIfAvailable({ hash.update(UnsafeRawBufferPointer($0)) }) == nil {
      Array(bytes).withUnsafeBytes { hash.update($0) }
    }
    return hash.context.finalize()
  }
}

extension RunningHash {
  private final class Context {
    private let pointer: OpaquePointer

    init(_ function: Function) {
      pointer = Self.allocated()
      precondition(EVP_DigestInit_ex(pointer, function.implementation, nil) == 1, "EVP_DigestInit_ex: no memory")
    }

    init(copying other: Context) {
      pointer = Self.allocated()
      precondition(EVP_MD_CTX_copy_ex(pointer, other.pointer) == 1, "EVP_MD_CTX_copy_ex: no memory")
    }

    deinit { EVP_MD_CTX_free(pointer) }

    private static func allocated() -> OpaquePointer {
      _ = RunningHash.isKeptAtExit
      guard let pointer = EVP_MD_CTX_new() else { preconditionFailure("EVP_MD_CTX_new: no memory") }
      return pointer
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
      precondition(EVP_DigestUpdate(pointer, bytes.baseAddress, bytes.count) == 1, "EVP_DigestUpdate")
    }

    /// Takes nothing more afterwards.
    func finalize() -> [UInt8] {
      var count: UInt32 = 0
      let digest = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { bytes, initialized in
        precondition(EVP_DigestFinal_ex(pointer, bytes.baseAddress, &count) == 1, "EVP_DigestFinal_ex")
        initialized = Int(count)
      }
      return digest
    }
  }
}

extension RunningHash.Function {
  fileprivate var implementation: OpaquePointer {
    switch self {
    case .md5: Self.md5Implementation
    case .sha256: Self.sha256Implementation
    case .sha512: Self.sha512Implementation
    case .sha512256: Self.sha512256Implementation
    }
  }

  // Looked up once: EVP_sha256(3) and its like are looked up anew for every hash (crypto(7), "Performance"), which costs as
  // much as hashing a short text. Any thread may use them.
  private nonisolated(unsafe) static let md5Implementation = fetched(.md5)
  private nonisolated(unsafe) static let sha256Implementation = fetched(.sha256)
  private nonisolated(unsafe) static let sha512Implementation = fetched(.sha512)
  private nonisolated(unsafe) static let sha512256Implementation = fetched(.sha512256)

  private static func fetched(_ function: Self) -> OpaquePointer {
    _ = RunningHash.isKeptAtExit
    guard let implementation = EVP_MD_fetch(nil, function.rawValue, nil) else {
      preconditionFailure("EVP_MD_fetch: OpenSSL refuses \(function.rawValue)")
    }
    return implementation
  }
}
