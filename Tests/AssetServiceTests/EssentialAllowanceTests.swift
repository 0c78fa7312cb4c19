import AssetModel
import ServiceMachines
import TestSupport
import Testing

@testable import AssetService
@testable import AssetStore

/// The journal's budgets and the machine that answers before them leave the same.
@Suite(.timeLimit(.minutes(2))) struct EssentialAllowanceTests {
  @Test("However large allowance and manifest are, the journal admits what the machine does, and no more [B61, B62]")
  func agree() {
    for allowance: Int64 in [0, 1, 400, 300 << 10, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 10 << 20, .max] {
      for size: Int64 in [1, 400, 300 << 10, (1 << 20) - 1, 1 << 20, 2 << 20] where size <= max(1 << 20, allowance) {
        var restrictions = Restrictions(limits: .init(allowance: 0, essentialAllowance: allowance, domains: nil))
        var journal = Budget(allowed: allowance, charged: 0, reserved: 0, manifestCharged: 0, manifestReserved: 1 << 20)
        let manifest = PlannedDownload(uniqueIdentifier: "m", identifier: "m", host: "e.com")
        for event: Restrictions.Event in [
          .requested(manifest, isManifest: true), .received(uniqueIdentifier: "m", bytes: size),
          .ended(uniqueIdentifier: "m", charged: size), .settled(uniqueIdentifier: "m"),
        ] {
          for case .setBudget(.essential, let allowed?) in restrictions.handle(event, now: .start) {
            journal.allowed = allowed
          }
        }
        (journal.manifestCharged, journal.manifestReserved) = (size, 0)
        #expect(restrictions.essentialRemaining == max(0, allowance - size))
        // What no number can express is none.
        if allowance < .max { #expect(restrictions.essentialRemaining == journal.available(), "\(allowance) \(size)") }
      }
    }
  }

  @Test("An allowance of less than 1 MiB admits the essential downloads that it has room for [B61, B62]")
  func small() throws {
    var core = ServiceCoreTests.core()
    var facts = ServiceCoreTests.facts
    facts.limits.essentialAllowance = 300 << 10
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: facts)), now: .start)
    let manifest = try #require(ServiceCoreTests.added(install).first)
    _ = core.handle(.app("a", .received(download: manifest, bytes: 400, added: 400, total: 400)), now: .start)
    let settled = DownloadRegistry.Event.engineSettled(uniqueIdentifier: manifest, settlement: .finished(size: 400))
    let here = core.handle(.app("a", .registry(settled)), now: .start)
    #expect(here.contains(.setBudget(app: "a", budget: .essential, allowed: (300 << 10) + (1 << 20) - 400)))
    let event = AppEvent.manifestFinished(download: manifest, digest: "d", size: 400)
    let asked = core.handle(.app("a", event), now: .start)
    let run = try #require(
      asked.lazy.compactMap { if case .startContentRun(_, let run, _, _, _) = $0 { run } else { nil } }.first)
    let downloads = ["x", "y"].map {
      PlannedDownload(uniqueIdentifier: $0, identifier: $0, isEssential: true, size: 100_000, host: "example.com")
    }
    let answered = core.handle(.app("a", .answered(run: run, accepted: downloads, rejected: [])), now: .start)
    let added = answered.compactMap {
      if case .addTransfer(_, let download, _, _, false, .essential) = $0 { download.uniqueIdentifier } else { nil }
    }
    #expect(added.sorted() == ["x", "y"])
  }
}
