import AssetModel
import Testing

@testable import Downloads

/// What people and tools read of each cause.
@Suite(.timeLimit(.minutes(1))) struct CauseTests {
  private static let shortage = SpaceShortage(
    directory: "/v", device: 1, need: 50, free: 10, floor: 5, purgeUntil: 60)
  private static let inodes = SpaceShortage(
    directory: "/v", device: 1, need: 50, free: 10, floor: 5, purgeUntil: 60, lacksInodes: true)

  private static let rows: [(Cause, Explanation.Code, [String: String])] = [
    (.finished, .finished, [:]), (.cancelled, .cancelled, [:]),
    (.failed(TransferFailure(.gone, status: 410, detail: "x")), .gone, ["detail": "x", "status": "410"]),
    (.transferring(received: 5, total: nil), .transferring, ["received": "5", "total": "unknown"]),
    (
      .transferring(received: 5, total: 9, givesWay: true), .transferring,
      ["received": "5", "total": "9", "givesWay": "true"]
    ),
    (.verifying(hashed: 5, total: 9), .verifying, ["hashed": "5", "total": "9"]),
    (.delivering(generation: 2), .delivering, ["generation": "2"]),
    (.challenge(origin: "https://a", kind: "basic"), .challenge, ["origin": "https://a", "kind": "basic"]),
    (.journal("x", isOfVolume: true, commands: nil), .volume, ["journal": "x"]),
    (.journal("x", isOfVolume: false, commands: "pause"), .lock, ["journal": "x", "commands": "pause"]),
    (.retrying(lastError: "x", attempts: 0, limit: 6), .retrying, ["lastError": "x"]),
    (.retrying(lastError: "x", attempts: 2, limit: 6), .retrying, ["lastError": "x", "attempt": "2 of 6"]),
    (.retrying(lastError: "x", attempts: 2, limit: nil), .retrying, ["lastError": "x", "attempt": "2"]),
    (.publication(retest: 1, limit: 2), .publication, ["retest": "1 of 2"]),
    (.publication(retest: 1, limit: 2, lastError: "x"), .publication, ["retest": "1 of 2", "lastError": "x"]),
    (.stored(.publish), .delivering, [:]),
    (.stored(.fetch(.essential, lastError: nil)), .queued, ["class": "essential"]),
    (.stored(.fetch(.essential, lastError: "x")), .queued, ["class": "essential", "lastError": "x"]),
    (.stored(.retry(attempts: 0, lastError: nil)), .retrying, [:]),
    (.stored(.retry(attempts: 2, lastError: "x")), .retrying, ["attempt": "2", "lastError": "x"]),
    (.disk(shortage), .disk, ["volume": "/v", "need": "50", "free": "10", "floor": "5"]),
    (.disk(inodes), .disk, ["volume": "/v", "inodes": "none left"]),
    (.allowance(budget: "b", missing: 7), .allowance, ["budget": "b", "missing": "7"]),
    (.lock(holder: "p"), .lock, ["holder": "p"]), (.paused(by: "user"), .paused, ["by": "user"]),
    (.retryAfter(origin: "o", value: "60"), .retryAfter, ["origin": "o", "value": "60"]),
    (.originBackoff(origin: "o", failures: 5), .originBackoff, ["origin": "o", "failures": "5"]),
    (.queued(nil), .queued, [:]),
    (
      .queued(Cause.Place(transferClass: .essential, number: 2, waiting: 9)), .queued,
      ["class": "essential", "place": "2", "waiting": "9"]
    ),
  ]

  @Test(arguments: rows.indices) func whatIsRead(row: Int) {
    let (cause, code, data) = Self.rows[row]
    let explanation = Explanation(cause, since: 1, endsIn: 2, others: [.offline])
    #expect(explanation.code == code && explanation.data == data, "\(explanation)")
    #expect(!explanation.remedy.isEmpty)
    #expect(explanation.since == 1 && explanation.endsIn == 2 && explanation.others == [.offline])
  }

  @Test("a wait for another attempt says that it ends by itself, and how to end it now") func anotherAttempt() {
    let remedy = Explanation(.retrying(lastError: "x", attempts: 2, limit: 6)).remedy
    #expect(remedy == "it is tried again by itself after a while; to try it now, resume it")
    let stored = Explanation(.stored(.retry(attempts: 2, lastError: "x"))).remedy
    #expect(stored == "it is tried again by itself after a while")
  }

  @Test("silence behind a proxy is said of both") func silenceBehindAProxy() {
    func peer(_ problem: TransportEnd.Problem, _ isProxied: Bool) -> String {
      Connections.peer(problem, "https://a:443", "the proxy p:1", isProxied: isProxied)
    }
    #expect(peer(.timeout, true) == "the proxy p:1, or https://a:443 behind it")
    #expect(peer(.timeout, false) == "https://a:443" && peer(.reset, true) == "https://a:443")
    #expect(peer(.proxy, true) == "the proxy p:1")
  }

  @Test("What a background download waits for on a low volume is said, and a quota only where there may be one")
  func roomInTheBackground() throws {
    var shortage = SpaceShortage(directory: "/v", device: 1, need: 10, free: 150, floor: 100, purgeUntil: 115)
    #expect(Explanation(.disk(shortage)).remedy.contains("quota") && "\(shortage)".contains("quota"))
    shortage.backgroundFloor = 200
    let low = Explanation(.disk(shortage))
    #expect(low.remedy.hasPrefix("free 50 bytes on the volume, or start it in the foreground"))
    #expect(low.remedy.contains("200") && low.data["backgroundFloor"] == "200")
    #expect("\(shortage)".hasSuffix("has 150 bytes free: no background download starts below 200"))
    // No more than any other could it begin there.
    shortage.need = 60
    #expect(Explanation(.disk(shortage)).remedy == "free 50 bytes on the volume")
    shortage.need = 200
    #expect(Explanation(.disk(shortage)).remedy == "free 150 bytes on the volume")
    (shortage.free, shortage.reserved) = (350, 100)
    #expect(Explanation(.disk(shortage)).remedy.hasPrefix("the downloads that run end"))
    #expect(!"\(shortage)".contains("quota"))
  }

  /// What a server or a file name says may be anything; terminals are written to.
  @Test func nothingHostileReachesATerminal() {
    let hostile = "\u{1b}[2J\u{7}\n" + String(repeating: "x", count: 100_000)
    let causes: [Cause] = [
      .journal(hostile, isOfVolume: true, commands: nil), .retrying(lastError: hostile, attempts: 1, limit: nil),
      .stored(.fetch(.essential, lastError: hostile)), .stored(.retry(attempts: 1, lastError: hostile)),
      .publication(retest: 1, limit: 2, lastError: hostile), .allowance(budget: hostile, missing: 1),
      .volume(code: 5, mount: hostile), .lock(holder: hostile),
      .disk(SpaceShortage(directory: hostile, device: 1, need: 1, free: 0, floor: 0, purgeUntil: 1)),
    ]
    for cause in causes {
      for value in Explanation(cause).data.values {
        #expect(!value.unicodeScalars.contains { $0.value < 32 || $0.value == 127 } && value.utf8.count < 100_000)
      }
    }
  }

  @Test func eachGateSaysWhatOpensIt() {
    var conditions = MachineConditions()
    conditions.battery = MachineConditions.Battery(level: 5, threshold: 20)
    conditions.isMetered = true
    func explanation(_ code: Explanation.Code) -> Explanation {
      Explanation(
        .gate(Cause.Gate(code: code, transferClass: .background, conditions: conditions, remaining: 100)))
    }
    #expect(explanation(.battery).data == ["class": "background", "level": "5", "threshold": "20"])
    #expect(explanation(.metered).data["bytes"] == "100")
    let codes: [Explanation.Code] = [.offline, .captivePortal, .metered, .powerSaver, .battery, .upgrading]
    #expect(Set(codes.map { explanation($0).remedy }).count == codes.count)
  }
}
