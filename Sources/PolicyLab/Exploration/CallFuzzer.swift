internal import Basics
package import HostProtocol
internal import PluginHost

/// Arguments that may surprise a function: the same for the same seed and number, as words of a command line, so that each attempt
/// can be repeated by one.
package struct CallFuzzer: Sendable {
  package let signature: CallSignature
  package let seed: UInt64

  package init(_ signature: CallSignature, seed: UInt64) { (self.signature, self.seed) = (signature, seed) }

  private static let texts = [
    "", "a", "0", "-1", "%s%n%x", "/etc/passwd", "../../etc/passwd", "a b", "ä€", "<a>", "{}", "[]", "1e999", "null",
  ]
  private static let numbers: [Int64] = [0, 1, -1, 2, 7, 8, 16, 64, 127, 128, 255, 256, 4096, 65_536]
  private static let longestBytes = 300

  /// One for each argument that isn't `out(N)`.
  package func words(of attempt: Int) -> [String] {
    var random = SeededGenerator(seed: seed &+ UInt64(attempt) &* 0x9e37_79b9)
    var lastLength: Int?
    return signature.given.map { kind in
      switch kind {
      case .bytes, .inOut:
        var longest = Self.longestBytes
        if case .inOut(let size) = kind { longest = min(longest, size) }
        let count = Int.random(in: 0...longest, using: &random) >> Int.random(in: 0...8, using: &random)
        lastLength = count
        return "hex:" + (0..<count).map { _ in Hexadecimal.text([UInt8.random(in: 0...255, using: &random)]) }.joined()
      case .cstring:
        let text = Self.text(&random)
        lastLength = text.utf8.count
        return text
      case .structure(let layout), .reference(_, let layout):
        return LayoutWords.text(of: layout) { Self.word($0, nil, &random) }
      default:
        let length = lastLength
        // What follows bytes is their length, often as not.
        let isLength = length != nil && Bool.random(using: &random)
        if isLength { lastLength = nil }
        return Self.word(kind, isLength ? length : nil, &random)
      }
    }
  }

  /// Of a kind that fits a register. `length`: what to say where it may be a length.
  private static func word(_ kind: CallSignature.Kind, _ length: Int?, _ random: inout SeededGenerator) -> String {
    switch kind {
    case .handle, .callback: return "null"
    case .pointer:
      // Mostly none: an address of nothing tells little.
      return Int.random(in: 0..<8, using: &random) == 0 ? "\(UInt64.random(in: 1...1 << 47, using: &random))" : "null"
    case .f32, .f64:
      let numbers = ["0", "1", "-1", "0.5", "1e30", "-1e-30", "3.14159"]
      return numbers[Int.random(in: 0..<numbers.count, using: &random)]
    default:
      if let length, let word = number(Int64(length), kind) { return word }
      return number(anyNumber(&random), kind) ?? "0"
    }
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return String(repeating: "A", count: Int.random(in: 1...2000, using: &random))
    case 1:
      // Not the first: '@' and 'hex:' have their own meaning, and '-' looks like an option.
      let letters = Array("abcXYZ019 .,:;/\\%$#!?*+=_(){}[]<>|&\"'")
      let count = Int.random(in: 0...40, using: &random)
      return "t" + String((0..<count).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] })
    default: return texts[Int.random(in: 0..<texts.count, using: &random)]
    }
  }

  private static func anyNumber(_ random: inout SeededGenerator) -> Int64 {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: Int64(bitPattern: random.next())
    case 1: Int64(bitPattern: random.next()) >> Int64.random(in: 1...62, using: &random)
    default: numbers[Int.random(in: 0..<numbers.count, using: &random)]
    }
  }

  /// Cut to what fits the type.
  private static func number(_ value: Int64, _ kind: CallSignature.Kind) -> String? {
    switch kind {
    case .i8: "\(Int8(truncatingIfNeeded: value))"
    case .u8: "\(UInt8(truncatingIfNeeded: value))"
    case .i16: "\(Int16(truncatingIfNeeded: value))"
    case .u16: "\(UInt16(truncatingIfNeeded: value))"
    case .i32: "\(Int32(truncatingIfNeeded: value))"
    case .u32: "\(UInt32(truncatingIfNeeded: value))"
    case .i64: "\(value)"
    case .u64: "\(UInt64(bitPattern: value))"
    default: nil
    }
  }
}

/// How attempts ended, by what they have in common.
package struct FuzzOutcomes: Sendable {
  package struct Class: Sendable, Encodable {
    package var outcome: String
    package var count: Int
    /// The first of them.
    package var attempt: Int
    package var command: String
  }

  package private(set) var classes: [Class] = []
  package var count: Int { classes.reduce(0) { $0 + $1.count } }
  private static let maxClasses = 64
  private static let limits: Set<Outcome.Kind> = [.wallTimeExceeded, .cpuTimeExceeded, .memoryExceeded]

  package init() {}

  package mutating func add(_ observed: Observed, attempt: Int, command: String) {
    let outcome = Self.name(of: observed)
    if let index = classes.firstIndex(where: { $0.outcome == outcome }) {
      classes[index].count += 1
    } else if classes.count < Self.maxClasses {
      classes.append(Class(outcome: outcome, count: 1, attempt: attempt, command: command))
    } else {
      // As good as any other of so many.
      classes[Self.maxClasses - 1].count += 1
    }
  }

  /// Without addresses, which differ each time; places in a function don't. What was used of a limit differs, too, and is no
  /// other outcome.
  static func name(of observed: Observed) -> String {
    let kind = observed.outcome.kind
    let detail =
      kind == .returned || limits.contains(kind)
      ? ""
      : observed.outcome.detail.replacing(#/\+?0x[0-9a-f]+/#) { match in
        match.output.hasPrefix("+") ? String(match.output) : "0x…"
      }
    var text = kind.rawValue + (detail.isEmpty ? "" : ": \(detail)")
    let denied = Set(observed.denials.filter { !$0.isAbsent }.map { "\($0.call) by \($0.wall)" }).sorted()
    if !denied.isEmpty { text += "; denied: " + denied.joined(separator: ", ") }
    return text
  }
}
