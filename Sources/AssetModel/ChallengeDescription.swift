/// A server's question who asks, as it crosses to an extension (B71).
public struct ChallengeDescription: Sendable, Equatable {
  /// The server that asks.
  public var host: String
  /// Its port, 1 to 65535.
  public var port: Int32
  /// The scheme of the URL, or the kind of a proxy.
  public var protocolName: String
  /// The realm that the server named; empty where it named none.
  public var realm: String
  /// One of the `NSURLAuthenticationMethod…` strings.
  public var authenticationMethod: String
  /// How many answers to this challenge the server has refused.
  public var previousFailureCount: Int64

  /// Creates a challenge of its parts.
  public init(
    host: String, port: Int32, protocolName: String, realm: String, authenticationMethod: String,
    previousFailureCount: Int64
  ) {
    self.host = host
    self.port = port
    self.protocolName = protocolName
    self.realm = realm
    self.authenticationMethod = authenticationMethod
    self.previousFailureCount = previousFailureCount
  }
}

/// What an extension answers to a challenge. Its description shows no credential, so that no log ever does.
public struct ChallengeDecision: Sendable, Equatable {
  /// The raw values of `URLSession.AuthChallengeDisposition`.
  public enum Disposition: Int32, Sendable, CaseIterable {
    case useCredential = 0
    case performDefaultHandling = 1
    case cancel = 2
    case rejectProtectionSpace = 3
  }

  /// A user's name and password. Its description shows neither.
  public struct Credential: Sendable, Equatable {
    /// Bytes of UTF-8; neither has a NUL.
    public static let longestUser = 255
    /// Bytes of UTF-8 that a password may have.
    public static let longestPassword = 1023

    /// At most 255 bytes of UTF-8.
    public let user: String
    /// At most 1,023 bytes of UTF-8.
    public let password: String

    /// nil for what no extension can answer.
    public init?(user: String, password: String) {
      guard user.utf8.count <= Self.longestUser, password.utf8.count <= Self.longestPassword,
        !user.utf8.contains(0), !password.utf8.contains(0)
      else { return nil }
      self.user = user
      self.password = password
    }
  }

  /// What is done with the challenge.
  public let disposition: Disposition
  /// Only with `useCredential`; nil there means to go on without one.
  public let credential: Credential?

  /// A credential that isn't to be used is left out.
  public init(_ disposition: Disposition, _ credential: Credential? = nil) {
    self.disposition = disposition
    self.credential = disposition == .useCredential ? credential : nil
  }
}

extension ChallengeDecision: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "\(disposition)\(credential == nil ? "" : " with a credential")" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["disposition": disposition]) }
}

extension ChallengeDecision.Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "a credential" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
