import Basics
import Testing

@testable import Downloads

/// Heads that are made up: most of them right, some with a byte that is another, some beyond a cap.
private struct RandomHead {
  var lines: [[UInt8]] = []
  var status = 200
  var fields: [ResponseHead.Field] = []
  /// Of everything, interim responses and trailers included.
  var fieldCount = 0
  var interims = 0
  var trailers = 0
  /// The first line that isn't as it was made.
  var changed: Int?

  init(_ random: inout SeededGenerator) {
    interims = Int.random(in: 0...3, using: &random)
    for _ in 0..<interims {
      lines.append(Array("HTTP/1.1 \([100, 102, 103, 199].randomElement(using: &random)!) \r\n".utf8))
      for _ in 0..<Int.random(in: 0...3, using: &random) { addField(&random) }
      lines.append(Array("\r\n".utf8))
    }
    status = Int.random(in: 200...999, using: &random)
    lines.append(Array("HTTP/\(["1.0", "1.1", "2"].randomElement(using: &random)!) \(status) reason\r\n".utf8))
    // One in twelve has too many, and one has too much.
    let kind = Int.random(in: 0..<12, using: &random)
    for _ in 0..<(kind == 0 ? 300 : Int.random(in: 0...12, using: &random)) { fields.append(addField(&random)) }
    if kind == 1 { for _ in 0..<5 { fields.append(addField(&random, count: 20_000)) } }
    lines.append(Array("\n".utf8))
    trailers = Int.random(in: 0...4, using: &random)
    for _ in 0..<trailers { addField(&random) }
    if trailers > 0 { lines.append(Array("\r\n".utf8)) }
    guard Int.random(in: 0..<2, using: &random) == 0 else { return }
    let line = Int.random(in: 0..<lines.count, using: &random)
    let place = Int.random(in: 0..<lines[line].count, using: &random)
    let byte = UInt8.random(in: 0...255, using: &random)
    if lines[line][place] != byte { changed = line }
    lines[line][place] = byte
  }

  private static let names = Array("aB3!#x-_")
  private static let values = Array("v: ,;\"=/é\t")

  @discardableResult
  private mutating func addField(_ random: inout SeededGenerator, count: Int? = nil) -> ResponseHead.Field {
    let name = String(
      (0..<Int.random(in: 1...8, using: &random)).map { _ in Self.names.randomElement(using: &random)! })
    let value =
      count.map { String(repeating: "x", count: $0) }
      ?? String((0..<Int.random(in: 0...20, using: &random)).map { _ in Self.values.randomElement(using: &random)! })
    let blank = ["", " ", " \t "].randomElement(using: &random)!
    lines.append(Array("\(name):\(blank)\(value)\(blank)\r\n".utf8))
    fieldCount += 1
    var trimmed = Substring(value)
    while let first = trimmed.first, " \t".contains(first) { trimmed.removeFirst() }
    while let last = trimmed.last, " \t".contains(last) { trimmed.removeLast() }
    return ResponseHead.Field(name: name.lowercased(), value: String(trimmed))
  }
}

/// Whatever arrives: no trap, no head beyond the caps, what is right is read as it is, and nothing splits a line.
@Suite(.timeLimit(.minutes(1))) struct RandomHeadTests {
  private enum End: Hashable { case whole, wholeThoughChanged, malformed, tooManyFields, tooLarge }

  private static func end(of made: RandomHead, _ seed: UInt64) -> End {
    var reader = ResponseHeadReader(allowsHTTP2: true)
    var head: ResponseHead?
    for line in made.lines {
      let result = line.withUnsafeBytes { bytes in Result { () throws(HeadFailure) in try reader.append(bytes) } }
      switch result {
      case .success(let found): head = head ?? found
      case .failure(.malformed): return .malformed
      case .failure(.tooManyFields): return .tooManyFields
      case .failure(.tooLarge): return .tooLarge
      }
    }
    guard let head else { return .malformed }
    #expect(head.status >= 200 && head.fields.count <= 256, "seed \(seed)")
    #expect(head.fields.allSatisfy { !$0.value.utf8.contains(where: { [0, 10, 13].contains($0) }) }, "seed \(seed)")
    if made.changed != nil { return .wholeThoughChanged }
    #expect(head.status == made.status && head.fields == made.fields, "seed \(seed)")
    return .whole
  }

  @Test func survivesAnything() {
    var ends: [End: Int] = [:]
    var (interims, trailers) = (0, 0)
    for seed in 1...1000 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let made = RandomHead(&random)
      let end = Self.end(of: made, seed)
      ends[end, default: 0] += 1
      if end == .whole {
        interims += made.interims > 0 ? 1 : 0
        trailers += made.trailers > 0 ? 1 : 0
      }
      guard made.changed == nil else { continue }
      let count = made.lines.reduce(0) { $0 + $1.count }
      let expected: [End] =
        made.fieldCount > 256
        ? [.tooManyFields, .tooLarge] : count > ResponseHeadReader.maxBytes ? [.tooLarge] : [.whole]
      #expect(expected.contains(end), "seed \(seed): \(end), \(made.fieldCount) fields, \(count) bytes")
    }
    // Every state is reached, and often: what ends at the first line shows nothing.
    #expect(ends[.whole, default: 0] > 350 && interims > 250 && trailers > 250, "\(ends)")
    #expect(ends[.wholeThoughChanged, default: 0] > 100 && ends[.malformed, default: 0] > 100, "\(ends)")
    #expect(ends[.tooManyFields, default: 0] > 40 && ends[.tooLarge, default: 0] > 40, "\(ends)")
  }

  /// A mutation of the first line alone ends most heads: it isn't where the others end.
  @Test func changesAreFoundWhereverTheyAre() {
    var lines: Set<Int> = []
    for seed in 1...1000 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let made = RandomHead(&random)
      if let line = made.changed, Self.end(of: made, seed) == .malformed { lines.insert(line) }
    }
    #expect(lines.isSuperset(of: 0..<15), "\(lines.sorted())")
  }
}
