internal import Downloads
internal import Foundation

/// Who `outrider fetch` is to servers that ask.
struct FetchIdentity: Sendable {
  private let user: (name: String, password: String)?
  private let token: String?
  private let certificate: ClientCertificate?
  /// Those that the command names. A server that a redirect leads to may ask, too, and is shown nothing: any
  /// server could get a password or a token then, and a certificate names a person.
  private let origins: Set<String>

  /// nil: the command says nothing of who it is.
  init?(_ command: FetchCommand, urls: [String]) throws {
    if command.requests.user == nil, command.requests.tokenFile == nil, command.requests.cert == nil { return nil }
    user = try command.requests.user.map { text in
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else { throw Failure(64, "--user takes NAME:PASSWORD") }
      return (parts[0], parts[1])
    }
    token = try command.requests.tokenFile.map(Self.token)
    certificate = try command.requests.cert.map { try Self.certificate($0, key: command.requests.key) }
    origins = Set(urls.compactMap { try? ParsedURL($0).origin })
  }

  var advice: FetchAdvice { FetchAdvice(hasUser: user != nil, hasToken: token != nil, origins: origins) }

  /// From a file, because every user of the machine sees a command's arguments.
  private static func token(_ path: String) throws -> String {
    let token = try text(path, "--token-file").trimmingCharacters(in: .whitespacesAndNewlines)
    guard (1...longestToken).contains(token.utf8.count), token.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw Failure(64, "--token-file \(path): isn't one token of at most \(longestToken) visible characters")
    }
    return token
  }

  private static let longestToken = 4096

  private static func certificate(_ path: String, key: String?) throws -> ClientCertificate {
    let certificate = try text(path, "--cert")
    let keyText = try key.map { try text($0, "--key") }
    do throws(ClientCertificate.Failure) {
      return try ClientCertificate(certificate: certificate, key: keyText ?? certificate)
    } catch {
      switch error {
      case .noCertificate: throw Failure(64, "--cert \(path): \(error)")
      case .noKey where key == nil: throw Failure(64, "--cert \(path): \(error); name it with --key")
      case .noKey, .encryptedKey, .tooLong:
        throw Failure(64, "\(key.map { "--key \($0)" } ?? "--cert \(path)"): \(error)")
      }
    }
  }

  private static func text(_ path: String, _ option: String) throws -> String {
    guard let file = FileHandle(forReadingAtPath: path),
      let data = try? file.read(upToCount: ClientCertificate.maxBytes + 1)
    else { throw Failure(66, "\(option) \(path): \(InputFile.problem(path) ?? "is empty")") }
    return String(decoding: data, as: UTF8.self)
  }

  /// Shown to a server that asks in its handshake. Many let who shows none in, and refuse the request.
  @Sendable func clientCertificate(for origin: String) -> ClientCertificate? {
    origins.contains(origin) ? certificate : nil
  }

  private var password: ChallengeAnswer? { user.map { .credential(user: $0.name, password: $0.password) } }

  @Sendable func answer(_ challenge: AuthenticationChallenge) async -> ChallengeAnswer {
    guard challenge.previousFailureCount == 0, origins.contains(challenge.origin) else { return .cancel }
    switch challenge.kind {
    case .credentials("bearer", _, isProxy: false):
      // A password may do for another scheme that the server offers beside it.
      return token.map { .bearer(token: $0) } ?? password ?? .performDefaultHandling
    case .credentials(_, _, isProxy: false): return password ?? .performDefaultHandling
    case .clientCertificate: return certificate.map { .clientCertificate($0) } ?? .performDefaultHandling
    // A proxy has its own, in its URL.
    case .credentials, .serverTrust: return .cancel
    }
  }
}
