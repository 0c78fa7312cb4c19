import AssetModel
import Downloads
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin

/// Group B of the fault corpus: where a request may be led.
@Suite(.timeLimit(.minutes(2))) struct RedirectFaultTests {
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
    "F-33 redirects to where no download may go",
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
        // A request that gets through is seen.
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
    "F-34 a name that resolves to addresses that no download may connect to",
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
    #expect(trial.end.failure?.hop == 1)
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
      throw Unexpected("no note")
    }
    #expect(note.contains("custom headers were dropped"))
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map { $0.header("X-Key") } == ["secret", "secret"], "within one origin they stay")
    let names = ["authorization", "cookie", "x-key"]
    #expect(
      second.requests.count == 1 && second.requests[0].headers.allSatisfy { !names.contains($0.name.lowercased()) })
    _ = try await scene.close()
  }

  @Test("F-35 what was dropped stays dropped, within the other origin and on the way back") func staysDropped()
    async throws
  {
    let back = Mutex("")
    let second = try Origin {
      $0.handler = { request, _ in
        let target = request.path == "/one" ? "/two" : back.withLock { $0 }
        return .with { $0.redirect = .to(target) }
      }
    }
    defer { second.stop() }
    let target = second.url("/one")
    let scene = try await Scene(
      specification: { $0.headers = [Download.Header(name: "X-Key", value: "secret")] },
      configure: { $0.resources["/back"] = Resource(Trial.content) },
      reply: { request, _ in
        guard request.path == Trial.path else { return nil }
        back.withLock { $0 = "http://\(request.header("Host") ?? "")/back" }
        return .with { $0.redirect = .to(target) }
      })
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(second.requests.map(\.path) == ["/one", "/two"])
    #expect(second.requests.allSatisfy { $0.header("X-Key") == nil })
    #expect(scene.origin.requests.map { $0.header("X-Key") } == ["secret", nil])
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
}
