import AssetModel
import Basics
import LinuxSystem
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct ConnectionPlannerTests {
  private static let limits = ConnectionPlanner.Limits(foreground: 8, essential: 4)

  @Test func theClassSaysHowManyThereMayBe() {
    var planner = ConnectionPlanner()
    let counts = [TransferClass.foreground, .essential, .background, .prefetch].map {
      planner.maxConnections($0, Self.limits)
    }
    #expect(counts == [8, 4, 1, 1])
    planner.mayBeRangeless = true
    #expect(planner.maxConnections(.foreground, Self.limits) == 1, "who has no ranges gets one request")
  }

  @Test func piecesLeaveWorkForTheOthers() {
    let planner = ConnectionPlanner()
    #expect(planner.pieceSize(missing: 100 << 20, chunkSize: 1 << 20, connections: 4, maxConnections: 1) == .max)
    #expect(planner.pieceSize(missing: 64 << 20, chunkSize: 1 << 20, connections: 4, maxConnections: 8) == 8 << 20)
    #expect(planner.pieceSize(missing: 1 << 30, chunkSize: 1 << 20, connections: 1, maxConnections: 8) == 32 << 20)
    #expect(planner.pieceSize(missing: 1 << 20, chunkSize: 4 << 20, connections: 8, maxConnections: 8) == 4 << 20)
  }

  @Test func aSmallRestGetsNoOtherConnection() {
    var planner = ConnectionPlanner()
    func add(_ missing: Int64, _ connections: Int, _ written: Int64, _ now: Duration) -> Int {
      planner.additions(
        missing: missing, connections: connections, maxConnections: 8, hashesChunks: false, written: written, now: now)
    }
    #expect(add((16 << 20) - 1, 1, 0, .zero) == 0)
    #expect(add(64 << 20, 1, 0, .zero) == 3, "a file worth it starts with four")
    #expect(add(64 << 20, 8, 0, .zero) == 0)
  }

  @Test func connectionsAreAddedAsLongAsTheyPay() {
    var planner = ConnectionPlanner()
    var written: Int64 = 0
    var now = Duration.zero
    func add(_ connections: Int, rate: Int64) -> Int {
      var added = 0
      // The first look of a number of connections begins the measurement.
      for _ in 0..<2 {
        added = planner.additions(
          missing: 32 << 20, connections: connections, maxConnections: 8, hashesChunks: false, written: written,
          now: now)
        now += SegmentGrowth.window
        written += rate
      }
      return added
    }
    _ = planner.additions(
      missing: 32 << 20, connections: 1, maxConnections: 8, hashesChunks: false, written: 0, now: .zero)
    #expect(add(1, rate: 1 << 20) == 1 && add(2, rate: 2 << 20) == 2)
    #expect(add(4, rate: 2 << 20) == 0, "four brought no more than two")
    #expect(add(4, rate: 9 << 20) == 0, "and that is that")
  }

  private static func connection(
    received: Int64, began: Duration?, remaining: Int64?, silentSince: Duration? = nil, isHeldBack: Bool = false
  ) -> ConnectionPlanner.Connection {
    ConnectionPlanner.Connection(
      source: 0, received: received, began: began, remaining: remaining, silentSince: silentSince,
      isHeldBack: isHeldBack)
  }

  private static func slowest(
    _ planner: inout ConnectionPlanner, _ connections: [ConnectionPlanner.Connection], missing: Int64 = 0,
    at now: Duration, others: Bool = false
  ) -> Int? {
    planner.slowest(
      of: connections, missing: missing, now: now, hasOther: { _ in others }, hasQuicker: { _ in others })
  }

  @Test func whoIsFarBehindWhatAnotherBroughtIsReplaced() {
    var planner = ConnectionPlanner()
    planner.noteRate(received: 10 << 20, since: .zero, now: .seconds(1))
    let slow = Self.connection(received: 300 << 10, began: .zero, remaining: 20 << 20)
    let quick = Self.connection(received: 30 << 20, began: .zero, remaining: 20 << 20)
    #expect(Self.slowest(&planner, [quick, slow], at: .seconds(3)) == 1)
    #expect(Self.slowest(&planner, [quick, slow], at: .milliseconds(2999)) == nil, "it is measured for a while")
    #expect(
      Self.slowest(&planner, [quick, slow], missing: 1, at: .seconds(3)) == nil, "another will come to what is left")
    var held = slow
    held.isHeldBack = true
    #expect(Self.slowest(&planner, [quick, held], at: .seconds(9)) == nil, "this side holds it back")
  }

  @Test func whoSaysNothingIsReplacedWhereSomebodyElseHasIt() {
    var planner = ConnectionPlanner()
    let silent = Self.connection(received: 0, began: nil, remaining: nil, silentSince: .zero)
    #expect(Self.slowest(&planner, [silent], at: .seconds(3)) == nil)
    #expect(Self.slowest(&planner, [silent], at: .seconds(3), others: true) == 0)
  }

  @Test func replacementsAreBounded() {
    var planner = ConnectionPlanner()
    planner.noteRate(received: 10 << 20, since: .zero, now: .seconds(1))
    let slow = Self.connection(received: 1, began: .zero, remaining: 20 << 20)
    let count = (0..<100).count { _ in Self.slowest(&planner, [slow], at: .seconds(5)) != nil }
    #expect(count == ConnectionPlanner.maxReplacements)
  }

  /// Whatever is measured: never more connections than allowed, never a piece smaller than a chunk.
  @Test(arguments: 0..<50) func randomMeasurements(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var planner = ConnectionPlanner()
    var (connections, now, written) = (1, Duration.zero, Int64(0))
    for _ in 0..<200 {
      now += .milliseconds(Int64.random(in: 0...200, using: &random))
      written += .random(in: 0...1 << 24, using: &random)
      let missing = Int64.random(in: 0...1 << 30, using: &random)
      let most = Int.random(in: 1...8, using: &random)
      let added = planner.additions(
        missing: missing, connections: connections, maxConnections: most, hashesChunks: .random(using: &random),
        written: written, now: now)
      #expect(added >= 0 && (added == 0 || connections + added <= most), "seed \(seed)")
      let piece = planner.pieceSize(
        missing: missing, chunkSize: 1 << 16, connections: connections, maxConnections: most)
      #expect(piece >= 1 << 16, "seed \(seed)")
      connections = min(8, max(1, connections + added - Int.random(in: 0...1, using: &random)))
    }
  }
}
