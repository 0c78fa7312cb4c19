internal import Crypto

/// What answers a challenge, request by request. In memory only, for one job and origin.
enum Authorization {
  enum Credential: Equatable {
    case password(user: String, password: String)
    case token(String)
  }

  struct Session {
    var challenge: Challenge
    var credential: Credential
    /// Requests made with this nonce.
    private var count = 0

    /// nil when the credential doesn't fit the scheme, or contains what would break out of a header.
    init?(_ challenge: Challenge, _ credential: Credential) {
      switch (challenge.scheme, credential) {
      case (.basic, .password(let user, let password)):
        guard !user.contains(":"), isClean(user), isClean(password) else { return nil }
      case (.digest, .password(let user, let password)):
        guard isClean(user), isClean(password), Digest(challenge) != nil else { return nil }
      case (.bearer, .token(let token)):
        guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
      default: return nil
      }
      self.challenge = challenge
      self.credential = credential
    }

    /// The value of `Authorization` or `Proxy-Authorization`.
    mutating func header(method: String, target: String, cnonce: String) -> String {
      switch (challenge.scheme, credential) {
      case (.basic, .password(let user, let password)): return "Basic \(Base64.encode(Array("\(user):\(password)".utf8)))"
      case (_, .token(let token)): return "Bearer \(token)"
      case (_, .password(let user, let password)):
        count += 1
        return Digest(challenge)?.header(user, password, method, target, count: count, cnonce: cnonce) ?? ""
      }
    }
  }

  private static func isClean(_ text: String) -> Bool { !text.utf8.contains { $0 < 0x20 || $0 == 0x7f } }

  /// Whether a scheme can be answered as it was offered.
  static func isSupported(_ challenge: Challenge) -> Bool { challenge.scheme != .digest || Digest(challenge) != nil }

  /// RFC 7616, for `qop=auth` and without it.
  struct Digest {
    private enum Hash { case md5, sha256 }

    private let challenge: Challenge
    private let hash: Hash
    private let isSession: Bool
    private let hasQuality: Bool

    init?(_ challenge: Challenge) {
      var name = challenge.parameters["algorithm"]?.uppercased() ?? "MD5"
      isSession = name.hasSuffix("-SESS")
      if isSession { name.removeLast(5) }
      switch name {
      case "MD5": hash = .md5
      case "SHA-256": hash = .sha256
      default: return nil
      }
      guard challenge.parameters["nonce"] != nil else { return nil }
      let qualities = challenge.parameters["qop"]?.split(separator: ",").map { $0.filter { $0 != " " }.lowercased() }
      // The body's integrity (auth-int) can't be promised for a request that is repeated in pieces.
      if let qualities, !qualities.contains("auth") { return nil }
      hasQuality = qualities != nil
      self.challenge = challenge
    }

    func header(_ user: String, _ password: String, _ method: String, _ target: String, count: Int, cnonce: String) -> String {
      let nonce = challenge.parameters["nonce"] ?? ""
      let hexadecimal = String(count, radix: 16)
      let number = String(repeating: "0", count: max(0, 8 - hexadecimal.count)) + hexadecimal
      var first = hex("\(user):\(challenge.realm):\(password)")
      if isSession { first = hex("\(first):\(nonce):\(cnonce)") }
      let second = hex("\(method):\(target)")
      let response =
        hasQuality ? hex("\(first):\(nonce):\(number):\(cnonce):auth:\(second)") : hex("\(first):\(nonce):\(second)")
      var fields = [
        "username=\(quoted(user))", "realm=\(quoted(challenge.realm))", "nonce=\(quoted(nonce))", "uri=\(quoted(target))",
        "response=\"\(response)\"",
      ]
      if let algorithm = challenge.parameters["algorithm"] { fields.append("algorithm=\(algorithm.filter { $0.isLetter || $0.isNumber || $0 == "-" })") }
      if let opaque = challenge.parameters["opaque"] { fields.append("opaque=\(quoted(opaque))") }
      if hasQuality { fields += ["qop=auth", "nc=\(number)", "cnonce=\"\(cnonce)\""] }
      return "Digest " + fields.joined(separator: ", ")
    }

    private func quoted(_ text: String) -> String {
      "\"" + text.filter { !$0.isNewline }.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }

    private func hex(_ text: String) -> String {
      let bytes = Array(text.utf8)
      let digest: [UInt8] =
        switch hash {
        case .md5: Array(Insecure.MD5.hash(data: bytes))
        case .sha256: Array(SHA256.hash(data: bytes))
        }
      return digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
}
