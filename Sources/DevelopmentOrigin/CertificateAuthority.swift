internal import Basics
internal import Glibc
internal import LinuxSystem

/// What is to be wrong with a server's certificate, or with its TLS.
public enum CertificateFault: String, Sendable, CaseIterable {
  case expired, notYetValid, wrongHost, unknownCA, selfSigned
  /// The authority took it back: its revocation list and its status say so.
  case revoked
  /// RSA of 1024 bits; signed with SHA-1.
  case weakKey, weakHash
  /// Nothing newer than TLS 1.1.
  case oldTLS
}

/// An authority of one's own, which issues what development origins present.
public final class CertificateAuthority: Sendable {
  private static let day = 86_400
  let authority: Certificate
  /// Where the certificate to be trusted lies; nil for an authority that was never stored.
  public let path: String?

  /// One that is forgotten with the process.
  public init() throws(OriginError) {
    authority = try Self.make("Outrider development CA")
    path = nil
  }

  /// The one that a directory holds (`ca.pem`, `ca-key.pem`); made there at first use, for this user only.
  public init(directory: String) throws(OriginError) {
    let path = directory + "/ca.pem"
    self.path = path
    do throws(SystemCallError) {
      try Self.makeDirectories(directory)
      // Two that start at once must not make two.
      let lock = try OwnedDescriptor.open(directory + "/lock", O_RDWR | O_CREAT)
      try checkErrno("flock", directory) { flock(lock.number, LOCK_EX) }
      if Files.exists(path) {
        let certificate = try OwnedDescriptor.open(path, O_RDONLY).readAll(limit: 65536)
        let key = try OwnedDescriptor.open(directory + "/ca-key.pem", O_RDONLY).readAll(limit: 65536)
        guard let found = Certificate.read(certificate: certificate, key: key) else {
          throw SystemCallError(
            "read", code: EINVAL, subject: "\(path), which is no certificate with its key; remove both")
        }
        authority = found
        return
      }
    } catch {
      throw .system(error)
    }
    let made = try Self.make("Outrider development CA")
    authority = made
    do throws(SystemCallError) {
      try Self.write(made.keyPEM, to: directory + "/ca-key.pem", mode: 0o600)
      try Self.write(made.pem, to: path, mode: 0o644)
    } catch {
      throw .system(error)
    }
  }

  /// The certificate to be trusted, as PEM.
  public var pem: String { authority.pem }

  /// `$XDG_STATE_HOME/outrider/ca`, or what stands for it.
  public static var defaultDirectory: String {
    func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
    let home = { variable("HOME") ?? Account.home(of: geteuid()) ?? "" }
    return (variable("XDG_STATE_HOME") ?? home() + "/.local/state") + "/outrider/ca"
  }

  /// What proves a client of that name to origins that demand it, as PEM.
  public func client(name: String) throws(OriginError) -> (certificate: String, key: String) {
    let now = time(nil)
    let made = try Certificate(
      .init(name: name, notBefore: now - Self.day, notAfter: now + 90 * Self.day, isClient: true), issuer: authority)
    return (made.pem, made.keyPEM)
  }

  /// Makes `client.pem` and `client-key.pem` in a directory, for this user only. Returns their paths.
  public func storeClient(in directory: String) throws(OriginError) -> (certificate: String, key: String) {
    let made = try client(name: "Outrider development client")
    let paths = (certificate: directory + "/client.pem", key: directory + "/client-key.pem")
    do throws(SystemCallError) {
      try Self.write(made.key, to: paths.key, mode: 0o600)
      try Self.write(made.certificate, to: paths.certificate, mode: 0o644)
    } catch {
      throw .system(error)
    }
    return paths
  }

  /// Makes `crl.pem` in a directory. Returns its path.
  @discardableResult
  public func storeRevocationList(in directory: String) throws(OriginError) -> String {
    let list = try revocationList()
    let path = directory + "/crl.pem"
    do throws(SystemCallError) { try Self.write(list, to: path, mode: 0o644) } catch { throw .system(error) }
    return path
  }

  func leaf(names: [String], fault: CertificateFault?) throws(OriginError) -> Certificate {
    let now = time(nil)
    var subject = Certificate.Subject(
      name: "Outrider development origin", alternativeNames: fault == .wrongHost ? ["DNS:elsewhere.invalid"] : names,
      notBefore: now - Self.day, notAfter: now + 90 * Self.day)
    switch fault {
    case .expired: (subject.notBefore, subject.notAfter) = (now - 30 * Self.day, now - Self.day)
    case .notYetValid: (subject.notBefore, subject.notAfter) = (now + Self.day, now + 30 * Self.day)
    case .revoked: subject.serial = Revocation.serial
    case .weakKey: subject.isWeak = true
    case .weakHash: subject.isWeaklySigned = true
    default: break
    }
    switch fault {
    case .selfSigned: return try Certificate(subject, issuer: nil)
    case .unknownCA:
      return try Certificate(subject, issuer: try Self.make("Another CA"))
    default: return try Certificate(subject, issuer: authority)
    }
  }

  private static func make(_ name: String) throws(OriginError) -> Certificate {
    let now = time(nil)
    return try Certificate(.init(name: name, notBefore: now - day, notAfter: now + 3650 * day), issuer: nil)
  }

  private static func makeDirectories(_ path: String) throws(SystemCallError) {
    var made = ""
    for part in path.pathNames {
      made += (made.isEmpty && !path.isAbsolutePath ? "" : "/") + part
      if mkdir(made, 0o700) != 0, errno != EEXIST { throw SystemCallError("mkdir", code: errno, subject: made) }
    }
  }

  private static func write(_ text: String, to path: String, mode: UInt32) throws(SystemCallError) {
    try OwnedDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: mode).write(text)
  }
}
