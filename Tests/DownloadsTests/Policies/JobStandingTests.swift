import AssetModel
import Testing

@testable import Downloads

/// Of where a job stands, one leading reason is made, and those that would hold it otherwise.
@Suite(.timeLimit(.minutes(2))) struct JobStandingTests {
  private typealias Surroundings = JobStanding.Surroundings

  private static let now: Duration = .seconds(1000)

  private static var offline: MachineConditions {
    var conditions = MachineConditions()
    conditions.isOnline = false
    return conditions
  }

  private static func queued(
    gate: Explanation.Code? = nil, _ block: JobStanding.Surroundings.Block? = nil,
    _ conditions: MachineConditions = MachineConditions()
  ) -> JobStanding {
    .queued(
      JobStanding.Queued(
        transferClass: .background, place: 3, waiting: 7, since: .seconds(990), remaining: 5,
        surroundings: Surroundings(conditions: conditions, gate: gate, origin: "https://a.test", block: block)))
  }

  private static func held(
    _ reason: Hold.Reason, until: Duration? = .seconds(1030), gate: Explanation.Code? = nil,
    _ block: JobStanding.Surroundings.Block? = nil
  ) -> JobStanding {
    var facts = Hold.Facts()
    facts.lastError = "what the journal knows"
    facts.attempts = 2
    return .held(
      JobStanding.Held(
        reason: reason, facts: facts, mount: "/data", attemptLimit: 6, since: .seconds(900), until: until,
        surroundings: Surroundings(gate: gate, block: block)))
  }

  @Test(
    "the leading reason, when it ends, and what would hold it otherwise",
    arguments: [
      (.verifying(hashed: 1, total: 2), .verifying, nil, nil, []),
      (.delivering(generation: 1), .delivering, nil, nil, []),
      (.transferring(received: 1, total: nil), .transferring, nil, nil, []),
      (.transferring(received: 1, total: 2, givesWay: true), .transferring, nil, nil, []),
      (.beingRead, .queued, nil, nil, []),
      (
        .challenged(origin: "https://a.test", kind: "basic", since: .seconds(940), until: .seconds(1060)), .challenge,
        60, 60, []
      ),
      (
        .commandsWait(commands: "pause", journal: "it fails", isOfVolume: false, until: .seconds(1020)), .lock, nil, 20,
        []
      ),
      (.commandsWait(commands: "pause", journal: "full", isOfVolume: true, until: nil), .volume, nil, nil, []),
      (queued(), .queued, 10, nil, []),
      (queued(gate: .offline, nil, offline), .offline, 10, nil, [.queued]),
      (
        queued(gate: .offline, .retryAfter(value: "9", until: .seconds(1009)), offline), .offline, 10, nil,
        [.retryAfter, .queued]
      ),
      (queued(.retryAfter(value: "9", until: .seconds(1009))), .retryAfter, 10, 9, [.queued]),
      (queued(.backoff(failures: 5, until: nil)), .originBackoff, 10, nil, [.queued]),
      (held(.retry("it broke")), .retrying, 100, 30, []),
      (
        held(.retry("it broke"), gate: .metered, .backoff(failures: 5, until: nil)), .retrying, 100, 30,
        [.metered, .originBackoff]
      ),
      // What doesn't end by itself hides nothing.
      (held(.paused("user"), until: nil, gate: .metered), .paused, 100, nil, []),
      (held(.volume(5), gate: .metered), .volume, 100, 30, []),
      (held(.publication(1)), .publication, 100, 30, []),
      (held(.journal("it fails", isOfVolume: false)), .lock, 100, 30, []),
      // A moment that is over is no negative time.
      (held(.retry(""), until: .seconds(900)), .retrying, 100, 0, []),
    ] as [(JobStanding, Explanation.Code, Double?, Double?, [Explanation.Code])])
  func leads(
    standing: JobStanding, code: Explanation.Code, since: Double?, endsIn: Double?, others: [Explanation.Code]
  ) {
    let explanation = Explanation(standing, now: Self.now)
    #expect(explanation.code == code && explanation.others == others)
    #expect(explanation.since == since && explanation.endsIn == endsIn)
    #expect(!explanation.remedy.isEmpty)
  }

  @Test("what is said of it comes from where it stands alone")
  func data() {
    #expect(
      Explanation(Self.held(.retry("it broke")), now: Self.now).data == ["lastError": "it broke", "attempt": "2 of 6"])
    #expect(Explanation(Self.held(.retry("")), now: Self.now).data["lastError"] == "what the journal knows")
    #expect(Explanation(Self.held(.volume(5)), now: Self.now).data["mount"] == "/data")
    #expect(Explanation(Self.queued(), now: Self.now).data == ["class": "background", "place": "3", "waiting": "7"])
    let blocked = Explanation(Self.queued(.backoff(failures: 5, until: nil)), now: Self.now)
    #expect(blocked.data == ["origin": "https://a.test", "failures": "5"])
  }
}
