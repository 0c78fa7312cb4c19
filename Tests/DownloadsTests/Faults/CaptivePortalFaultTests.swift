import AssetModel
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group A of the fault corpus: login pages; and the gates that hold whole classes of downloads.
@Suite(.timeLimit(.minutes(2))) struct CaptivePortalFaultTests {
  /// What the portal probe of a test says: a portal for so many questions.
  private final class Probe: Sendable {
    private let state = Mutex((asked: 0, portals: 0))

    init(portals: Int) { state.withLock { $0.portals = portals } }

    var asked: Int { state.withLock { $0.asked } }

    @Sendable func answer() async -> Bool {
      state.withLock { state in
        state.asked += 1
        return state.asked <= state.portals
      }
    }
  }

  private static func page(count: Int) -> Reply {
    .with { $0.body = .repeating(Array("<html>please log in</html>".utf8), count: count) }
  }

  @Test("F-20 a login page instead of the file: wait for the network, don't fail", arguments: [12, Trial.size])
  func loginPage(count: Int) async throws {
    let probe = Probe(portals: 1)
    // By chance the right size: it takes two of them until the digest is a failure.
    let scene = try await Scene(
      size: Int64(Trial.size), digest: Trial.digest, clock: TestClock(jumpsWhenIdle: false),
      options: { $0.isBehindPortal = probe.answer },
      reply: { _, nth in nth <= (count == Trial.size ? 2 : 1) ? Self.page(count: count) : nil })
    let wait = try await scene.isWaiting()
    #expect(wait.code == .captivePortal && wait.remedy.contains("logs in"))
    #expect(await scene.engine.explain(scene.id)?.code == .captivePortal && probe.asked == 1)
    await scene.advance(by: .seconds(31))
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(probe.asked == 2)
    let record = try await scene.close()
    #expect(
      record.history.digestMismatches == 0 && record.history.fruitlessAttempts == 0, "the page's mistakes don't count")
  }

  @Test("F-20 a partial from before the portal is resumed") func partialStays() async throws {
    let probe = Probe(portals: 1)
    let trial = try await Trial.run(
      digest: Trial.digest, options: { $0.isBehindPortal = probe.answer },
      reply: { _, nth in nth == 1 ? .half : nth == 2 ? .with { $0.redirect = .to("http://login.example/") } : nil })
    #expect(trial.isFinished && trial.ranges == [nil, "bytes=2097152-", "bytes=2097152-"], "\(trial.ranges)")
    #expect(probe.asked == 2)
  }

  @Test("F-20 a portal that takes every name for its own") func address() async throws {
    let probe = Probe(portals: 1)
    let scene = try await Scene(
      clock: TestClock(jumpsWhenIdle: false),
      specification: { $0.url = "https://cdn.test/file" },
      options: {
        $0.transport.resolve = ["cdn.test:443:192.168.1.1"]
        $0.isBehindPortal = probe.answer
      }, reply: { _, _ in nil })
    #expect(try await scene.isWaiting().code == .captivePortal)
    await scene.advance(by: .seconds(31))
    // It still does, though there is no portal: then it is what it looks like.
    #expect(try await scene.end().reason == .notAllowed && probe.asked == 3)
    _ = try await scene.close()
  }

  @Test("F-20 a URL that isn't allowed was never asked for, so no portal answered") func ownURL() async throws {
    let probe = Probe(portals: 9)
    let harness = try Harness { $0.isBehindPortal = probe.answer }
    let end = try await harness.fetch(harness.specification("http://example.com/file"))
    #expect(end.reason == .notAllowed && probe.asked == 0)
    await harness.engine.close()
  }

  @Test("F-20 a portal's certificate isn't a failure of trust") func certificate() async throws {
    let probe = Probe(portals: 1)
    let trial = try await Trial.run(
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        var rule = FaultScript.ConnectionRule(.certificate(.wrongHost))
        rule.until = 1
        $0.script.connections = [rule]
      },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.isBehindPortal = probe.answer
      }, reply: { _, _ in nil })
    #expect(trial.isFinished && probe.asked == 2 && trial.requests.count == 1, "\(trial.end)")
  }

  @Test("F-20 no portal: the failure stands, and is asked about once", arguments: [true, false]) func noPortal(
    answers: Bool
  )
    async throws
  {
    let probe = Probe(portals: 0)
    let trial = try await Trial.run(
      declares: Int64(Trial.size), digest: Trial.digest,
      options: {
        $0.challengeTimeout = .milliseconds(20)
        $0.isBehindPortal = {
          // Silence is no portal.
          if !answers { try? await Task.sleep(for: .seconds(3600)) }
          return await probe.answer()
        }
      }, reply: { _, _ in Self.page(count: 12) })
    #expect(trial.failure == .sizeMismatch && trial.requests.count == 1)
    #expect(!answers || probe.asked == 1)
  }

  @Test("F-20 a change of network looks for the portal at once") func networkChanged() async throws {
    let probe = Probe(portals: 1)
    let scene = try await Scene(
      size: Int64(Trial.size), digest: Trial.digest, clock: TestClock(jumpsWhenIdle: false),
      options: { $0.isBehindPortal = probe.answer }, reply: { _, nth in nth == 1 ? Self.page(count: 12) : nil })
    #expect(try await scene.isWaiting().code == .captivePortal)
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test func failuresThatAPortalMayHaveCaused() {
    for reason in TransferFailure.Reason.allCases {
      let expected =
        switch reason {
        case .trust, .sizeMismatch, .digestMismatch, .hostileResponse, .gone, .refused, .notAllowed: true
        case .noProgress, .challenge, .volume, .allowance, .offline: false
        }
      #expect(NetworkWatch.mayBePortals(TransferFailure(reason, detail: "")) == expected, "\(reason)")
    }
    #expect(!NetworkWatch.mayBePortals(TransferFailure(.refused, errno: EEXIST, detail: "")))
  }

  // MARK: Gates

  @Test func gatesByClass() {
    typealias Change = (inout MachineConditions) -> Void
    let all = Set(TransferClass.allCases)
    let background: Set<TransferClass> = [.background, .prefetch]
    let table: [(Explanation.Code, Set<TransferClass>, Change)] = [
      (.upgrading, all, { $0.upgradeStep = "journal 3" }), (.offline, all, { $0.isOnline = false }),
      (.captivePortal, all, { $0.isBehindPortal = true }), (.metered, background, { $0.isMetered = true }),
      (.powerSaver, background, { $0.isSavingPower = true }),
      (.battery, background, { $0.battery = .init(level: 14, threshold: 15) }),
      (.window, background, { $0.windowOpensAt = .seconds(100) }),
    ]
    for (code, held, change) in table {
      var conditions = MachineConditions()
      change(&conditions)
      for transferClass in TransferClass.allCases {
        let gate = conditions.gate(for: transferClass, now: .seconds(50))
        #expect(gate == (held.contains(transferClass) ? code : nil), "\(code) \(transferClass)")
      }
    }
    var conditions = MachineConditions()
    conditions.battery = .init(level: 15, threshold: 15)
    #expect(conditions.gate(for: .prefetch, now: .zero) == nil, "at the threshold is enough")
  }

  @Test(
    "F-65 every gate says why, and is no end",
    arguments: [
      (.upgrading, ["step": "journal 3"]), (.captivePortal, [:]), (.battery, ["level": "9", "threshold": "15"]),
    ] as [(Explanation.Code, [String: String])])
  func explained(code: Explanation.Code, data: [String: String]) async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness()
    var conditions = MachineConditions()
    switch code {
    case .upgrading: conditions.upgradeStep = "journal 3"
    case .captivePortal: conditions.isBehindPortal = true
    default: conditions.battery = .init(level: 9, threshold: 15)
    }
    harness.engine.setConditions(conditions)
    let events = harness.engine.events
    let specification = harness.specification(origin.url(Trial.path), .background)
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    let explanation = await harness.engine.explain(id)
    #expect(
      explanation?.code == code && explanation?.data == data.merging(["class": "background"]) { $1 },
      "\(String(describing: explanation))")
    #expect(explanation?.remedy != "time" && origin.requests.isEmpty)
    harness.engine.setConditions(MachineConditions())
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
  }
}
