import AssetModel
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group B of the fault corpus: what stands between.
@Suite(.timeLimit(.minutes(2))) struct ProxyFaultTests {
  static func secure(_ configuration: inout OriginConfiguration) {
    configuration.tls = TLSOptions(Authority.shared.authority)
  }

  @Test("F-37 a tunnel, and an absolute target", arguments: [true, false]) func passesOn(isSecure: Bool) async throws {
    let proxy = try Origin { $0.isProxy = true }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      configure: { if isSecure { Self.secure(&$0) } },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
      }, reply: { _, nth in nth == 1 ? .half : nil })
    #expect(trial.isFinished && trial.requests.count == 2, "\(trial.end)")
    #expect(proxy.requests.map(\.method) == Array(repeating: isSecure ? "CONNECT" : "GET", count: 2))
  }

  @Test(
    "F-37 a tunnel's 407 is answered to the proxy alone",
    arguments: [Authentication.basic(user: "user", password: "pass"), .digest(user: "user", password: "pass")],
    [true, false])
  func credential(authentication: Authentication, isSecure: Bool) async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.proxyAuthentication = authentication
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      configure: { if isSecure { Self.secure(&$0) } },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
        $0.answerChallenge = { challenge in
          guard case .credentials(_, "development", true) = challenge.kind else { return .cancel }
          return .credential(user: "user", password: "pass")
        }
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end)")
    #expect(proxy.requests.count == 2 && proxy.requests[0].header("Proxy-Authorization") == nil)
    #expect(trial.requests.allSatisfy { $0.header("Proxy-Authorization") == nil && $0.header("Authorization") == nil })
  }

  @Test("F-37 a chain is looked at through the tunnel, with the proxy's credential") func chainThroughTunnel()
    async throws
  {
    let proxy = try Origin {
      $0.isProxy = true
      $0.proxyAuthentication = .basic(user: "user", password: "pass")
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      configure: {
        Self.secure(&$0)
        $0.tls?.fault = .selfSigned
      },
      options: {
        $0.transport.proxy = address
        $0.answerChallenge = { challenge in
          if case .serverTrust = challenge.kind { return .trustShownKey }
          return .credential(user: "user", password: "pass")
        }
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end)")
    // The 407, the verification, the look, the request.
    #expect(proxy.requests.count == 4)
  }

  @Test("F-37 a tunnel's 407 without end: three rounds") func refused() async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.proxyAuthentication = .basic(user: "user", password: "right")
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      configure: { Self.secure(&$0) },
      options: {
        $0.transport.proxy = address
        $0.answerChallenge = { _ in .credential(user: "user", password: "wrong") }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .challenge && proxy.requests.count == 4 && trial.requests.isEmpty, "\(trial.end)")
  }

  @Test("F-37 a proxy that fails before there is a tunnel uses up no attempt", arguments: [503, 403, 0])
  func failingProxy(status: Int) async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, nth in
        guard nth <= 8 else { return nil }
        return status == 0 ? .raw("", ending: .close) : .status(status)
      }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      .background, configure: { Self.secure(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && trial.record.history.fruitlessAttempts == 0, "\(trial.end)")
    #expect(proxy.requests.count == 9)
  }

  @Test("F-37 a dead proxy: who waits for it is told, by its name", arguments: [TransferClass.foreground, .essential])
  func dead(transferClass: TransferClass) async throws {
    let proxy = try Origin { $0.isProxy = true }
    let port = proxy.port
    proxy.stop()
    let trial = try await Trial.run(
      transferClass, configure: { Self.secure(&$0) },
      options: { $0.transport.proxy = "http://user:secret@127.0.0.1:\(port)" }, reply: { _, _ in nil })
    #expect(trial.failure == .noProgress && trial.record.history.fruitlessAttempts == 0, "\(trial.end)")
    let tries = trial.harness.journal.state.withLock { $0.attempts[trial.record.id]?.count ?? 0 }
    #expect(tries == (transferClass == .foreground ? 6 : 10), "with the one that ended it")
    let detail = trial.record.lastError ?? ""
    #expect(detail.contains("the proxy 127.0.0.1:\(port): ") && !detail.contains("secret"), "\(detail)")
  }

  enum Nonsense: CaseIterable {
    case close, garbage, flood, certificate

    var reply: Reply? {
      switch self {
      case .close: .raw("", ending: .close)
      case .garbage: .raw("HTTP/1.1 200 OK\r\n\0\r\n\r\n", ending: .close)
      case .flood:
        .raw("HTTP/1.1 200 OK\r\n" + String(repeating: "X: \(String(repeating: "x", count: 999))\r\n", count: 99))
      case .certificate: nil
      }
    }
  }

  @Test(
    "F-37 a proxy that breaks off, sends nonsense or has a bad certificate is named, and counts against no server",
    arguments: Nonsense.allCases, [true, false])
  func nonsense(kind: Nonsense, isSecure: Bool) async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, _ in kind.reply }
      guard kind == .certificate else { return }
      Self.secure(&$0)
      $0.tls?.fault = .expired
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      configure: { if isSecure { Self.secure(&$0) } },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
        // Nobody is asked whether the origin is trusted: it isn't the one that can't be.
        $0.answerChallenge = { _ in .trustShownKey }
      }, reply: { _, _ in nil })
    #expect(trial.failure == .noProgress && trial.record.history.fruitlessAttempts == 0, "\(trial.end)")
    #expect(trial.requests.isEmpty && proxy.requests.count == (kind == .certificate ? 0 : 6))
    let detail = trial.record.lastError ?? ""
    #expect(detail.hasPrefix("6 attempts in a row failed; the last: the proxy 127.0.0.1:\(proxy.port): "), "\(detail)")
    #expect(trial.record.lastCause == .proxy(why: detail))
  }

  @Test("F-37 what a proxy answers in the clear may be the server's: both are named", arguments: [502, 503, 504])
  func gateway(status: Int) async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, _ in .status(status) }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(options: { $0.transport.proxy = address }, reply: { _, _ in nil })
    #expect(trial.failure == .noProgress && trial.record.history.fruitlessAttempts == 6, "\(trial.end)")
    let detail = trial.record.lastError ?? ""
    #expect(detail.contains("the last: the proxy 127.0.0.1:\(proxy.port), or http://127.0.0.1:"), "\(detail)")
    #expect(detail.hasSuffix(" behind it, answered \(status)"), "\(detail)")
  }

  @Test("F-37 each hop has the proxy of its scheme, or none", arguments: ["", "other", "same"])
  func proxyOfTheHop(plain: String) async throws {
    let (first, second) = (try Origin { $0.isProxy = true }, try Origin { $0.isProxy = true })
    let target = try Origin {
      Self.secure(&$0)
      $0.resources[Trial.path] = Resource(Trial.content)
    }
    defer { for server in [first, second, target] { server.stop() } }
    let (address, other, place) = (first.url, second.url, target.url(Trial.path))
    let trial = try await Trial.run(
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
        $0.transport.plainProxy = plain == "same" ? nil : plain == "other" ? other : ""
      }, reply: { _, _ in .with { $0.redirect = .to(place) } })
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end)")
    #expect(first.requests.map(\.method) == (plain == "same" ? ["GET", "CONNECT"] : ["CONNECT"]))
    #expect(second.requests.map(\.method) == (plain == "other" ? ["GET"] : []))
  }

  @Test("F-37 where only plain http has a proxy, https goes without") func plainOnly() async throws {
    let proxy = try Origin { $0.isProxy = true }
    let target = try Origin {
      Self.secure(&$0)
      $0.resources[Trial.path] = Resource(Trial.content)
    }
    defer { for server in [proxy, target] { server.stop() } }
    let (address, place) = (proxy.url, target.url(Trial.path))
    let trial = try await Trial.run(
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.plainProxy = address
      }, reply: { _, _ in .with { $0.redirect = .to(place) } })
    #expect(trial.isFinished && target.requests.count == 1, "\(trial.end)")
    #expect(proxy.requests.map(\.method) == ["GET"])
  }

  @Test(
    "F-37 another proxy in mid-transfer: what is there stays, and the rest comes by the new one",
    arguments: [true, false])
  func changes(toDirect: Bool) async throws {
    let first = try Origin { $0.isProxy = true }
    let second = try Origin { $0.isProxy = true }
    let origin = try Origin {
      Self.secure(&$0)
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? .with { $0.ending = .init(.silence, after: .byte(2 << 20)) } : nil }
    }
    defer { for server in [first, second, origin] { server.stop() } }
    // A clock that jumped would call the silence a stall before the proxy has changed.
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false)) {
      $0.transport.authorityFile = Authority.shared.path
      $0.transport.proxy = first.url
    }
    let events = harness.engine.events
    let specification = harness.specification(origin.url(Trial.path), digest: Trial.digest)
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    while await harness.engine.progress(of: id)?.received ?? 0 < 2 << 20 { await Task.yield() }
    harness.engine.setProxy(toDirect ? nil : second.url)
    for await event in events {
      if case .finished = event { break }
      if case .failed(_, let failure) = event { throw Unexpected("\(failure)") }
    }
    await harness.engine.close()
    #expect(harness.contents() == Data(Trial.content.bytes(in: 0..<Trial.size)))
    #expect(first.requests.count == 1 && second.requests.count == (toDirect ? 0 : 1))
    #expect(origin.requests.count == 2 && origin.requests[1].header("Range") != nil, "\(origin.requests)")
  }

  @Test("F-37 a proxy's failures count in a row, each job's for itself") func health() {
    var health = ProxyHealth()
    let (one, other) = (JobID(1), JobID(2))
    #expect(health.failed(one) == 1 && health.failed(other) == 1 && health.failed(one) == 2 && health.failures == 3)
    health.forget(one)
    #expect(health.failed(one) == 1 && health.failed(other) == 2)
    health.answered()
    #expect(health.failures == 0 && health.failed(one) == 1)
    for _ in 0..<100 { _ = health.failed(other) }
    #expect(health.failures == 64)
  }

  @Test("F-37 407 where there is no proxy is the origin's own") func noProxy() async throws {
    let trial = try await Trial.run(
      options: { $0.answerChallenge = { _ in .credential(user: "user", password: "pass") } },
      reply: { _, _ in
        .with {
          $0.status = 407
          $0.setHeaders = [HeaderField("Proxy-Authenticate", "Basic realm=\"x\"")]
        }
      })
    #expect(trial.failure == .hostileResponse && trial.requests.count == 1, "\(trial.end)")
  }

  @Test(
    "F-37 a proxy's name in messages",
    arguments: [
      ("http://user:pa@ss@proxy.example:3128/", "proxy.example:3128"), ("proxy.example:3128", "proxy.example:3128"),
      ("https://proxy.example", "proxy.example:443"), ("proxy.example", "proxy.example:1080"),
      ("socks5h://[::1]:9", "[::1]:9"), ("http://[::1]", "[::1]:1080"), ("", ":1080"),
    ])
  func name(proxy: String, expected: String) {
    #expect(ProxyRules.name(of: proxy) == expected)
    #expect(ProxyRules.isSOCKS(proxy) == proxy.hasPrefix("socks5h:"))
    #expect(ProxyRules.isOfTLS(proxy) == proxy.hasPrefix("https:"))
  }

  @Test("F-37 a proxy that fails is left alone for longer and longer") func backOff() async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, nth in nth <= 5 ? .status(503) : nil }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let clock = TestClock()
    let trial = try await Trial.run(
      clock: clock, configure: { Self.secure(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
      }, reply: { _, _ in nil })
    #expect(trial.isFinished)
    let waits = clock.jumps.withLock { $0 }
    // 1, 2, 4, 8, 16 s, each times 0.5 … 1.5.
    #expect(waits.count >= 5 && waits.reduce(.zero, +) > .seconds(14), "\(waits)")
  }

  @Test("F-37 an origin that the proxy can't reach is the origin's failure") func unreachable() async throws {
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, _ in .status(502) }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      configure: { Self.secure(&$0) }, options: { $0.transport.proxy = address }, reply: { _, _ in nil })
    #expect(trial.failure == .noProgress && trial.record.history.fruitlessAttempts == 6, "\(trial.end)")
    #expect(
      "\(trial.end)".contains("the last: the proxy \(proxy.url.dropFirst(7)) answered 502"), "\(trial.end)")
  }

  /// Takes a port without listening there: no other process, and so no other test's proxy, gets it meanwhile.
  private static func hold(_ port: UInt16) throws -> Int32 {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var (yes, address): (Int32, sockaddr_in) = (1, sockaddr_in())
    setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, size) }
    }
    guard code == 0 else { throw Unexpected("port \(port) is taken: \(errno)") }
    return number
  }

  @Test("F-37 a proxy that dies in mid-transfer: what is there stays, and the origin isn't blamed") func dies()
    async throws
  {
    let lasting = try LastingPort.find()
    let proxy = try Origin {
      $0.isProxy = true
      $0.port = lasting
    }
    let (address, port) = (proxy.url, proxy.port)
    let scene = try await Scene(
      clock: TestClock(jumpsWhenIdle: false), configure: { Self.secure(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
      }, reply: { _, nth in nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil })
    try await scene.event { if case .progress = $0 { true } else { false } }
    proxy.stop()
    let held = try Self.hold(port)
    // The cut is anybody's; what follows is the proxy's.
    for _ in 0..<4 {
      #expect(try await scene.isWaiting().code == .retrying)
      await scene.advance(by: .seconds(120))
    }
    _ = try await scene.isWaiting()
    close(held)
    let next = try Origin {
      $0.isProxy = true
      $0.port = port
    }
    defer { next.stop() }
    await scene.advance(by: .seconds(120))
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.count == 2 && scene.origin.requests[1].header("Range") != nil)
    #expect(try await scene.close().history.fruitlessAttempts <= 1)
  }

  @Test("F-37 a proxy that reads along needs an authority that is trusted") func readsAlong() async throws {
    let elsewhere = try CertificateAuthority()
    let reader = try Origin {
      $0.tls = TLSOptions(elsewhere)
      $0.resources[Trial.path] = Resource(Trial.content)
    }
    defer { reader.stop() }
    // Whatever is asked for, it leads to itself.
    let trial = try await Trial.run(
      configure: { Self.secure(&$0) },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.resolve = ["cdn.localhost:\(reader.port):127.0.0.1"]
      },
      reply: { _, _ in .with { $0.redirect = .to("https://cdn.localhost:\(reader.port)\(Trial.path)") } })
    #expect(trial.failure == .trust && reader.requests.isEmpty, "\(trial.end)")
  }

  @Test("F-37 a stale range from a proxy's cache: the attempt after asks for no cache") func staleRange() async throws {
    let stale = Content.pseudoRandom(seed: 43, count: Trial.size)
    let proxy = try Origin {
      $0.isProxy = true
      // It keeps the end of an older version, and shows it as the one that was asked for.
      $0.handler = { request, _ in
        guard request.header("Range") != nil, request.header("Cache-Control")?.contains("no-cache") != true else {
          return nil
        }
        return .with {
          $0.status = 206
          $0.body = .bytes(Array(stale.bytes(in: (2 << 20)..<Trial.size)))
          // What the origin says of the whole file would give it away at once.
          $0.removedHeaders = ["Repr-Digest"]
          $0.setHeaders = [
            HeaderField("Content-Range", "bytes \(2 << 20)-\(Trial.size - 1)/\(Trial.size)"),
            HeaderField("ETag", "\"\(Trial.content.identity)\""),
          ]
        }
      }
    }
    defer { proxy.stop() }
    let address = proxy.url
    let trial = try await Trial.run(
      digest: Trial.digest, options: { $0.transport.proxy = address },
      reply: { _, nth in nth == 1 ? .half : nil })
    #expect(trial.isFinished && trial.record.history.digestMismatches == 1, "\(trial.end)")
    #expect(proxy.requests.map { $0.header("Cache-Control") } == [nil, nil, "no-cache"])
  }
}
