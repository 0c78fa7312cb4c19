import AssetModel
import Downloads
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin

/// Group B of the fault corpus: certificates and proxies.
@Suite(.timeLimit(.minutes(2))) struct ServerTrustFaultTests {
  @Test("F-36 a certificate that is right") func rightCertificate() async throws {
    let trial = try await Trial.run(
      configure: { $0.tls = TLSOptions(Authority.shared.authority) },
      options: { $0.transport.authorityFile = Authority.shared.path },
      reply: { _, nth in nth == 1 ? .half : nil })
    #expect(trial.isFinished && trial.requests.count == 2)
  }

  @Test("F-36 certificates that are wrong: no request is sent", arguments: CertificateFault.allCases)
  func wrongCertificate(fault: CertificateFault) async throws {
    let trial = try await Trial.run(
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.fault = fault
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        if fault == .revoked { $0.transport.revocation["127.0.0.1"] = .list(file: Authority.shared.revocationPath) }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .trust, "\(trial.end)")
    #expect(trial.requests.isEmpty && trial.record.history.fruitlessAttempts == 0)
  }

  @Test("F-36 a key that isn't the pinned one") func wrongPin() async throws {
    let trial = try await Trial.run(
      configure: { $0.tls = TLSOptions(Authority.shared.authority) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.pins["127.0.0.1"] = ["sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
        $0.answerChallenge = { _ in .trustShownKey }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .trust && trial.requests.isEmpty, "a pin isn't open to question")
  }

  @Test(
    "F-36 trust is asked for once, for the chain that was shown",
    arguments: [CertificateFault.selfSigned, .wrongHost, .expired])
  func trustChallenge(fault: CertificateFault) async throws {
    let asked = Mutex<[AuthenticationChallenge]>([])
    let trial = try await Trial.run(
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.fault = fault
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.answerChallenge = { challenge in
          asked.withLock { $0.append(challenge) }
          return .trustShownKey
        }
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && trial.requests.count == 1)
    let challenges = asked.withLock { $0 }
    #expect(challenges.count == 1)
    guard case .serverTrust(let chain, let problem) = challenges.first?.kind else { throw Unexpected("\(challenges)") }
    #expect(chain.first?.contains("BEGIN CERTIFICATE") == true && !problem.isEmpty)
  }

  @Test(
    "F-36 no trust without an answer",
    arguments: [ChallengeAnswer.performDefaultHandling, .cancel, .credential(user: "a", password: "b"), nil])
  func noTrust(answer: ChallengeAnswer?) async throws {
    let trial = try await Trial.run(
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.fault = .selfSigned
      },
      options: {
        $0.challengeTimeout = .milliseconds(20)
        $0.answerChallenge = { _ in
          if let answer { return answer }
          // No answer comes: cancelled when the time is over.
          try? await Task.sleep(for: .seconds(3600))
          return .trustShownKey
        }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .trust && trial.requests.isEmpty)
  }

  @Test("F-37 a dead proxy isn't the origin's failure") func deadProxy() async throws {
    // Bound and never listening: it refuses, and no other process gets the port.
    let refusing = OwnedDescriptor(taking: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(refusing.number, $0, length) == 0 && getsockname(refusing.number, $0, &length) == 0
      }
    }
    #expect(isBound)
    let address = "http://127.0.0.1:\(UInt16(bigEndian: name.sin_port))"
    let scene = try await Scene(
      clock: TestClock(jumpsWhenIdle: false), options: { $0.transport.proxy = address }, reply: { _, _ in nil })
    for _ in 0..<4 {
      #expect(try await scene.isWaiting().code == .retrying)
      await scene.advance(by: .seconds(120))
    }
    #expect(try await scene.isWaiting().code == .retrying)
    scene.engine.cancel(scene.id)
    #expect(try await scene.end() == .cancelled)
    let record = try await scene.close()
    #expect(record.history.fruitlessAttempts == 0 && scene.origin.requests.isEmpty)
    _ = refusing.number
  }

  @Test("F-37 a proxy that asks for a credential") func proxyChallenge() async throws {
    let proxy = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { request, _ in
        request.header("Proxy-Authorization") == "Basic dXNlcjpwYXNz"
          ? nil
          : .with {
            $0.status = 407
            $0.setHeaders = [HeaderField("Proxy-Authenticate", "Basic realm=\"proxy\"")]
          }
      }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      options: {
        $0.transport.proxy = address
        $0.answerChallenge = { challenge in
          guard case .credentials("basic", "proxy", true) = challenge.kind, challenge.origin == "proxy" else {
            return .cancel
          }
          return .credential(user: "user", password: "pass")
        }
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && proxy.requests.count == 2 && trial.requests.isEmpty)
    #expect(proxy.requests.allSatisfy { $0.header("Authorization") == nil })
  }
}
