internal import COpenSSL
internal import Glibc

/// What an authority says of certificates that it issued: its list (RFC 5280, 5), and the status of one (RFC 6960).
enum Revocation {
  /// Of the one that was taken back.
  static let serial = [UInt8](repeating: 0x5a, count: 16)
  private static let day = 86_400

  /// The revocation list, as PEM.
  static func list(of authority: Certificate) throws(OriginError) -> String {
    guard let list = X509_CRL_new(), let entry = X509_REVOKED_new() else { throw .tls("OpenSSL has no memory") }
    defer { X509_CRL_free(list) }
    X509_CRL_set_version(list, 1)
    X509_CRL_set_issuer_name(list, X509_get_subject_name(authority.certificate))
    let since = ASN1_TIME_adj(nil, time(nil), -1, 0)
    let until = ASN1_TIME_adj(nil, time(nil), 30, 0)
    let number = BN_bin2bn(serial, Int32(serial.count), nil)
    let integer = BN_to_ASN1_INTEGER(number, nil)
    defer {
      ASN1_TIME_free(since)
      ASN1_TIME_free(until)
      ASN1_INTEGER_free(integer)
      BN_free(number)
    }
    X509_CRL_set1_lastUpdate(list, since)
    X509_CRL_set1_nextUpdate(list, until)
    X509_REVOKED_set_serialNumber(entry, integer)
    X509_REVOKED_set_revocationDate(entry, since)
    X509_CRL_add0_revoked(list, entry)
    guard X509_CRL_sign(list, authority.key, EVP_sha256()) > 0 else { throw .tls("OpenSSL can't sign a list") }
    return Certificate.text { PEM_write_bio_X509_CRL($0, list) }
  }

  /// A signed response about one certificate, as DER.
  static func status(of leaf: Certificate, issuer: Certificate) throws(OriginError) -> [UInt8] {
    guard let basic = OCSP_BASICRESP_new(),
      let identifier = OCSP_cert_to_id(EVP_sha1(), leaf.certificate, issuer.certificate)
    else { throw .tls("OpenSSL has no memory") }
    let now = ASN1_TIME_adj(nil, time(nil), 0, -60)
    let next = ASN1_TIME_adj(nil, time(nil), 1, 0)
    defer {
      OCSP_BASICRESP_free(basic)
      OCSP_CERTID_free(identifier)
      ASN1_TIME_free(now)
      ASN1_TIME_free(next)
    }
    let revoked = BN_bin2bn(serial, Int32(serial.count), nil)
    let integer = BN_to_ASN1_INTEGER(revoked, nil)
    defer {
      BN_free(revoked)
      ASN1_INTEGER_free(integer)
    }
    let isRevoked = ASN1_INTEGER_cmp(X509_get0_serialNumber(leaf.certificate), integer) == 0
    OCSP_basic_add1_status(
      basic, identifier, isRevoked ? V_OCSP_CERTSTATUS_REVOKED : V_OCSP_CERTSTATUS_GOOD,
      isRevoked ? OCSP_REVOKED_STATUS_KEYCOMPROMISE : 0, isRevoked ? now : nil, now, next)
    guard OCSP_basic_sign(basic, issuer.certificate, issuer.key, EVP_sha256(), nil, 0) == 1,
      let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
    else { throw .tls("OpenSSL can't sign a status") }
    defer { OCSP_RESPONSE_free(response) }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = i2d_OCSP_RESPONSE(response, &bytes)
    guard count > 0, let bytes else { throw .tls("OpenSSL can't write a status") }
    defer { oc_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }
}

/// What a context hands to every client that asks for it.
final class StapledStatus: Sendable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }
}

extension CertificateAuthority {
  /// The list of what was taken back (`CertificateFault.revoked`), as PEM.
  public func revocationList() throws(OriginError) -> String { try Revocation.list(of: authority) }
}
