import AssetModel
import DevelopmentOrigin
import Foundation
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct OriginRegistryTests {
  @Test func whatIsUsedKeepsItsNumber() {
    var table = OriginRegistry()
    let used = (0..<10).map { table.number(of: "https://used\($0).test") }
    for round in 0..<100 {
      for host in 0..<200 { _ = table.number(of: "https://h\(host).r\(round).test") }
      if table.isCrowded { table.forget(except: Set(used)) }
      #expect(table.count <= 2 * (OriginRegistry.maxUnused + used.count) + 200)
    }
    #expect((0..<10).map { table.number(of: "https://used\($0).test") } == used)
    #expect(used.map { table.name(of: $0) } == (0..<10).map { "https://used\($0).test" })
  }

  @Test func whatIsKnownOutlivesWhatIsOnlyNamed() {
    var table = OriginRegistry()
    let known = table.number(of: "https://known.test")
    table[known].strongestOffered = Challenge.Strength(scheme: .digest, hash: 1)
    for host in 0..<5000 {
      _ = table.number(of: "https://h\(host).test")
      if table.isCrowded { table.forget(except: []) }
    }
    let again = table.number(of: "https://known.test")
    #expect(again == known && table[again].strongestOffered != nil)
  }

  /// Not even by what is known: a server that lets each of its names ask for a rest.
  @Test func isBoundedWhateverIsKnown() {
    var table = OriginRegistry()
    var numbers: Set<UInt32> = []
    for host in 0..<5000 {
      let number = table.number(of: "https://h\(host).test")
      numbers.insert(number)
      _ = table[number].setRetryAfter(until: .seconds(1000), value: "1000")
      if table.isCrowded { table.forget(except: []) }
    }
    #expect(table.count <= 2 * OriginRegistry.maxUnused + 1 && numbers.count <= 2 * OriginRegistry.maxUnused + 1)
    // Those that came last are known, and what has a number again begins anew.
    #expect(table[table.number(of: "https://h4999.test")].retryAfter != nil)
    #expect(table[table.number(of: "https://h0.test")].retryAfter == nil)
    #expect(table.openings.count <= 2 * OriginRegistry.maxUnused + 2)
  }

  @Test func reductionsOfForgottenOriginsEnd() {
    var table = OriginRegistry()
    let number = table.number(of: "https://reduced.test")
    table[number].reduceConcurrency(now: .zero)
    for host in 0..<(3 * OriginRegistry.maxUnused) {
      table[table.number(of: "https://h\(host).test")].edge = "192.0.2.1"
    }
    table.forget(except: [])
    #expect(table.takeRestored() == [number])
  }
}
