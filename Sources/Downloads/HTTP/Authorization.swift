internal import AssetModel
internal import Hashing

/// What answers a challenge, request by request. In memory only, for one job and origin.
enum Authorization {
  enum Credential: Sendable, Equatable {
    case password(user: String, password: String)
    case token(String)
  }

  /// Bytes that a user name, a password or a token may have: all of them go into one line.
  static let maxBytes = 4096

  struct Session: Sendable {
    let challenge: Challenge
    let credential: Credential
    private var digest: DigestAuthentication?

    /// nil when the credential doesn't fit the scheme, or contains what would break out of a header.
    init?(_ challenge: Challenge, _ credential: Credential) {
      switch (challenge.scheme, credential) {
      case (.basic, .password(let user, let password)):
        // A colon ends the user name (RFC 7617, 2).
        guard !user.utf8.contains(UInt8(ascii: ":")), Authorization.isClean(user), Authorization.isClean(password)
        else {
          return nil
        }
      case (.digest, .password(let user, let password)):
        // Quotes can be escaped, but not every server takes them as that.
        guard Authorization.isClean(user), Authorization.isClean(password),
          !user.utf8.contains(where: { "\"\\".utf8.contains($0) }),
          let digest = DigestAuthentication(challenge)
        else { return nil }
        self.digest = digest
      case (.bearer, .token(let token)):
        guard !token.isEmpty, token.utf8.count <= Authorization.maxBytes,
          token.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
      default: return nil
      }
      self.challenge = challenge
      self.credential = credential
    }

    /// The same credential with a new nonce. nil unless the server says that the nonce alone was old (RFC 7616, 3.3), in the
    /// same protection space: a credential that was given for one realm is for no other.
    func renewed(by challenge: Challenge) -> Session? {
      guard self.challenge.scheme == .digest, challenge.scheme == .digest, challenge.realm == self.challenge.realm,
        challenge.parameters["stale"]?.lowercased() == "true"
      else { return nil }
      return Session(challenge, credential)
    }

    /// The value of `Authorization` or `Proxy-Authorization`. `cnonce` is the client's nonce, new for every request.
    mutating func header(method: String, target: String, cnonce: String) -> String {
      switch credential {
      case .token(let token): "Bearer \(token)"
      case .password(let user, let password):
        digest?.header(user: user, password: password, method: method, target: target, cnonce: cnonce)
          ?? "Basic \(Base64.encode(Array("\(user):\(password)".utf8)))"
      }
    }
  }

  private static func isClean(_ text: String) -> Bool {
    text.utf8.count <= maxBytes && !text.utf8.contains(where: HeaderToken.isControl)
  }

  /// Whether a scheme can be answered as it was offered.
  static func isSupported(_ challenge: Challenge) -> Bool {
    challenge.scheme != .digest || DigestAuthentication(challenge) != nil
  }
}
