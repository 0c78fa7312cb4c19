import DevelopmentOrigin
import Foundation
import TestSupport

/// One authority for all tests, trusted by the file that it lies in.
struct Authority {
  static let shared = Authority()

  let authority: CertificateAuthority
  let path: String
  /// Its list of what it took back.
  let revocationPath: String

  private init() {
    do {
      authority = try CertificateAuthority()
      path = ProcessFolder.path + "/authority.pem"
      revocationPath = ProcessFolder.path + "/revoked.pem"
      try authority.revocationList().write(toFile: revocationPath, atomically: true, encoding: .utf8)
      try authority.pem.write(toFile: path, atomically: true, encoding: .utf8)
    } catch {
      fatalError("\(error)")
    }
  }
}
