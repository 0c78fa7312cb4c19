import AssetModel
import Downloads
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin

/// Group B of the fault corpus: transport, TLS, redirects, authentication.
@Suite struct FaultsBTests {
  // MARK: Time

  @Test("F-27 a body that stalls goes on over another connection") func stall() async throws {
    let scene = try await Scene { _, nth in nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil }
    try await scene.event { if case .progress = $0 { true } else { false } }
    await scene.advance(by: .seconds(40))
    #expect(try await scene.isWaiting().data["lastError"] == "next to nothing arrived for too long")
    #expect(try await scene.end().isFinished && scene.isWhole)
    let requests = scene.origin.requests
    #expect(requests.map { $0.header("Range") } == [nil, "bytes=1048576-"])
    #expect(requests[0].connection != requests[1].connection)
    _ = try await scene.close()
  }

  @Test("F-27 a head that trickles in, or never comes", arguments: [true, false]) func slowHead(trickles: Bool)
    async throws
  {
    let scene = try await Scene { _, nth in
      guard nth == 1 else { return nil }
      return .with {
        if trickles { $0.timing.betweenHeadBytes = .milliseconds(1) } else { $0.timing.beforeStatus = .seconds(3600) }
        $0.setHeaders = [HeaderField("X-Padding", String(repeating: "x", count: 20_000))]
      }
    }
    _ = await scene.origin.requests(count: 1, within: .seconds(5))
    // Bytes that come meanwhile don't extend it.
    await scene.advance(by: .seconds(30))
    #expect(await scene.engine.explain(scene.id)?.code == .transferring)
    await scene.advance(by: .seconds(31))
    #expect(try await scene.isWaiting().data["lastError"] == "the server didn't answer in time")
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test("F-27 a TLS handshake that never ends") func endlessHandshake() async throws {
    // It waits for a request in plain text, and the client for a ServerHello: nobody says anything after the first line.
    let scene = try await Scene(
      specification: { $0.url = $0.url.replacing("http:", with: "https:") },
      configure: { $0.headLimit = .seconds(3600) }, options: { $0.transport.connectTimeout = .milliseconds(20) },
      reply: { _, _ in nil })
    #expect(try await scene.end().reason == .noProgress)
    #expect(try await scene.close().history.fruitlessAttempts == 6)
  }

  @Test(
    "F-28 reset, close and half-close in mid-body", arguments: Reply.Ending.Manner.allCases.filter { $0 != .silence })
  func brokenBody(manner: Reply.Ending.Manner) async throws {
    let trial = try await Trial.run(digest: Trial.digest) { _, nth in
      nth <= 2 ? .cut(after: .byte(1 << 20), manner) : nil
    }
    #expect(trial.isFinished && trial.requests.count == 3)
    #expect(trial.record.history.validatorRestarts == 0)
  }

  @Test("F-28 a connection that dies at once is tried a bounded number of times") func bounded() async throws {
    let trial = try await Trial.run { _, _ in .cut(after: .byte(0), .reset) }
    #expect(trial.failure == .noProgress && trial.requests.count == 6)
  }

  @Test("F-30 heads without measure", arguments: [Reply.HeaderFlood.many(2000), .huge(1 << 20), .endless])
  func flood(flood: Reply.HeaderFlood) async throws {
    let trial = try await Trial.run { _, _ in .with { $0.flood = flood } }
    #expect(trial.failure == .hostileResponse && trial.requests.count == 1)
    #expect(trial.record.receivedBytes < 1 << 20)
  }

  // MARK: Redirects

  @Test("F-32 redirects in a circle, and too many") func circle() async throws {
    let loop = try await Trial.run { _, _ in .with { $0.redirect = .loop } }
    #expect(loop.failure == .refused && loop.requests.count == 1)
    let most = try await Trial.run { _, _ in .with { $0.redirect = .hops(10) } }
    #expect(most.isFinished && most.requests.count == 11)
    let more = try await Trial.run { _, _ in .with { $0.redirect = .hops(11) } }
    #expect(more.failure == .refused && more.requests.count == 11)
  }

  static func withOther(_ configuration: inout OriginConfiguration) {
    configuration.resources["/other"] = Resource(Trial.content)
  }

  @Test(
    "F-32 redirects of every form",
    arguments: ["other", "/other", "./x/../other", "//{host}/other", "http://{host}/other#fragment", "other#%00"],
    [301, 302, 303, 307, 308])
  func forms(target: String, status: Int) async throws {
    let trial = try await Trial.run(configure: Self.withOther) { request, _ in
      request.path == Trial.path ? .with { $0.redirect = .to(target, status: status) } : nil
    }
    #expect(trial.isFinished)
    #expect(trial.requests.map(\.target) == ["/file", "/other"], "without its fragment")
  }

  @Test("F-32 control characters in a redirect", arguments: ["/a\u{1}b", "/a\tb", "/a\u{7f}b"]) func controls(
    target: String
  ) async throws {
    let trial = try await Trial.run { _, _ in .with { $0.redirect = .to(target) } }
    #expect(trial.failure == .hostileResponse && trial.requests.count == 1)
  }

  @Test("F-32 a line break in a redirect makes another field, not another place") func lineBreak() async throws {
    let trial = try await Trial.run(configure: Self.withOther) { request, _ in
      request.path == Trial.path ? .with { $0.redirect = .to("/other\r\nX-Other: /third") } : nil
    }
    #expect(trial.isFinished && trial.requests.map(\.target) == ["/file", "/other"])
  }

  @Test(
    "F-33 redirects to where nobody may go",
    arguments: [
      "https://evil.test/", "https://evilgood.test/", "https://good.test.evil.test/", "https://good.test@evil.test/",
      "https://user:password@good.test/", "https://g\u{43e}\u{43e}d.test/", "https://good.test./", "https://10.0.0.1/",
      "https://0x0a000001/", "https://167772161/", "https://[fe80::1]/", "https://good.test:8443/", "http://good.test/",
      "file:///etc/passwd", "ftp://good.test/", "gopher://good.test/", "https://sub.good.test/", "javascript:alert(1)",
      "https:///file",
    ])
  func forbiddenTargets(target: String) async throws {
    let trial = try await Trial.run(
      options: {
        $0.transport.hosts.domains = ["good.test"]
        $0.transport.hosts.allowsAnyPort = false
        // Whoever gets through is seen.
        $0.transport.resolve = ["*:443:127.0.0.1", "good.test:8443:127.0.0.1"]
      },
      reply: { _, _ in .with { $0.redirect = .to(target) } })
    #expect([.notAllowed, .refused, .hostileResponse].contains(trial.failure), "\(trial.end)")
    #expect(trial.requests.count == 1)
  }

  @Test("F-33 from https to http") func downgrade() async throws {
    let plain = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { plain.stop() }
    let target = plain.url(Trial.path)
    let trial = try await Trial.run(
      configure: { $0.tls = TLSOptions(Authority.shared.authority) },
      options: { $0.transport.authorityFile = Authority.shared.path },
      reply: { _, _ in .with { $0.redirect = .to(target) } })
    #expect(trial.failure == .notAllowed && plain.requests.isEmpty)
  }

  // MARK: Addresses

  @Test(
    "F-34 a name that resolves to addresses that nobody may connect to",
    arguments: [
      "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
      "255.255.255.255",
      "[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]",
      "[2002:7f00:1::]", "[::]",
    ])
  func forbiddenAddress(address: String) async throws {
    let harness = try Harness {
      $0.transport.addresses.allowsLoopback = false
      $0.transport.resolve = ["cdn.test:443:\(address)"]
    }
    let end = try await harness.fetch(harness.specification("https://cdn.test/file"))
    #expect(end.reason == .notAllowed, "\(end)")
    await harness.engine.close()
  }

  @Test("F-34 loopback is refused where it isn't allowed, and no byte is sent") func loopback() async throws {
    let trial = try await Trial.run(options: { $0.transport.addresses.allowsLoopback = false }, reply: { _, _ in nil })
    #expect(trial.failure == .notAllowed && trial.requests.isEmpty)
  }

  @Test("F-34 a name that leads inside between two hops") func rebinding() async throws {
    let trial = try await Trial.run(
      options: { $0.transport.resolve = ["cdn.test:443:192.168.0.1"] },
      reply: { _, _ in .with { $0.redirect = .to("https://cdn.test/inside") } })
    #expect(trial.failure == .notAllowed)
    guard case .failed(let failure) = trial.end else { return }
    #expect(failure.hop == 1)
  }

  @Test("F-35 nothing that was meant for one origin goes to another") func changeOfOrigin() async throws {
    let second = try Origin { $0.resources["/other"] = Resource(Trial.content) }
    defer { second.stop() }
    let target = second.url("/other")
    let scene = try await Scene(
      specification: {
        $0.headers = [
          Download.Header(name: "Authorization", value: "Bearer secret"), Download.Header(name: "Cookie", value: "a=b"),
          Download.Header(name: "X-Key", value: "secret"),
        ]
      },
      reply: { request, _ in
        request.path == Trial.path ? .with { $0.redirect = .to("/step") } : .with { $0.redirect = .to(target) }
      })
    guard case .note(_, let note) = try await scene.event({ if case .note = $0 { true } else { false } }) else {
      return
    }
    #expect(note.contains("custom headers were dropped"))
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map { $0.header("X-Key") } == ["secret", "secret"], "within one origin they stay")
    let names = ["authorization", "cookie", "x-key"]
    #expect(
      second.requests.count == 1 && second.requests[0].headers.allSatisfy { !names.contains($0.name.lowercased()) })
    _ = try await scene.close()
  }

  @Test("F-35 a credential that was given for one origin doesn't reach another") func credentialStays() async throws {
    let second = try Origin { $0.resources["/other"] = Resource(Trial.content) }
    defer { second.stop() }
    let target = second.url("/other")
    let trial = try await Trial.run(
      configure: { $0.authentication = .bearer(token: "secret") },
      options: { $0.answerChallenge = { _ in .bearer(token: "secret") } },
      reply: { _, _ in .with { $0.redirect = .to(target) } })
    #expect(trial.isFinished)
    #expect(trial.requests.map { $0.header("Authorization") } == [nil, "Bearer secret"])
    #expect(second.requests.map { $0.header("Authorization") } == [nil])
  }

  // MARK: TLS

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
      }, options: { $0.transport.authorityFile = Authority.shared.path }, reply: { _, _ in nil })
    // A server that speaks no newer TLS may be in the middle of an update: that is tried again, in vain.
    #expect(trial.failure == (fault == .oldTLS ? .noProgress : .trust), "\(trial.end)")
    #expect(trial.requests.isEmpty)
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
          // Nobody answers: cancelled when the time is over.
          try? await Task.sleep(for: .seconds(3600))
          return .trustShownKey
        }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .trust && trial.requests.isEmpty)
  }

  @Test("F-37 a dead proxy isn't the origin's failure") func deadProxy() async throws {
    // Bound and never listening: it refuses, and nobody else gets the port.
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
    for _ in 0..<8 {
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

  // MARK: Authentication

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
    "F-39 schemes that nobody knows, and auth-int",
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

  @Test("F-39 nobody answers in time") func noCredential() async throws {
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

  // MARK: Networks

  @Test("F-40 a change of network ends a wait") func networkChanged() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in nth == 1 ? .status(500) : nil }
    #expect(try await scene.isWaiting().code == .retrying)
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test("F-40 a change of network doesn't end what a server asked for") func retryAfterStays() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      nth == 1
        ? .with {
          $0.status = 503
          $0.retryAfter = .seconds(600)
        } : nil
    }
    _ = try await scene.isWaiting()
    scene.engine.networkChanged()
    #expect(await scene.engine.explain(scene.id)?.code == .retryAfter)
    #expect(scene.origin.requests.count == 1)
    _ = try await scene.close()
  }

  @Test("F-40 a change of network in mid-transfer: old connections aren't used again") func changedInTransfer()
    async throws
  {
    let scene = try await Scene { _, nth in nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil }
    try await scene.event { if case .progress = $0 { true } else { false } }
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(Set(scene.origin.requests.map(\.connection)).count == 2)
    let record = try await scene.close()
    #expect(record.history.fruitlessAttempts == 0, "nobody's failure")
  }
}

/// One authority for all tests, trusted by the file that it lies in.
struct Authority {
  static let shared = Authority()

  let authority: CertificateAuthority
  let path: String

  private init() {
    do {
      authority = try CertificateAuthority()
      path = "/tmp/outrider-test-ca-\(ProcessInfo.processInfo.processIdentifier).pem"
      try authority.pem.write(toFile: path, atomically: true, encoding: .utf8)
    } catch {
      fatalError("\(error)")
    }
  }
}
