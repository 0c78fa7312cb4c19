internal import Downloads
internal import Synchronization

/// Hands the engine's questions to a service that is made after it.
final class ChallengeRelay: Sendable {
  typealias Server = @Sendable (AuthenticationChallenge) async -> ChallengeAnswer

  private let server = Mutex<Server?>(nil)

  func serve(_ body: @escaping Server) { server.withLock { $0 = body } }

  func answer(_ challenge: AuthenticationChallenge) async -> ChallengeAnswer {
    guard let server = server.withLock({ $0 }) else { return .performDefaultHandling }
    return await server(challenge)
  }
}
