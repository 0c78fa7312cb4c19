import Basics

extension SeededGenerator {
  /// In 0..<bound.
  public mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
  /// Whether one of so many chances came.
  public mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
}
