/// What proves to a server who asks: a certificate and its private key. In memory only, and never shown.
public struct ClientCertificate: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
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

  public static let maxBytes = 64 << 10

  /// Looks at the form only. Whether both belong together is found when they are first shown.
  public init(certificate: String, key: String) throws(Failure) {
    guard certificate.utf8.count <= Self.maxBytes, key.utf8.count <= Self.maxBytes else { throw .tooLong }
    guard LeafKey.pin(ofPEM: certificate) != nil else { throw .noCertificate }
    let blocks = PEMBlock.all(in: key).filter { $0.label.hasSuffix("PRIVATE KEY") }
    if blocks.contains(where: \.isEncrypted) { throw .encryptedKey }
    guard let block = blocks.first, block.isOneSequence else { throw .noKey }
    self.certificate = certificate
    self.key = key
  }

  public var description: String { "a client certificate" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One block of textual encoding (RFC 7468).
struct PEMBlock {
  let label: String
  /// nil for what isn't base64, for example encrypted keys of the old form.
  let bytes: [UInt8]?
  let isEncrypted: Bool

  static func all(in text: String) -> [PEMBlock] {
    var blocks: [PEMBlock] = []
    var open: (label: String, lines: [String])?
    for line in text.split(whereSeparator: \.isNewline).map({ String($0).trimmingBlanks }) {
      if let label = line.between("-----BEGIN ", "-----") {
        open = (label, [])
      } else if let block = open, line == "-----END \(block.label)-----" {
        let isEncrypted = block.label.hasPrefix("ENCRYPTED") || block.lines.contains { $0.hasPrefix("Proc-Type:") }
        blocks.append(
          PEMBlock(label: block.label, bytes: Base64.decode(block.lines.joined()), isEncrypted: isEncrypted))
        open = nil
      } else {
        open?.lines.append(line)
      }
    }
    return blocks
  }

  /// Every form of a private key is one DER sequence, to the last byte.
  var isOneSequence: Bool {
    guard let bytes else { return false }
    var reader = DERReader(bytes[...])
    guard let element = reader.next() else { return false }
    return element.tag == 0x30 && element.whole.count == bytes.count && !element.content.isEmpty
  }
}

extension String {
  fileprivate var trimmingBlanks: String {
    var view = self[...]
    while view.last == " " || view.last == "\t" { view.removeLast() }
    return String(view)
  }

  fileprivate func between(_ prefix: String, _ suffix: String) -> String? {
    guard hasPrefix(prefix), hasSuffix(suffix), utf8.count > prefix.utf8.count + suffix.utf8.count else { return nil }
    return String(dropFirst(prefix.count).dropLast(suffix.count))
  }
}
