internal import COpenSSL
internal import Glibc
internal import Synchronization

/// How an origin speaks TLS.
public struct TLSOptions: Sendable {
  public var authority: CertificateAuthority
  /// Beside localhost, 127.0.0.1, ::1 and the origin's address: DNS names and IP addresses.
  public var names: [String] = []
  /// Clients have to show a certificate of the authority (`CertificateAuthority.client`).
  public var demandsClientCertificate = false
  /// Clients are asked for such a certificate, and one that shows none is let in all the same.
  public var asksForClientCertificate = false
  /// Nothing newer than TLS 1.2.
  public var isLimitedTo12 = false
  /// Sends its own certificate's status along (OCSP stapling).
  public var staplesStatus = false
  /// On every connection, unless the script says otherwise.
  public var fault: CertificateFault?

  public init(_ authority: CertificateAuthority) { self.authority = authority }
}

/// The TLS contexts of an origin: one for each fault, made when it is first needed.
///
/// @unchecked Sendable: a context isn't changed once it is in `contexts`; OpenSSL counts its references itself.
final class TLSServer: @unchecked Sendable {
  private let options: TLSOptions
  private let names: [String]
  private let contexts = Mutex<[String: Context]>([:])

  private struct Context: @unchecked Sendable { let pointer: OpaquePointer }

  /// What contexts point to; as long-lived as they are.
  private let statuses = Mutex<[StapledStatus]>([])

  init(_ options: TLSOptions, address: String) throws(OriginError) {
    self.options = options
    var names = ["localhost", "127.0.0.1", "::1", address] + options.names
    for (index, name) in names.enumerated().reversed() where names[..<index].contains(name) { names.remove(at: index) }
    for name in names where name.isEmpty || !name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: ",") })
    {
      throw .tls("'\(name)' isn't a name that a certificate can have")
    }
    self.names = names.map { Self.isAddress($0) ? "IP:\($0)" : "DNS:\($0)" }
    _ = try context(nil)
  }

  deinit {
    contexts.withLock { for context in $0.values { SSL_CTX_free(context.pointer) } }
  }

  /// For a connection with the origin's fault or that of its rule.
  func context(_ fault: CertificateFault?) throws(OriginError) -> OpaquePointer {
    let fault = fault ?? options.fault
    let key = fault?.rawValue ?? ""
    if let known = contexts.withLock({ $0[key] }) { return known.pointer }
    let made = Context(pointer: try make(fault))
    return contexts.withLock { contexts in
      if let other = contexts[key] {
        SSL_CTX_free(made.pointer)
        return other
      }
      contexts[key] = made
      return made
    }.pointer
  }

  private func make(_ fault: CertificateFault?) throws(OriginError) -> OpaquePointer {
    let leaf = try options.authority.leaf(names: names, fault: fault)
    guard let context = SSL_CTX_new(TLS_server_method()) else { throw .tls("OpenSSL has no TLS") }
    let isOld = fault == .oldTLS
    // The old versions sign with SHA-1, which OpenSSL allows at its lowest level only; likewise weak certificates.
    if isOld || fault == .weakKey || fault == .weakHash { SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0") }
    let newest = isOld ? oc_tls1_1 : options.isLimitedTo12 ? oc_tls1_2 : oc_tls1_3
    guard oc_set_versions(context, isOld ? oc_tls1 : oc_tls1_2, newest) == 1,
      SSL_CTX_use_certificate(context, leaf.certificate) == 1, SSL_CTX_use_PrivateKey(context, leaf.key) == 1
    else {
      SSL_CTX_free(context)
      throw .tls("OpenSSL refuses the certificate")
    }
    oc_set_modes(context)
    if options.demandsClientCertificate || options.asksForClientCertificate { askForCertificate(context) }
    if options.staplesStatus { try staple(leaf, on: context) }
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, chosen, length, offered, offeredLength, _ in
        guard let offered else { return SSL_TLSEXT_ERR_NOACK }
        var at = 0
        while at < Int(offeredLength) {
          let size = Int(offered[at])
          guard at + 1 + size <= Int(offeredLength) else { break }
          if UnsafeBufferPointer(start: offered + at + 1, count: size).elementsEqual("http/1.1".utf8) {
            chosen?.pointee = offered + at + 1
            length?.pointee = UInt8(size)
            return SSL_TLSEXT_ERR_OK
          }
          at += 1 + size
        }
        return SSL_TLSEXT_ERR_NOACK
      }, nil)
    return context
  }

  private func askForCertificate(_ context: OpaquePointer) {
    let authority = options.authority.authority.certificate
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority)
    SSL_CTX_add_client_CA(context, authority)
    let isDemanded = options.demandsClientCertificate
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | (isDemanded ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nil)
    // A resumed session carries who the client was; every connection shows it itself.
    oc_forget_sessions(context)
  }

  private func staple(_ leaf: Certificate, on context: OpaquePointer) throws(OriginError) {
    let authority = options.authority.authority
    let status = StapledStatus(try Revocation.status(of: leaf, issuer: authority))
    statuses.withLock { $0.append(status) }
    // A client that checks the status looks for its signer in the chain.
    X509_up_ref(authority.certificate)
    oc_add_chain(context, authority.certificate)
    oc_set_status(
      context,
      { ssl, argument in
        guard let ssl, let argument else { return SSL_TLSEXT_ERR_NOACK }
        let bytes = Unmanaged<StapledStatus>.fromOpaque(argument).takeUnretainedValue().bytes
        guard let copy = oc_duplicate(bytes, bytes.count) else { return SSL_TLSEXT_ERR_NOACK }
        oc_set_status_response(ssl, copy.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
        return SSL_TLSEXT_ERR_OK
      }, Unmanaged.passUnretained(status).toOpaque())
  }

  private static func isAddress(_ text: String) -> Bool {
    var bytes = in6_addr()
    return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
  }
}
