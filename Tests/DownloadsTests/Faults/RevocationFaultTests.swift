import AssetModel
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group B of the fault corpus: certificates that were taken back, that change, and clocks that make them look wrong.
@Suite(.timeLimit(.minutes(2))) struct RevocationFaultTests {
  private static func run(
    _ fault: CertificateFault?, staples: Bool = false, _ check: RevocationCheck?,
    answer: ChallengeAnswer? = nil
  ) async throws -> Trial {
    try await Trial.run(
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.fault = fault
        $0.tls?.staplesStatus = staples
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        if let check { $0.transport.revocation["127.0.0.1"] = check }
        if let answer { $0.answerChallenge = { _ in answer } }
      }, reply: { _, _ in nil })
  }

  @Test("F-36 an authority's list decides, and no server is asked about what it took back") func revokedByList()
    async throws
  {
    let list = RevocationCheck.list(file: Authority.shared.revocationPath)
    #expect(try await Self.run(nil, list).isFinished)
    let revoked = try await Self.run(.revoked, list, answer: .trustShownKey)
    #expect(revoked.failure == .trust && revoked.requests.isEmpty, "\(revoked.end)")
    #expect(revoked.end.failure?.detail.contains("revoked") == true)
    // Without a list it can't be known.
    #expect(try await Self.run(.revoked, nil).isFinished)
  }

  @Test("F-36 a list that is missing, or of another authority, trusts no server") func uselessList() async throws {
    let other = "/tmp/outrider-test-other-\(UUID().uuidString).pem"
    try CertificateAuthority().revocationList().write(toFile: other, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: other) }
    for file in [other, "/nonexistent/list.pem"] {
      let trial = try await Self.run(nil, .list(file: file), answer: .trustShownKey)
      #expect(!trial.isFinished && trial.requests.isEmpty, "\(trial.end)")
    }
  }

  @Test("F-36 a stapled status decides") func revokedByStatus() async throws {
    #expect(try await Self.run(nil, staples: true, .stapledStatus).isFinished)
    for trial in [
      try await Self.run(.revoked, staples: true, .stapledStatus, answer: .trustShownKey),
      try await Self.run(nil, staples: false, .stapledStatus, answer: .trustShownKey),
    ] {
      #expect(trial.failure == .trust && trial.requests.isEmpty, "\(trial.end)")
    }
  }

  @Test("F-36 what one host has to show isn't asked of another") func staysWithItsHost() async throws {
    func origin(staples: Bool) throws -> Origin {
      try Origin {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.staplesStatus = staples
        $0.resources["/file"] = Resource(.text("hello"))
      }
    }
    let (first, second) = (try origin(staples: true), try origin(staples: false))
    defer {
      first.stop()
      second.stop()
    }
    let harness = try Harness {
      $0.transport.authorityFile = Authority.shared.path
      $0.transport.revocation["127.0.0.1"] = .stapledStatus
    }
    for (url, name) in [
      (first.url("/file"), "a"), ("https://localhost:\(second.port)/file", "b"), (first.url("/file"), "c"),
    ] {
      let end = try await harness.fetch(harness.specification(url, name: name))
      #expect(end.isFinished, "\(name): \(end)")
    }
    #expect(try await harness.fetch(harness.specification(second.url("/file"), name: "d")).reason == .trust)
    await harness.engine.close()
  }

  @Test("F-36 what is trusted once isn't trusted for another key at the resume") func keyChanges() async throws {
    let asked = Mutex<[String]>([])
    let scene = try await Scene(
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.fault = .selfSigned
        // The first three: verification, a look at the chain, the request that is cut.
        var rule = FaultScript.ConnectionRule(.certificate(.unknownCA))
        rule.from = 4
        $0.script.connections = [rule]
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.answerChallenge = { challenge in
          guard case .serverTrust(let chain, _) = challenge.kind, let leaf = chain.first else { return .cancel }
          return asked.withLock { asked in
            asked.append(leaf)
            return asked.count == 1 ? .trustShownKey : .cancel
          }
        }
      }, reply: { _, nth in nth == 1 ? .half : nil })
    #expect(try await scene.end().reason == .trust)
    let keys = asked.withLock { $0 }.compactMap { PEMText($0).pin }
    #expect(keys.count == 2 && Set(keys).count == 2, "asked anew, with the other key")
    #expect(scene.origin.requests.count == 1, "nothing was asked of the other one")
    _ = try await scene.close()
  }

  @Test("F-36 a new key of the same authority is as good at the resume") func newKeyOfTheSame() async throws {
    let port = try LastingPort.find()
    func origin() throws -> Origin {
      try Origin {
        $0.port = port
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.resources[Trial.path] = Resource(Trial.content)
        $0.handler = { request, nth in nth == 1 && request.header("Range") == nil ? .half : nil }
      }
    }
    let before = try origin()
    let harness = try Harness { $0.transport.authorityFile = Authority.shared.path }
    let events = harness.engine.events
    let specification = harness.specification("https://127.0.0.1:\(port)\(Trial.path)", digest: Trial.digest)
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    _ = await before.requests(count: 1, within: .seconds(5))
    // It makes itself a new key whenever it starts.
    before.stop()
    let after = try origin()
    defer { after.stop() }
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
  }

  // MARK: The clock

  @Test("F-36 not valid yet while the clock is in doubt: wait, and no attempt is used up") func clockUnset()
    async throws
  {
    let clock = TestClock(jumpsWhenIdle: false)
    clock.isSynchronised = false
    let scene = try await Scene(
      clock: clock,
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        var rule = FaultScript.ConnectionRule(.certificate(.notYetValid))
        rule.until = 1
        $0.script.connections = [rule]
      },
      options: { $0.transport.authorityFile = Authority.shared.path }, reply: { _, _ in nil })
    let wait = try await scene.isWaiting()
    #expect(wait.code == .clockUnset && wait.data == ["doubt": "it isn't synchronised", "source": "adjtimex"])
    // An hour: it looks at the clock, and asks no server.
    for _ in 0..<120 { await scene.advance(by: .seconds(30)) }
    #expect(await scene.engine.explain(scene.id)?.code == .clockUnset && scene.origin.requests.isEmpty)
    clock.isSynchronised = true
    await scene.advance(by: .seconds(30))
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(try await scene.close().history.fruitlessAttempts == 0)
  }

  @Test("F-36 setting the clock by hand ends the wait, too") func clockIsSet() async throws {
    let clock = TestClock(jumpsWhenIdle: false)
    let scene = try await Scene(
      clock: clock,
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        var rule = FaultScript.ConnectionRule(.certificate(.notYetValid))
        rule.until = 1
        $0.script.connections = [rule]
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.earliestWallTime = 4_000_000_000
      }, reply: { _, _ in nil })
    #expect(try await scene.isWaiting().data["source"] == "release date")
    // Still before the release: but it isn't the clock of before.
    clock.setWall(ahead: 3600)
    await scene.advance(by: .seconds(30))
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test(
    "F-36 a clock that is right, or too late, excuses no certificate",
    arguments: [CertificateFault.notYetValid, .expired])
  func clockIsNoExcuse(fault: CertificateFault) async throws {
    let clock = TestClock()
    clock.isSynchronised = fault == .notYetValid
    let trial = try await Trial.run(
      clock: clock,
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        $0.tls?.fault = fault
      }, options: { $0.transport.authorityFile = Authority.shared.path }, reply: { _, _ in nil })
    #expect(trial.failure == .trust && trial.requests.isEmpty)
  }

  @Test(
    arguments: [
      (100, true, 200, .beforeRelease), (100, false, 200, .beforeRelease), (199, true, 200, .beforeRelease),
      (200, true, 200, nil), (300, true, 200, nil), (200, false, 200, .notSynchronised),
      (Int64.max, false, 200, .notSynchronised), (Int64.max, true, 200, nil),
      (0, true, ClockDoubt.release, .beforeRelease),
      (-1, true, 0, .beforeRelease), (0, false, 0, .notSynchronised),
    ] as [(Int64, Bool, Int64, ClockDoubt?)])
  func doubts(wall: Int64, isSynchronised: Bool, release: Int64, expected: ClockDoubt?) {
    #expect(ClockDoubt(wall: wall, isSynchronised: isSynchronised, release: release) == expected)
  }
}
