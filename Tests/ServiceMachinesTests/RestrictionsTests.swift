import Foundation
import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct RestrictionsTests {
  static let mebibyte: Int64 = 1 << 20

  static func restrictions(
    _ allowance: Int64 = 10 << 20, essential: Int64 = 10 << 20, domains: [String]? = nil
  ) -> Restrictions {
    Restrictions(limits: .init(allowance: allowance, essentialAllowance: essential, domains: domains))
  }

  static func code(_ effects: [Restrictions.Effect]) -> Int? {
    effects.lazy.compactMap {
      switch $0 {
      case .refuse(_, let failure), .fail(_, let failure): failure.code
      default: nil
      }
    }.first
  }

  @Test("Both allowances count down apart, and are nil after the first launch, for good [B60, B61, B64]")
  func countDown() {
    var restrictions = Self.restrictions()
    #expect(restrictions.remaining == 10 << 20)
    #expect(restrictions.essentialRemaining == 9 << 20, "1 MiB is the manifest's [B62]")
    _ = restrictions.handle(.requested(planned("a", size: 3 << 20), isManifest: false), at: 0)
    _ = restrictions.handle(.requested(planned("e", essential: true, size: 2 << 20), isManifest: false), at: 0)
    #expect(restrictions.remaining == 7 << 20 && restrictions.essentialRemaining == 7 << 20)
    _ = restrictions.handle(.received(uniqueIdentifier: "u-a", bytes: 3 << 20), at: 1)
    _ = restrictions.handle(.settled(uniqueIdentifier: "u-a"), at: 1)
    #expect(restrictions.remaining == 7 << 20)
    #expect(
      restrictions.handle(.launched, at: 2) == [
        .setBudget(.essential, allowed: nil), .setBudget(.other, allowed: nil),
      ])
    #expect(restrictions.remaining == nil && restrictions.essentialRemaining == nil)
    _ = restrictions.handle(.limitsChanged(.init(allowance: 0, essentialAllowance: 0, domains: [])), at: 3)
    #expect(
      restrictions.handle(.requested(planned("z", size: .max), isManifest: false), at: 3)
        == [.admit(uniqueIdentifier: "u-z", budget: nil)])
  }

  @Test("What would exceed is refused with 112; what was cancelled gives back what it hadn't used [B63]")
  func exceed() {
    var restrictions = Self.restrictions()
    #expect(Self.code(restrictions.handle(.requested(planned("a", size: 10 << 20), isManifest: false), at: 0)) == nil)
    #expect(Self.code(restrictions.handle(.requested(planned("b", size: 1), isManifest: false), at: 0)) == 112)
    _ = restrictions.handle(.received(uniqueIdentifier: "u-a", bytes: 4 << 20), at: 1)
    _ = restrictions.handle(.settled(uniqueIdentifier: "u-a"), at: 1)
    #expect(restrictions.remaining == 6 << 20)
  }

  @Test(
    "What came since the last word of a transfer is booked when it is over, once, and nothing fails for it [B61, B64]")
  func ended() throws {
    var restrictions = Self.restrictions(1_000_000)
    _ = restrictions.handle(.requested(planned("a", size: 900_000), isManifest: false), at: 0)
    _ = try restrictions.handleAsTwins(.received(uniqueIdentifier: "u-a", bytes: 131_072), now: .start)
    #expect(restrictions.charged("u-a") == 131_072)
    // With its heads that is more than was reserved for it, and more than is left; it is there.
    for _ in 1...2 {
      let effects = try restrictions.handleAsTwins(.ended(uniqueIdentifier: "u-a", charged: 1_000_400), now: .start)
      #expect(effects.isEmpty)
    }
    _ = restrictions.handle(.settled(uniqueIdentifier: "u-a"), at: 1)
    #expect(restrictions.used(.other) == 1_000_400 && restrictions.remaining == 0)
    #expect(Self.code(restrictions.handle(.requested(planned("b", size: 1), isManifest: false), at: 2)) == 112)
    // Nothing of it is reserved any more: what is said of it later says nothing.
    _ = restrictions.handle(.ended(uniqueIdentifier: "u-a", charged: 2_000_000), at: 3)
    #expect(restrictions.used(.other) == 1_000_400)
  }

  @Test("Of what was reserved before its charge was kept, the charge is taken for none")
  func formerReservation() throws {
    let table = try JSONDecoder().decode(ReservationTable.self, from: Data(#"["u-a", "other asset 700"]"#.utf8))
    #expect(table.rows == ["u-a": .init(budget: .other, isManifest: false, bytes: 700)])
  }

  @Test("A manifest has 1 MiB whatever the essential downloads took, and is refused with 203 beyond [B62]")
  func manifest() {
    var restrictions = Self.restrictions(essential: 0)
    #expect(restrictions.essentialRemaining == 0)
    #expect(Self.code(restrictions.handle(.requested(planned("m", size: 2 << 20), isManifest: true), at: 0)) == 203)
    #expect(Self.code(restrictions.handle(.requested(planned("m", size: 1 << 20), isManifest: true), at: 0)) == nil)
  }

  @Test(
    "Once a manifest is here, only what it used is missing from the essential allowance [B61, B62]"
  )
  func manifestHasSettled() throws {
    var restrictions = Self.restrictions(essential: 300 << 10)
    #expect(restrictions.essentialRemaining == 0, "it may need all of it")
    func tell(_ event: Restrictions.Event) throws -> [Restrictions.Effect] {
      try restrictions.handleAsTwins(event, now: .start)
    }
    _ = try tell(.requested(planned("m", size: nil), isManifest: true))
    #expect(try tell(.received(uniqueIdentifier: "u-m", bytes: 300)).isEmpty)
    #expect(try tell(.ended(uniqueIdentifier: "u-m", charged: 400)).isEmpty)
    #expect(restrictions.essentialRemaining == 0, "it is on its way")
    let budget = Restrictions.Effect.setBudget(.essential, allowed: (300 << 10) + (1 << 20) - 400)
    #expect(try tell(.settled(uniqueIdentifier: "u-m")) == [budget])
    #expect(restrictions.essentialRemaining == (300 << 10) - 400 && restrictions.used(.essential) == 400)
    for name in ["a", "b", "c"] {
      #expect(
        try tell(.requested(planned(name, essential: true, size: 100_000), isManifest: false))
          == [.admit(uniqueIdentifier: "u-\(name)", budget: .essential)])
    }
    #expect(
      Self.code(try tell(.requested(planned("d", essential: true, size: 100_000), isManifest: false))) == 112)
    #expect(try tell(.restarted).contains(budget))
    // The next one has its part again, whatever is left.
    #expect(
      try tell(.requested(planned("n", size: nil), isManifest: true)) == [
        .admit(uniqueIdentifier: "u-n", budget: .essential), .setBudget(.essential, allowed: 300 << 10),
      ])
    #expect(try tell(.settled(uniqueIdentifier: "u-n")) == [budget])
    _ = try tell(.launched)
    #expect(restrictions.essentialRemaining == nil)
  }

  @Test("A manifest that is larger than its part, and than what else is left, fails with 204 there [B62]")
  func largeManifest() {
    for (essential, most) in [(Int64(0), Int64(1 << 20)), (3 << 20, 3 << 20)] {
      var restrictions = Self.restrictions(essential: essential)
      _ = restrictions.handle(.requested(planned("m", size: nil), isManifest: true), at: 0)
      #expect(restrictions.handle(.received(uniqueIdentifier: "u-m", bytes: most), at: 1).isEmpty)
      #expect(Self.code(restrictions.handle(.received(uniqueIdentifier: "u-m", bytes: 1), at: 2)) == 204)
    }
  }

  @Test("A download of unknown size is accepted and fails with 204 when it goes beyond [B63]")
  func unknownSize() {
    var restrictions = Self.restrictions()
    #expect(Self.code(restrictions.handle(.requested(planned("a", size: nil), isManifest: false), at: 0)) == nil)
    #expect(restrictions.handle(.received(uniqueIdentifier: "u-a", bytes: 10 << 20), at: 1).isEmpty)
    #expect(Self.code(restrictions.handle(.received(uniqueIdentifier: "u-a", bytes: 1), at: 1)) == 204)
  }

  @Test(
    "Before the first launch only hosts of the allow list are asked: 202; with content switched off none: 206 [B63]")
  func domains() {
    var restrictions = Self.restrictions(domains: ["*.example.com"])
    #expect(
      Self.code(restrictions.handle(.requested(planned("a", host: "example.org"), isManifest: false), at: 0)) == 202)
    #expect(Self.code(restrictions.handle(.requested(planned("a"), isManifest: false), at: 0)) == nil)
    _ = restrictions.handle(.contentBeforeLaunch(isAllowed: false), at: 0)
    #expect(Self.code(restrictions.handle(.requested(planned("b"), isManifest: false), at: 0)) == 206)
  }

  @Test(
    "A leading *. matches subdomains and nothing else",
    arguments: [
      ("assets.example.com", "*.example.com", true), ("a.b.example.com", "*.example.com", true),
      ("example.com", "*.example.com", false), ("badexample.com", "*.example.com", false),
      ("example.com", "example.com", true), ("EXAMPLE.com.", "example.COM", true), ("", "*.", false),
      ("anything", "*.", false), ("anything", "*", false), ("a.example.com", "example.com", false),
    ])
  func matching(host: String, pattern: String, isMatch: Bool) {
    #expect(Restrictions.matches(host, pattern) == isMatch)
  }

  @Test(
    "However downloads come and go, no allowance is exceeded by what was admitted, and none is negative [B61]",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var random = seed.generator
    let limit: Int64 = 50_000_000
    var restrictions = Self.restrictions(limit, essential: limit)
    /// By name: bytes that it may still receive.
    var open: [String: Int64] = [:]
    var step = 0
    while step < 10_000 {
      step += 1
      let event: Restrictions.Event
      switch random.below(6) {
      case 0, 1:
        let size = Int64(random.below(4_000_000))
        event = .requested(
          planned("\(step)", essential: random.chance(2), size: size), isManifest: false)
        let effects = try restrictions.handleAsTwins(event, now: .start)
        if case .admit(let unique, _)? = effects.first { open[unique] = size }
        continue
      case 2, 3, 4:
        guard let (unique, rest) = open.min(by: { $0.key < $1.key }) else { continue }
        let bytes = Int64.random(in: 0...rest, using: &random)
        open[unique] = rest - bytes
        event = .received(uniqueIdentifier: unique, bytes: bytes)
      default:
        guard let unique = open.keys.min() else { continue }
        open[unique] = nil
        event = .settled(uniqueIdentifier: unique)
      }
      #expect(try restrictions.handleAsTwins(event, now: .start).isEmpty)
      for budget in Restrictions.Budget.allCases { #expect((0...limit).contains(restrictions.used(budget))) }
      #expect((restrictions.remaining ?? 0) >= 0 && (restrictions.essentialRemaining ?? 0) >= 0)
      if step % 1000 == 0 {
        restrictions = Self.restrictions(limit, essential: limit)
        open = [:]
      }
    }
  }
}
