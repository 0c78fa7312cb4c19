internal import COpenSSL
internal import Glibc

/// A certificate and its private key: EC P-256, or RSA of 1024 bits where it is to be weak.
///
/// @unchecked Sendable: OpenSSL's objects aren't changed after `init`.
final class Certificate: @unchecked Sendable {
  let certificate: OpaquePointer
  let key: OpaquePointer

  struct Subject {
    var name: String
    /// `DNS:…` and `IP:…`; empty for an authority.
    var alternativeNames: [String] = []
    var notBefore: Int
    var notAfter: Int
    /// Proves a client, not a server.
    var isClient = false
    var isWeak = false
    var isWeaklySigned = false
    /// 16 bytes; nil: drawn.
    var serial: [UInt8]?

    var isAuthority: Bool { alternativeNames.isEmpty && !isClient }
  }

  private init(certificate: OpaquePointer, key: OpaquePointer) {
    self.certificate = certificate
    self.key = key
  }

  /// Makes one, signed by `issuer` or by itself.
  init(_ subject: Subject, issuer: Certificate?) throws(OriginError) {
    guard let key = subject.isWeak ? oc_new_rsa_key(1024) : oc_new_p256_key(), let made = X509_new() else {
      throw .tls("OpenSSL can't make a key")
    }
    self.key = key
    certificate = made
    var serial = subject.serial ?? secretBytes(16)
    serial[0] &= 0x7f
    let number = BN_bin2bn(serial, Int32(serial.count), nil)
    defer { BN_free(number) }
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(made))
    X509_set_version(made, 2)
    let now = time(nil)
    X509_gmtime_adj(X509_getm_notBefore(made), subject.notBefore - now)
    X509_gmtime_adj(X509_getm_notAfter(made), subject.notAfter - now)
    X509_set_pubkey(made, key)
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8, subject.name, -1, -1, 0)
    X509_set_issuer_name(made, X509_get_subject_name(issuer?.certificate ?? made))
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer?.certificate ?? made, made, nil, nil, 0)
    var extensions: [(Int32, String)] = [(NID_subject_key_identifier, "hash")]
    if subject.isAuthority {
      extensions += [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign"),
      ]
    } else if subject.isClient {
      extensions += [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "clientAuth"),
      ]
    } else {
      extensions += [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, subject.alternativeNames.joined(separator: ",")),
      ]
    }
    for (kind, text) in extensions {
      guard let made = X509V3_EXT_conf_nid(nil, &context, kind, text) else {
        throw .tls("OpenSSL refuses the extension \(text)")
      }
      X509_add_ext(certificate, made, -1)
      X509_EXTENSION_free(made)
    }
    let hash = subject.isWeaklySigned ? EVP_sha1() : EVP_sha256()
    guard X509_sign(made, issuer?.key ?? key, hash) > 0 else { throw .tls("OpenSSL can't sign a certificate") }
  }

  deinit {
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  /// From PEM; nil for anything else.
  static func read(certificate: [UInt8], key: [UInt8]) -> Certificate? {
    func parsed(_ bytes: [UInt8], _ parse: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
      guard let memory = BIO_new_mem_buf(bytes, Int32(bytes.count)) else { return nil }
      defer { BIO_free(memory) }
      return parse(memory)
    }
    guard let one = parsed(certificate, { PEM_read_bio_X509($0, nil, nil, nil) }) else { return nil }
    guard let other = parsed(key, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }),
      X509_check_private_key(one, other) == 1
    else {
      X509_free(one)
      return nil
    }
    return Certificate(certificate: one, key: other)
  }

  var pem: String { Self.text { PEM_write_bio_X509($0, certificate) } }
  var keyPEM: String { Self.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) } }

  static func text(_ write: (OpaquePointer) -> Int32) -> String {
    guard let memory = BIO_new(BIO_s_mem()) else { return "" }
    defer { BIO_free(memory) }
    var bytes: UnsafeMutablePointer<CChar>?
    guard write(memory) == 1 else { return "" }
    let count = oc_memory(memory, &bytes)
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
  }
}
