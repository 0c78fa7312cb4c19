internal import CCrypto
internal import Hashing

/// What OpenSSL reads of a text in PEM (RFC 7468): PEM_read_bio(3) and its kin. A text has at most `maxBytes`.
///
/// What OpenSSL says of a text that it can't read is taken off its queue of errors: the next to look there, on this thread,
/// would be libcurl.
struct PEMText {
  static let maxBytes = 64 << 10

  private let text: String

  init(_ text: String) { self.text = text }

  /// The public key of the first certificate, as a pin: `sha256//` and the base64 of its SubjectPublicKeyInfo's SHA-256; nil
  /// where there is no certificate.
  var pin: String? {
    read { input in
      guard let certificate = PEM_read_bio_X509(input, nil, noPassphrase, nil) else { return nil }
      defer { X509_free(certificate) }
      let key = X509_get_X509_PUBKEY(certificate)
      let count = i2d_X509_PUBKEY(key, nil)
      guard count > 0 else { return nil }
      let bytes = [UInt8](unsafeUninitializedCapacity: Int(count)) { bytes, initialized in
        var end = bytes.baseAddress
        initialized = max(0, Int(i2d_X509_PUBKEY(key, &end)))
      }
      return "sha256//" + Base64.encode(RunningHash.digest(.sha256, of: bytes))
    }
  }

  /// Whether there is a private key that needs no passphrase.
  var hasPrivateKey: Bool {
    read { input in
      guard let key = PEM_read_bio_PrivateKey(input, nil, noPassphrase, nil) else { return nil }
      EVP_PKEY_free(key)
      return true
    } ?? false
  }

  /// Whether a private key among the blocks says that it is encrypted, in its label or in its header (RFC 1421, 4.6.1.1).
  var hasEncryptedKey: Bool {
    read { input in
      while true {
        var (label, header): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard PEM_read_bio(input, &label, &header, &data, &count) == 1, let label, let header else { return nil }
        defer {
          CRYPTO_free(label, nil, 0)
          CRYPTO_free(header, nil, 0)
          CRYPTO_clear_free(data, count, nil, 0)
        }
        let name = String(cString: label)
        guard name.hasSuffix("PRIVATE KEY") else { continue }
        if name.hasPrefix("ENCRYPTED") || String(cString: header).contains("ENCRYPTED") { return true }
      }
    } ?? false
  }

  private func read<Result>(_ body: (OpaquePointer) -> Result?) -> Result? {
    var text = text
    return text.withUTF8 { bytes in
      guard bytes.count <= Self.maxBytes, let input = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
        return nil
      }
      ERR_set_mark()
      defer {
        ERR_pop_to_mark()
        BIO_free(input)
      }
      return body(input)
    }
  }
}

/// A pem_password_cb(3) that gives no password.
private func noPassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32, _ context: UnsafeMutableRawPointer?
) -> Int32 { -1 }
