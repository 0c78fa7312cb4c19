import AssetModel
import Downloads
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin

/// Group B of the fault corpus: credentials and those who ask for them.
@Suite(.timeLimit(.minutes(2))) struct AuthenticationFaultTests {
  @Test(
    "F-39 every scheme",
    arguments: [
      Authentication.basic(user: "user", password: "pass"), .digest(user: "user", password: "pass"),
      .digest(user: "user", password: "pass", algorithm: .md5), .bearer(token: "token"),
    ])
  func schemes(authentication: Authentication) async throws {
    let trial = try await Trial.run(
      configure: { $0.authentication = authentication },
      options: {
        $0.answerChallenge = { challenge in
          guard case .credentials(let scheme, "development", false) = challenge.kind else { return .cancel }
          return scheme == "bearer" ? .bearer(token: "token") : .credential(user: "user", password: "pass")
        }
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && trial.requests.count == 2, "\(trial.end)")
    #expect(trial.requests[0].header("Authorization") == nil, "never before it is asked for")
  }

  @Test("F-39 a job that is resumed often isn't one whose credential is refused") func resumedOften() async throws {
    let counts = Mutex<[Int]>([])
    let trial = try await Trial.run(
      configure: { $0.authentication = .digest(user: "user", password: "pass") },
      options: {
        $0.answerChallenge = { challenge in
          counts.withLock { $0.append(challenge.previousFailureCount) }
          return .credential(user: "user", password: "pass")
        }
      }, reply: { _, nth in nth <= 10 ? .cut(after: .byte(512 << 10)) : nil })
    #expect(trial.isFinished, "\(trial.end)")
    #expect(counts.withLock { $0.count >= 5 && $0.allSatisfy { $0 == 0 } }, "\(counts.withLock { $0 })")
  }

  @Test(
    "F-39 a server that fails or has no such file yet refuses no credential", arguments: [404, 408, 429, 500, 503])
  func failsBetween(status: Int) async throws {
    let counts = Mutex<[Int]>([])
    let trial = try await Trial.run(
      configure: { $0.authentication = .basic(user: "user", password: "pass") },
      options: {
        $0.answerChallenge = { challenge in
          counts.withLock { $0.append(challenge.previousFailureCount) }
          return challenge.previousFailureCount == 0 ? .credential(user: "user", password: "pass") : .cancel
        }
      }, reply: { _, nth in nth <= 2 ? .with { $0.status = status } : nil })
    #expect(trial.isFinished, "\(trial.end)")
    #expect(counts.withLock { $0 } == [0, 0], "asked again, and not as one who was refused")
  }

  @Test("F-39 a refused credential is told from none", arguments: [true, false]) func refused(hasOne: Bool) async throws
  {
    let trial = try await Trial.run(
      configure: { $0.authentication = .basic(user: "user", password: "right") },
      options: {
        $0.answerChallenge = { challenge in
          hasOne && challenge.previousFailureCount == 0
            ? .credential(user: "user", password: "wrong") : .performDefaultHandling
        }
      }, reply: { _, _ in nil })
    let detail = trial.record.lastError ?? ""
    #expect(
      trial.failure == .challenge && detail.hasSuffix(hasOne ? "was given (basic)" : "none was given"), "\(detail)")
  }

  @Test("F-39 a stale nonce isn't a refusal") func staleNonce() async throws {
    let counts = Mutex<[Int]>([])
    let trial = try await Trial.run(
      configure: { $0.authentication = .digest(user: "user", password: "pass", usesPerNonce: 1) },
      options: {
        $0.answerChallenge = { challenge in
          counts.withLock { $0.append(challenge.previousFailureCount) }
          return .credential(user: "user", password: "pass")
        }
      }, reply: { _, _ in .with { $0.redirect = .hops(6) } })
    #expect(trial.isFinished, "\(trial.end)")
    #expect(counts.withLock { $0 } == [0], "asked once")
  }

  @Test("F-39 a nonce that is stale for ever") func foreverStale() async throws {
    let trial = try await Trial.run(
      options: { $0.answerChallenge = { _ in .credential(user: "user", password: "pass") } },
      reply: { _, nth in
        .with {
          $0.status = 401
          $0.setHeaders = [
            HeaderField("WWW-Authenticate", "Digest realm=\"r\", qop=\"auth\", nonce=\"n\(nth)\", stale=true")
          ]
        }
      })
    #expect(trial.failure == .challenge && trial.requests.count <= 12, "\(trial.requests.count)")
  }

  @Test("F-39 401 for ever: three rounds, and everyone knows which", arguments: [true, false]) func refusedForEver(
    isDigest: Bool
  ) async throws {
    let counts = Mutex<[Int]>([])
    let trial = try await Trial.run(
      configure: {
        $0.authentication =
          isDigest ? .digest(user: "user", password: "right") : .basic(user: "user", password: "right")
      },
      options: {
        $0.answerChallenge = { challenge in
          counts.withLock { $0.append(challenge.previousFailureCount) }
          return .credential(user: "user", password: "wrong")
        }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .challenge && trial.requests.count == 4)
    #expect(counts.withLock { $0 } == [0, 1, 2])
  }

  @Test(
    "F-39 never a weaker scheme than one that was offered",
    arguments: [
      ("Digest realm=\"r\", qop=\"auth\", algorithm=SHA-256, nonce=\"n\"", "Basic realm=\"r\""),
      (
        "Digest realm=\"r\", qop=\"auth\", algorithm=SHA-256, nonce=\"n\"",
        "Digest realm=\"r\", qop=\"auth\", algorithm=MD5, nonce=\"n\""
      ),
      ("Bearer realm=\"r\"", "Basic realm=\"other\""),
    ])
  func weaker(first: String, second: String) async throws {
    let trial = try await Trial.run(
      options: {
        $0.answerChallenge = { challenge in
          guard case .credentials("bearer", _, _) = challenge.kind else {
            return .credential(user: "user", password: "pass")
          }
          return .bearer(token: "token")
        }
      },
      reply: { _, nth in
        .with {
          $0.status = 401
          $0.setHeaders = [HeaderField("WWW-Authenticate", nth == 1 ? first : second)]
        }
      })
    #expect(trial.failure == .challenge && trial.requests.count == 2)
    #expect(trial.requests.allSatisfy { $0.header("Authorization")?.hasPrefix("Basic") != true })
  }

  @Test(
    "F-39 schemes that no client knows, and auth-int",
    arguments: ["Negotiate", "Digest realm=\"r\", qop=\"auth-int\", nonce=\"n\"", ""])
  func unknownScheme(challenge: String) async throws {
    let trial = try await Trial.run(
      options: { $0.answerChallenge = { _ in .credential(user: "user", password: "pass") } },
      reply: { _, _ in
        .with {
          $0.status = 401
          $0.setHeaders = [HeaderField("WWW-Authenticate", challenge)]
        }
      })
    #expect(trial.failure == .challenge && trial.requests.count == 1)
  }

  @Test("F-39 no answer comes in time") func noCredential() async throws {
    let trial = try await Trial.run(
      configure: { $0.authentication = .basic(user: "user", password: "pass") },
      options: {
        $0.challengeTimeout = .milliseconds(20)
        $0.answerChallenge = { _ in
          try? await Task.sleep(for: .seconds(3600))
          return .credential(user: "user", password: "pass")
        }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .challenge && trial.requests.count == 1)
  }
}
