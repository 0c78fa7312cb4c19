/// Numbers that look random and are the same for the same seed (splitmix64, Steele et al. 2014): what a machine decides with
/// them can be repeated from its journal, what a test does from its seed. Not for secrets.
///
/// Coded as its state, one unsigned number of 64 bits.
package struct SeededGenerator: RandomNumberGenerator, Sendable, Equatable, Codable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package init(from decoder: any Decoder) throws { state = try decoder.singleValueContainer().decode(UInt64.self) }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(state)
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// In 0..<1.
  package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
