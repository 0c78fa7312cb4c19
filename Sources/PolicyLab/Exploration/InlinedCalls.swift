/// Which functions a compiler made part of others at some addresses, and where they are called there (DW_TAG_inlined_subroutine).
struct InlinedCalls {
  struct Call {
    /// The function that was made part of the other, as its symbol would be.
    var function: String?
    /// Where it was called: a number in the line program that begins at `lines` of its section.
    var file: UInt64
    var line: UInt64
    var lines: UInt64
  }

  /// In the order of the addresses; of each the outermost first.
  private(set) var calls: [[Call]]

  private var entries: DebugEntries
  private var ranges: CodeRanges
  private let addresses: [UInt64]

  private static let maxDepth = 64
  /// From a call to its function's declaration.
  private static let maxOrigins = 4

  init(_ source: DebugSource, of addresses: [UInt64]) {
    entries = DebugEntries(source)
    ranges = CodeRanges(source)
    self.addresses = addresses
    calls = Array(repeating: [], count: addresses.count)
    while let unit = entries.nextUnit() {
      guard let unit else { continue }
      let wanted = indices(in: unit.code, unit)
      if wanted?.isEmpty != true { read(unit) }
    }
  }

  /// nil: nothing says where the code is.
  private mutating func indices(in code: DebugEntries.Code, _ unit: DebugEntries.Unit) -> [Int]? {
    guard let ranges = ranges.ranges(of: code, unit, entries) else { return nil }
    return addresses.indices.filter { index in ranges.contains { $0.contains(addresses[index]) } }
  }

  private mutating func read(_ unit: DebugEntries.Unit) {
    var (at, depth) = (unit.start + DebugEntries.header(unit.version), 0)
    // What the entry at hand stands in. Not all of its addresses need be among theirs: compilers move code about.
    var holders: [(depth: Int, entry: DebugEntries.Entry)] = []
    while let entry = entries.take(at: at, unit) {
      at = entry.next
      if entry.tag == 0 { depth -= 1 }
      while let last = holders.last, last.depth >= depth { holders.removeLast() }
      // DW_TAG_inlined_subroutine
      if entry.tag == 0x1d, holders.count < Self.maxDepth {
        for index in indices(in: entry.code, unit) ?? [] where calls[index].count <= holders.count {
          calls[index] = (holders.map(\.entry) + [entry]).map { call(of: $0, unit) }
        }
        if entry.hasChildren { holders.append((depth, entry)) }
      }
      if entry.hasChildren { depth += 1 }
      if depth <= 0 { return }
    }
  }

  private mutating func call(of entry: DebugEntries.Entry, _ unit: DebugEntries.Unit) -> Call {
    Call(
      function: name(of: entry, unit), file: entry.code.callFile ?? 0, line: entry.code.callLine ?? 0,
      lines: unit.code.lines ?? 0)
  }

  private mutating func name(of entry: DebugEntries.Entry, _ unit: DebugEntries.Unit) -> String? {
    var (entry, name) = (entry, String?.none)
    for _ in 0..<Self.maxOrigins {
      guard let origin = entry.code.origin, let next = entries.take(at: origin, unit) else { break }
      if let symbol = next.symbol { return symbol }
      name = name ?? next.name
      entry = next
    }
    return name
  }
}
