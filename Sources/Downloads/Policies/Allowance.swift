/// Bytes of a budget that a job may still receive before more has to be reserved: the charge runs with the bytes. A pure value.
struct Allowance: Equatable {
  /// nil: no budget is charged.
  private(set) var left: Int64?
  /// More is being asked for.
  private(set) var isExtending = false

  /// The least that is reserved at once during a transfer, so that the journal isn't asked for every packet.
  static let step: Int64 = 1 << 20

  init(left: Int64? = nil) { self.left = left }

  /// Bytes that are missing before `bytes` may arrive; nil: nothing is.
  func missing(for bytes: Int64) -> Int64? {
    guard let left, left < bytes else { return nil }
    return bytes - left
  }

  /// What arrived beside a body, or beyond what was reserved, is charged all the same.
  mutating func charge(_ bytes: Int64) { if let left { self.left = left - bytes } }

  /// Bytes that a transfer which is given up may be charged with: never beyond what was reserved.
  func atMost(_ bytes: Int64) -> Int64 { min(bytes, left.map { max(0, $0) } ?? .max) }

  /// How much to ask for when `missing` is: at least that, and up to a step of what the file still needs beyond what is left.
  /// nil: it is being asked for already.
  mutating func extend(by missing: Int64, remaining: Int64?) -> (min: Int64, max: Int64)? {
    guard !isExtending else { return nil }
    isExtending = true
    let uncovered = remaining.map { $0 - max(0, left ?? 0) } ?? 0
    return (missing, max(missing, min(Self.step, max(uncovered, missing))))
  }

  mutating func extended(by bytes: Int64) {
    isExtending = false
    left = (left ?? 0) + bytes
  }

  mutating func wasRefused() { isExtending = false }
}
