/// What proves to a server who asks: a certificate and its private key. In memory only, and never shown.
public struct ClientCertificate: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// Why a certificate and a key can't be used.
  public enum Failure: Error, Sendable, Equatable, CustomStringConvertible {
    case tooLong, noCertificate, noKey, encryptedKey

    public var description: String {
      switch self {
      case .tooLong: "it has more than \(ClientCertificate.maxBytes >> 10) KiB"
      case .noCertificate: "there is no certificate in it, as PEM (-----BEGIN CERTIFICATE-----)"
      case .noKey: "there is no private key in it, as PEM (-----BEGIN PRIVATE KEY-----)"
      case .encryptedKey: "its private key is encrypted; write it without a passphrase: openssl pkey -in FILE -out FILE"
      }
    }
  }

  /// PEM, leaf first; issuers between it and the server's authority may follow.
  let certificate: String
  /// PEM, without a passphrase.
  let key: String

  /// Bytes that each of the two may have.
  public static let maxBytes = PEMText.maxBytes

  /// Whether both belong together is found when they are first shown.
  ///
  /// - Throws: `Failure` with what is wrong.
  public init(certificate: String, key: String) throws(Failure) {
    guard certificate.utf8.count <= Self.maxBytes, key.utf8.count <= Self.maxBytes else { throw .tooLong }
    guard PEMText(certificate).pin != nil else { throw .noCertificate }
    let keyText = PEMText(key)
    if keyText.hasEncryptedKey { throw .encryptedKey }
    guard keyText.hasPrivateKey else { throw .noKey }
    self.certificate = certificate
    self.key = key
  }

  public var description: String { "a client certificate" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
