import AssetModel
import Basics
import Hashing
import TestSupport
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct DigestFieldTests {
  static let bytes = (0..<32).map { UInt8($0) }
  static let (short, long) = (Base64.encode(bytes), Base64.encode(bytes + bytes))
  static let (sha256, sha512) = (ContentDigest(.sha256, bytes: bytes)!, ContentDigest(.sha512, bytes: bytes + bytes)!)

  @Test(
    arguments: [
      (["sha-256=:\(short):"], [sha256]), (["sha-256=:\(short):, sha-512=:\(long):"], [sha256, sha512]),
      (["sha-256=:\(short):", "sha-512=:\(long):"], [sha256, sha512]), (["md5=:AAAA:,sha-256=:\(short):"], [sha256]),
      (["sha=::"], []), (["unixsum=:AA==:"], []), ([""], []), (["  "], []),
      (["sha-256=:AAAA:, sha-256=:\(short):"], [sha256]),
      (["sha-256=:\(Base64.encode([UInt8](repeating: 9, count: 32))):,sha-256=:\(short):"], [sha256]),
      (["sha-256=:\(short):;a=1;b=\"x,\\\"\";c=?1;d=:AA==:; e=tok/en;f"], [sha256]),
      (["sha-256=:\(short.dropLast()):"], [sha256]),
    ] as [([String], [ContentDigest])])
  func reads(values: [String], expected: [ContentDigest]) {
    #expect(DigestField(values)?.known == expected)
  }

  @Test(
    arguments: [
      [], ["sha-256"], ["sha-256="], ["sha-256=\(short)"], ["sha-256=:\(short)"], ["sha-256=:AAAA:"],
      ["sha-512=:\(short):"],
      ["SHA-256=:\(short):"], ["sha-256 =:\(short):"], ["sha-256=:\(short):,"], [",sha-256=:\(short):"],
      ["sha-256=:\(short): x"],
      ["sha-256=:\(short):;"], ["sha-256=:\(short):;a="], ["md5=\"x\""], ["sha-256=:AA=:"], ["sha-256=: AAAA:"],
      ["sha=:::"], ["a=:A:"],
      ["sha-256=:\(short):\u{e9}"], [String(repeating: " ", count: 5000)],
      [(0..<17).map { "a\($0)=:AA==:" }.joined(separator: ", ")],
    ].map(Abbreviated.init))
  func refuses(values: Abbreviated<[String]>) {
    let field = DigestField(values.value)
    #expect(field == nil)
  }

  @Test func sixteenMembersAreTaken() {
    #expect(
      DigestField([(0..<15).map { "a\($0)=:AA==:" }.joined(separator: ", "), "sha-256=:\(Self.short):"])?.known == [
        Self.sha256
      ])
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>) func survivesAnything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "sha-256", "=", ":", Self.short, ",", " ", ";", "\"", "\\", "?1", "-1.5", "*", "a", "\u{fffd}", "sha-512",
      Self.long,
    ]
    for _ in 0..<200 {
      let count = Int.random(in: 0...12, using: &random)
      let value = (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined()
      #expect((DigestField([value])?.known.count ?? 0) <= 2, "seed \(seed): \(value)")
    }
  }
}
