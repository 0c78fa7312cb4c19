internal import CCurl

/// What a failed handshake was about. libcurl has few codes for it; the rest is read from its message and from OpenSSL's
/// result of the verification. Where neither says more, nothing is claimed.
enum TLSDiagnosis {
  /// Why a certificate, or the way that it was shown, isn't accepted.
  enum Fault: Equatable {
    case notYetValid
    /// Nothing newer than TLS 1.1 is spoken.
    case oldTLS
    /// No trusted authority signed it.
    case unknownAuthority
    /// Its signature isn't that of the authority whose name it has.
    case forgedSignature
    /// The file of authorities can't be used: nothing was asked of the peer.
    case unreadableAuthorities
    case other
  }

  /// What a server has to do with a client certificate.
  enum Demand: Equatable {
    /// It says that it wants one.
    case demanded
    /// The handshake failed as it does when one is missing, and as it does for other reasons (TLS 1.2).
    case perhaps
    /// It saw one and doesn't want it.
    case refused
    /// Certificate and key don't belong together, or can't be read.
    case unusable
  }

  /// X509_V_ERR_…, as CURLINFO_SSL_VERIFYRESULT has them.
  private static let notYetValid: Set<Int> = [9, 11]
  private static let unknownAuthority: Set<Int> = [18, 19, 20, 21]

  private static func fault(_ verification: Int) -> Fault {
    if notYetValid.contains(verification) { return .notYetValid }
    return unknownAuthority.contains(verification) ? .unknownAuthority : .other
  }

  /// nil: the code alone says what happened. `showedCertificate`: this request had a client certificate to show.
  static func problem(
    _ code: CURLcode, message: String, verification: Int, showedCertificate: Bool
  ) -> TransportEnd.Problem? {
    switch code {
    case CURLE_SSL_CLIENTCERT: return .clientCertificate(.demanded)
    case CURLE_SSL_CERTPROBLEM: return showedCertificate ? .clientCertificate(.unusable) : nil
    case CURLE_SSL_INVALIDCERTSTATUS: return .untrusted(.other)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
      return .untrusted(fault(verification))
    case CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CIPHER:
      if message.contains("alert certificate required") { return .clientCertificate(.demanded) }
      if message.contains("alert protocol version") || message.contains("unsupported protocol") {
        return .untrusted(.oldTLS)
      }
      // A signature that doesn't fit: libcurl reports what OpenSSL met first, and no result of the verification. A
      // forged name of an authority isn't a broken connection.
      if code == CURLE_SSL_CONNECT_ERROR, Self.signatures.contains(where: message.contains) {
        return .untrusted(.forgedSignature)
      }
      if showedCertificate, Self.refusals.contains(where: { message.contains("alert \($0)") }) {
        return .clientCertificate(.refused)
      }
      guard code == CURLE_SSL_CONNECT_ERROR, message.contains("alert handshake failure") else { return nil }
      return .clientCertificate(.perhaps)
    default: return nil
    }
  }

  /// The parts of OpenSSL that verify signatures.
  private static let signatures = ["asn1 encoding routines", "rsa routines", "elliptic curve routines"]

  /// RFC 8446, 6.2, as OpenSSL writes them: a server says so of a client's certificate only.
  private static let refusals = [
    "bad certificate", "unsupported certificate", "certificate revoked", "certificate expired", "certificate unknown",
    "unknown ca", "access denied", "decrypt error",
  ]
}
