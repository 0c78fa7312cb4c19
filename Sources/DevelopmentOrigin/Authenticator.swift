internal import Basics
internal import Hashing
internal import Synchronization

/// Checks credentials (RFC 7617, RFC 7616, RFC 6750).
final class Authenticator: Sendable {
  static let realm = "development"
  private static let maxNonces = 4096

  private let authentication: Authentication
  /// How often each nonce was used.
  private let nonces = Mutex<[String: Int]>([:])

  init(_ authentication: Authentication) { self.authentication = authentication }

  /// nil: let in. Otherwise the challenge.
  func challenge(_ request: RecordedRequest, field: String) -> String? {
    let given = request.header(field)?.split(separator: " ", maxSplits: 1).map(String.init) ?? []
    let scheme = given.first ?? ""
    let rest = given.count == 2 ? given[1].trimmed : ""
    switch authentication {
    case .basic(let user, let password):
      let expected = Base64.encode(Array("\(user):\(password)".utf8))
      let isRight = scheme.isEqualIgnoringCase(to: "Basic") && rest == expected
      return isRight ? nil : "Basic realm=\"\(Self.realm)\", charset=\"UTF-8\""
    case .bearer(let token):
      if scheme.isEqualIgnoringCase(to: "Bearer"), rest == token { return nil }
      return "Bearer realm=\"\(Self.realm)\"" + (given.isEmpty ? "" : ", error=\"invalid_token\"")
    case .digest(let user, let password, let algorithm, let uses):
      guard scheme.isEqualIgnoringCase(to: "Digest"),
        isRight(Self.parameters(rest), request, user: user, password: password, algorithm)
      else { return freshChallenge(algorithm, isStale: false) }
      let nonce = Self.parameters(rest)["nonce"] ?? ""
      let isFresh = nonces.withLock { nonces in
        guard let used = nonces[nonce], used < uses ?? .max else { return false }
        nonces[nonce] = used + 1
        return true
      }
      return isFresh ? nil : freshChallenge(algorithm, isStale: true)
    }
  }

  private func freshChallenge(_ algorithm: DigestAlgorithm, isStale: Bool) -> String {
    let nonce = Hexadecimal.text(secretBytes(16))
    nonces.withLock { nonces in
      if nonces.count >= Self.maxNonces { nonces = [:] }
      nonces[nonce] = 0
    }
    let name = algorithm == .md5 ? "MD5" : algorithm == .sha256 ? "SHA-256" : "SHA-512"
    return "Digest realm=\"\(Self.realm)\", qop=\"auth\", algorithm=\(name), nonce=\"\(nonce)\""
      + (isStale ? ", stale=true" : "")
  }

  private func isRight(
    _ given: [String: String], _ request: RecordedRequest, user: String, password: String, _ algorithm: DigestAlgorithm
  ) -> Bool {
    guard given["username"] == user, given["realm"] == Self.realm, given["uri"] == request.target,
      given["qop"] == "auth",
      let nonce = given["nonce"], let count = given["nc"], let client = given["cnonce"],
      let response = given["response"]
    else { return false }
    func hash(_ text: String) -> String { Hexadecimal.text(algorithm.hash(text.utf8)) }
    let secret = hash("\(user):\(Self.realm):\(password)")
    return response == hash("\(secret):\(nonce):\(count):\(client):auth:\(hash("\(request.method):\(request.target)"))")
  }

  /// `name=value` and `name="value"`, separated by commas.
  private static func parameters(_ text: String) -> [String: String] {
    var result: [String: String] = [:]
    var rest = text[...]
    while let equals = rest.firstIndex(of: "=") {
      let name = String(rest[..<equals]).trimmed.lowercased()
      rest = rest[rest.index(after: equals)...]
      var value = ""
      if rest.first == "\"" {
        rest.removeFirst()
        while let character = rest.popFirst(), character != "\"" {
          value.append(character == "\\" ? rest.popFirst() ?? "\\" : character)
        }
        rest = rest.drop { $0 != "," }
      } else {
        value = String(rest.prefix { $0 != "," }).trimmed
        rest = rest.drop { $0 != "," }
      }
      result[name] = value
      rest = rest.dropFirst()
    }
    return result
  }
}
