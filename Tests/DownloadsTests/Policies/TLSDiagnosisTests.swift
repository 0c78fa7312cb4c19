import CCurl
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct TLSDiagnosisTests {
  @Test func everyMessage() {
    let table: [(CURLcode, String, Int, Bool, TransportEnd.Problem?)] = [
      (
        CURLE_RECV_ERROR, "SSL routines::tlsv13 alert certificate required, errno 0", 0, false,
        .clientCertificate(.demanded)
      ),
      (CURLE_SSL_CLIENTCERT, "", 0, false, .clientCertificate(.demanded)),
      (CURLE_SSL_CONNECT_ERROR, "SSL routines::sslv3 alert handshake failure", 0, false, .clientCertificate(.perhaps)),
      (CURLE_RECV_ERROR, "SSL routines::sslv3 alert handshake failure", 0, false, nil),
      (CURLE_SSL_CONNECT_ERROR, "SSL routines::tlsv1 alert unknown ca", 0, true, .clientCertificate(.refused)),
      (CURLE_RECV_ERROR, "SSL routines::tlsv1 alert decrypt error", 0, true, .clientCertificate(.refused)),
      (CURLE_RECV_ERROR, "SSL routines::sslv3 alert certificate revoked", 0, true, .clientCertificate(.refused)),
      (CURLE_SSL_CONNECT_ERROR, "SSL routines::tlsv1 alert unknown ca", 0, false, nil),
      (CURLE_SSL_CERTPROBLEM, "unable to set private key", 0, true, .clientCertificate(.unusable)),
      (CURLE_SSL_CERTPROBLEM, "", 0, false, nil),
      (CURLE_SSL_CONNECT_ERROR, "SSL routines::tlsv1 alert protocol version", 0, false, .untrusted(.oldTLS)),
      (CURLE_SSL_CONNECT_ERROR, "SSL routines::unsupported protocol", 0, false, .untrusted(.oldTLS)),
      (CURLE_SSL_CONNECT_ERROR, "asn1 encoding routines::EVP lib", 0, false, .untrusted(.forgedSignature)),
      (CURLE_RECV_ERROR, "asn1 encoding routines::EVP lib", 0, false, nil),
      (CURLE_SSL_CONNECT_ERROR, "SSL routines::wrong version number", 0, false, nil),
      (CURLE_PEER_FAILED_VERIFICATION, "certificate is not yet valid", 9, false, .untrusted(.notYetValid)),
      (CURLE_PEER_FAILED_VERIFICATION, "CRL is not yet valid", 11, false, .untrusted(.notYetValid)),
      (CURLE_PEER_FAILED_VERIFICATION, "self-signed certificate", 18, false, .untrusted(.unknownAuthority)),
      (CURLE_PEER_FAILED_VERIFICATION, "self-signed certificate in chain", 19, false, .untrusted(.unknownAuthority)),
      (CURLE_PEER_FAILED_VERIFICATION, "no local issuer certificate", 20, false, .untrusted(.unknownAuthority)),
      (CURLE_PEER_FAILED_VERIFICATION, "unable to verify the first", 21, false, .untrusted(.unknownAuthority)),
      (CURLE_PEER_FAILED_VERIFICATION, "certificate has expired", 10, false, .untrusted(.other)),
      (CURLE_PEER_FAILED_VERIFICATION, "certificate revoked", 23, false, .untrusted(.other)),
      (CURLE_PEER_FAILED_VERIFICATION, "unable to get certificate CRL", 3, false, .untrusted(.other)),
      (CURLE_PEER_FAILED_VERIFICATION, "EE certificate key too weak", 66, false, .untrusted(.other)),
      (CURLE_SSL_INVALIDCERTSTATUS, "No OCSP response received", 0, false, .untrusted(.other)),
      (CURLE_RECV_ERROR, "Recv failure: Connection reset by peer", 0, true, nil),
      (CURLE_COULDNT_CONNECT, "alert certificate required", 0, true, nil), (CURLE_OK, "", 0, true, nil),
    ]
    for (code, message, verification, showed, expected) in table {
      let problem = TLSDiagnosis.problem(
        code, message: message, verification: verification, showedCertificate: showed)
      #expect(problem == expected, "\(code) \(message)")
    }
  }
}
