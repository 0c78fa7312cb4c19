import DevelopmentOrigin
import Foundation

/// One authority for all tests, trusted by the file that it lies in.
struct Authority {
  static let shared = Authority()

  let authority: CertificateAuthority
  let path: String

  private init() {
    do {
      authority = try CertificateAuthority()
      path = "/tmp/outrider-test-ca-\(ProcessInfo.processInfo.processIdentifier).pem"
      try authority.pem.write(toFile: path, atomically: true, encoding: .utf8)
    } catch {
      fatalError("\(error)")
    }
  }
}
