import AssetModel
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group B of the fault corpus: servers that want to know by certificate who asks.
@Suite(.timeLimit(.minutes(2))) struct ClientCertificateFaultTests {
  private static func certificate(
    _ name: String = "me", by authority: CertificateAuthority = Authority.shared.authority
  )
    throws -> ClientCertificate
  {
    let client = try authority.client(name: name)
    return try ClientCertificate(certificate: client.certificate, key: client.key)
  }

  private static func demand(_ configuration: inout OriginConfiguration, is12: Bool = false) {
    configuration.tls = TLSOptions(Authority.shared.authority)
    configuration.tls?.demandsClientCertificate = true
    configuration.tls?.isLimitedTo12 = is12
  }

  @Test("F-39 a client certificate, shown when it is asked for", arguments: [false, true]) func shown(is12: Bool)
    async throws
  {
    let identity = try Self.certificate()
    let asked = Mutex<[AuthenticationChallenge]>([])
    let trial = try await Trial.run(
      configure: { Self.demand(&$0, is12: is12) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.answerChallenge = { challenge in
          asked.withLock { $0.append(challenge) }
          return .clientCertificate(identity)
        }
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && trial.requests.map(\.clientName) == ["me"], "\(trial.end)")
    let challenges = asked.withLock { $0 }
    // TLS 1.2 doesn't say why its handshake fails.
    #expect(challenges.map(\.kind) == [.clientCertificate(isCertain: !is12)])
    #expect(challenges.map(\.previousFailureCount) == [0])
  }

  @Test(
    "F-39 a server that asks for a certificate, and lets who shows none in, gets the one that is there for it",
    arguments: [false, true])
  func shownWhereItIsOptional(is12: Bool) async throws {
    let identity = try Self.certificate()
    let asked = Mutex<[String]>([])
    let trial = try await Trial.run(
      configure: {
        Self.demand(&$0, is12: is12)
        $0.tls?.demandsClientCertificate = false
        $0.tls?.asksForClientCertificate = true
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.clientCertificate = { origin in
          asked.withLock { $0.append(origin) }
          return identity
        }
      }, reply: { request, _ in request.clientName == "me" ? nil : .status(400) })
    #expect(trial.isFinished && trial.requests.map(\.clientName) == ["me"], "\(trial.end)")
    #expect(asked.withLock { $0 }.allSatisfy { $0.hasPrefix("https://") })
  }

  @Test(
    "F-39 no client certificate is there",
    arguments: [ChallengeAnswer.performDefaultHandling, .cancel, .trustShownKey, nil])
  func none(answer: ChallengeAnswer?) async throws {
    let trial = try await Trial.run(
      configure: { Self.demand(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        if let answer { $0.answerChallenge = { _ in answer } }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .challenge && trial.requests.isEmpty, "\(trial.end)")
    #expect(trial.end.failure?.detail.contains("client certificate") == true)
  }

  @Test("F-39 a client certificate that the server doesn't take: three rounds", arguments: [false, true])
  func refused(is12: Bool) async throws {
    let identity = try Self.certificate("another client", by: try CertificateAuthority())
    let counts = Mutex<[Int]>([])
    let trial = try await Trial.run(
      configure: { Self.demand(&$0, is12: is12) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.answerChallenge = { challenge in
          counts.withLock { $0.append(challenge.previousFailureCount) }
          return .clientCertificate(identity)
        }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .challenge && trial.requests.isEmpty, "\(trial.end)")
    #expect(counts.withLock { $0 } == [0, 1, 2])
  }

  @Test("F-39 a certificate whose key is another one's") func wrongKey() async throws {
    let first = try Authority.shared.authority.client(name: "a")
    let second = try Authority.shared.authority.client(name: "b")
    let identity = try ClientCertificate(certificate: first.certificate, key: second.key)
    let trial = try await Trial.run(
      configure: { Self.demand(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.answerChallenge = { _ in .clientCertificate(identity) }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .challenge && trial.requests.isEmpty, "\(trial.end)")
    #expect(trial.end.failure?.detail.contains("BEGIN") == false)
  }

  @Test("F-35 a client certificate isn't shown to another origin") func staysWithItsOrigin() async throws {
    let second = try Origin {
      Self.demand(&$0)
      $0.resources["/other"] = Resource(Trial.content)
    }
    defer { second.stop() }
    let target = second.url("/other")
    let identity = try Self.certificate()
    let origins = Mutex<[String]>([])
    let trial = try await Trial.run(
      configure: { Self.demand(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.answerChallenge = { challenge in
          origins.withLock { $0.append(challenge.origin) }
          return challenge.origin.hasSuffix(":\(second.port)") ? .cancel : .clientCertificate(identity)
        }
      }, reply: { _, _ in .with { $0.redirect = .to(target) } })
    #expect(trial.failure == .challenge && trial.requests.map(\.clientName) == ["me"])
    #expect(second.requests.isEmpty, "it asked by itself, and nothing was shown")
    #expect(Set(origins.withLock { $0 }).count == 2)
  }

  @Test("F-39 a connection that shows a certificate serves no other job") func notShared() async throws {
    let identity = try Self.certificate()
    let origin = try Origin {
      Self.demand(&$0)
      $0.resources["/file"] = Resource(.text("hello"))
    }
    defer { origin.stop() }
    let harness = try Harness {
      $0.transport.authorityFile = Authority.shared.path
      $0.answerChallenge = { $0.identifier == "mine" ? .clientCertificate(identity) : .cancel }
    }
    let mine = try await harness.fetch(harness.specification(origin.url("/file"), name: "mine"))
    let other = try await harness.fetch(harness.specification(origin.url("/file"), name: "other"))
    #expect(mine.isFinished && other.reason == .challenge, "\(mine) \(other)")
    #expect(origin.requests.count == 1)
    await harness.engine.close()
  }

  @Test func aCertificateIsNeverShown() throws {
    let identity = try Self.certificate()
    let texts = ["\(identity)", "\(ChallengeAnswer.clientCertificate(identity))", String(reflecting: identity)]
    var dumped = ""
    dump(identity, to: &dumped)
    #expect((texts + [dumped]).allSatisfy { !$0.contains("BEGIN") && !$0.contains("KEY") }, "\(texts) \(dumped)")
  }

  @Test func certificatesAndKeysByForm() throws {
    let client = try Authority.shared.authority.client(name: "me")
    let (certificate, key) = (client.certificate, client.key)
    func failure(_ certificate: String, _ key: String) -> ClientCertificate.Failure? {
      do throws(ClientCertificate.Failure) {
        _ = try ClientCertificate(certificate: certificate, key: key)
        return nil
      } catch {
        return error
      }
    }
    let body = key.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
    let table: [(String, String, ClientCertificate.Failure?)] = [
      (certificate, key, nil), (certificate + key, certificate + key, nil),
      (certificate.replacing("\n", with: "\r\n"), key.replacing("\n", with: "\r\n"), nil),
      (
        "preamble\n" + certificate,
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" + key, nil
      ),
      ("", key, .noCertificate), (key, key, .noCertificate), ("not PEM", key, .noCertificate),
      (certificate.replacing("END", with: "ENDE"), key, .noCertificate), (certificate, "", .noKey),
      (certificate, certificate, .noKey), (certificate, key.replacing("END ", with: ""), .noKey),
      (certificate, "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----", .noKey),
      (certificate, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", .noKey),
      (
        certificate, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n\(body)\n-----END ENCRYPTED PRIVATE KEY-----",
        .encryptedKey
      ),
      (
        certificate, "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n\(body)\n-----END EC PRIVATE KEY-----",
        .encryptedKey
      ),
      (certificate, key + String(repeating: "x", count: 65 << 10), .tooLong),
    ]
    for (certificate, key, expected) in table {
      #expect(failure(certificate, key) == expected, "\(certificate.prefix(60)) \(key.prefix(60))")
    }
  }
}
