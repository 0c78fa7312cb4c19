import AssetModel
import Basics
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// Whatever origins come, are used and are let go: those in use stay, the others are bounded, and none is taken for another.
@Suite(.timeLimit(.minutes(2))) struct OriginRegistryPropertyTests {
  /// Of each name, one moment until which it is left alone: an origin that has another one's state shows it.
  private static func retryAfter(_ host: Int) -> Duration { .seconds(1000 + host) }
  private static func name(_ host: Int) -> String { "https://h\(host).test:443" }

  @Test(arguments: 0..<10) func randomUse(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var registry = OriginRegistry()
    var used: [Int: UInt32] = [:]
    /// How many there may be until it is looked at again.
    var bound = 2 * OriginRegistry.maxUnused
    for _ in 0..<60 {
      for _ in 0..<random.below(200) {
        let host = random.below(4000)
        let number = registry.number(of: Self.name(host))
        #expect(registry.name(of: number) == Self.name(host), "seed \(seed)")
        #expect(
          used[host].map { $0 == number } ?? !used.values.contains(number), "one number, one origin: seed \(seed)")
        let rest = registry[number].retryAfter
        #expect(rest == nil || rest == Self.retryAfter(host), "what is known of another origin: seed \(seed)")
        if random.chance(3) { _ = registry[number].setRetryAfter(until: Self.retryAfter(host), value: "x") }
        if random.chance(20) {
          used[host] = number
          _ = registry[number].setRetryAfter(until: Self.retryAfter(host), value: "x")
        }
        if registry.isCrowded || random.chance(500) {
          registry.forget(except: Set(used.values))
          #expect(registry.count <= used.count + OriginRegistry.maxUnused, "seed \(seed)")
          bound = 2 * max(OriginRegistry.maxUnused, registry.count)
        }
        #expect(registry.count <= bound, "seed \(seed)")
      }
      for (host, number) in used {
        #expect(
          registry.name(of: number) == Self.name(host) && registry[number].retryAfter == Self.retryAfter(host),
          "an origin in use was forgotten: seed \(seed)")
      }
      for host in used.keys.sorted() where random.chance(4) { used[host] = nil }
    }
  }
}
