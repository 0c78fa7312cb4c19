import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct InstallProgressTests {
  @Test("The essential share is first estimated from the allowance, and then the sum of the sizes [B53]")
  func estimate() {
    var progress = InstallProgress()
    _ = progress.handle(.began(estimate: 5000), at: 0)
    #expect(progress.report.expectedBytes == 5000 && progress.report.fraction == 0)
    _ = progress.handle(.base(1), at: 0)
    _ = progress.handle(.planned([planned("a", essential: true), planned("b", essential: true), planned("c")]), at: 1)
    #expect(progress.report.expectedBytes == 200)
    _ = progress.handle(.received(uniqueIdentifier: "u-a", bytes: 100, total: nil), at: 2)
    #expect(progress.report.essential == 0.5)
  }

  @Test("Base, installation and essential share make one fraction; only the open gate is all of it [B53]")
  func whole() {
    var progress = InstallProgress()
    var fractions: [Double] = []
    let events: [InstallProgress.Event] = [
      .began(estimate: 10), .base(0.5), .base(1), .manifest(received: 1, total: 2), .manifest(received: 2, total: 2),
      .planned([planned("a", essential: true)]), .received(uniqueIdentifier: "u-a", bytes: 60, total: 100),
      .settled(uniqueIdentifier: "u-a"), .completed,
    ]
    for event in events {
      _ = progress.handle(event, at: 0)
      fractions.append(progress.report.fraction)
    }
    #expect(fractions == fractions.sorted() && Set(fractions).count == events.count)
    #expect(fractions.last == 1 && fractions.dropLast().allSatisfy { $0 < 1 })
  }

  @Test("An app without essential downloads is complete when its gate opens [B53]")
  func noEssentials() {
    var progress = InstallProgress()
    _ = progress.handle(.began(estimate: 0), at: 0)
    _ = progress.handle(.planned([]), at: 0)
    #expect(progress.handle(.completed, at: 0) == [.report(progress.report)])
    #expect(progress.report.fraction == 1)
  }

  @Test("An installation that is superseded goes on where it was; a new one begins anew [B53]")
  func superseded() {
    var progress = InstallProgress()
    _ = progress.handle(.began(estimate: 10), at: 0)
    _ = progress.handle(.base(1), at: 0)
    let before = progress.report.fraction
    _ = progress.handle(.began(estimate: 10), at: 0)
    #expect(progress.report.fraction == before)
    _ = progress.handle(.completed, at: 0)
    _ = progress.handle(.began(estimate: 10), at: 0)
    #expect(progress.report.fraction == 0)
  }

  @Test("What a second answer adds counts besides the first [B53]") func askedAgain() {
    var progress = InstallProgress()
    _ = progress.handle(.began(estimate: 5000), at: 0)
    _ = progress.handle(.planned([planned("a", essential: true)]), at: 1)
    _ = progress.handle(.received(uniqueIdentifier: "u-a", bytes: 50, total: nil), at: 2)
    _ = progress.handle(.planned([planned("b", essential: true)]), at: 3)
    #expect(progress.report.expectedBytes == 200 && progress.report.receivedBytes == 50)
    _ = progress.handle(.began(estimate: 10), at: 4)
    _ = progress.handle(.planned([planned("c", essential: true)]), at: 5)
    #expect(progress.report.expectedBytes == 100)
  }

  @Test(
    "Whatever sizes turn out to be, the fraction never runs backwards and stays between 0 and 1 [B52, B53]",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var random = seed.generator
    var progress = InstallProgress()
    for _ in 0..<10_000 {
      let name = "u-\(random.below(5))"
      let event: InstallProgress.Event =
        switch random.below(12) {
        case 0: random.chance(6) ? .began(estimate: Int64.random(in: -5 ... .max, using: &random)) : .paused
        case 1: .base(random.chance(9) ? -1e300 : Double(random.below(30)) / 20)
        case 2:
          .manifest(received: Int64(random.below(300)) - 9, total: random.chance(3) ? nil : Int64(random.below(200)))
        case 3:
          .planned(
            (0..<random.below(6)).map {
              planned("\($0)", essential: !random.chance(3), size: random.chance(3) ? nil : .max)
            })
        case 4: .settled(uniqueIdentifier: name)
        case 5: random.chance(9) ? .completed : .resumed
        default:
          .received(
            uniqueIdentifier: name, bytes: Int64(random.below(1000)) - 5,
            total: random.chance(2) ? nil : Int64(random.below(1000)))
        }
      let before = progress
      let effects = try progress.handleAsTwins(event, now: .start)
      let report = progress.report
      let isAnew = if case .began = event { before.report.fraction == 1 } else { false }
      #expect((0...1).contains(report.fraction) && (0...1).contains(report.essential))
      #expect(isAnew || report.fraction >= before.report.fraction)
      #expect(report.receivedBytes >= 0 && report.receivedBytes <= report.expectedBytes)
      #expect(effects.isEmpty == (report == before.report))
    }
  }
}
