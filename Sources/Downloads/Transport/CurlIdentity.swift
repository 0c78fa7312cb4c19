internal import CCurl

/// What is shown to a server, and what is asked of it beyond libcurl's own verification.
enum CurlIdentity {
  /// libcurl copies the text; nothing touches the disk.
  static func set(_ identity: ClientCertificate, on easy: UnsafeMutableRawPointer) {
    for (option, kind, text) in [
      (CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERTTYPE, identity.certificate),
      (CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEYTYPE, identity.key),
    ] {
      oc_set_string(easy, kind, "PEM")
      var text = text
      text.withUTF8 { _ = oc_set_blob(easy, option, $0.baseAddress, $0.count) }
    }
    isolate(easy)
  }

  /// Neither a connection nor a TLS session of this transfer is found by another one: both carry what was granted to one
  /// job alone.
  static func isolate(_ easy: UnsafeMutableRawPointer) {
    oc_set_long(easy, CURLOPT_FRESH_CONNECT, 1)
    oc_set_long(easy, CURLOPT_FORBID_REUSE, 1)
    oc_set_long(easy, CURLOPT_SSL_SESSIONID_CACHE, 0)
  }

  static func set(_ revocation: RevocationCheck?, on easy: UnsafeMutableRawPointer) {
    switch revocation {
    case nil: break
    case .stapledStatus: oc_set_long(easy, CURLOPT_SSL_VERIFYSTATUS, 1)
    case .list(let file): oc_set_string(easy, CURLOPT_CRLFILE, file)
    }
  }

  /// Keys below 112 bits of security, and signatures with SHA-1. OpenSSL refuses them by itself from 3.2 on, and before
  /// where the distribution built it so; later ones keep the machine's own policy.
  static func refuseWeakness(_ easy: UnsafeMutableRawPointer) {
    if isOlderOpenSSL { oc_set_string(easy, CURLOPT_SSL_CIPHER_LIST, "DEFAULT@SECLEVEL=2") }
  }

  private static let isOlderOpenSSL: Bool = {
    guard let library = oc_version()?.pointee.ssl_version else { return false }
    let name = String(cString: library)
    return ["OpenSSL/1.", "OpenSSL/3.0.", "OpenSSL/3.1."].contains { name.hasPrefix($0) }
  }()

  /// Certificates that the peer has shown, as PEM, the leaf first (CURLINFO_CERTINFO(3)); ten at most.
  static func chain(of easy: UnsafeMutableRawPointer) -> [String] {
    var info: UnsafeMutablePointer<curl_certinfo>?
    guard oc_get_certificates(easy, &info) == CURLE_OK, let info = info?.pointee else { return [] }
    var chain: [String] = []
    for index in 0..<min(Int(info.num_of_certs), 10) {
      var entry = info.certinfo[index]
      while let node = entry {
        let text = String(cString: node.pointee.data)
        if text.hasPrefix("Cert:") { chain.append(String(text.dropFirst("Cert:".count))) }
        entry = node.pointee.next
      }
    }
    return chain
  }
}
