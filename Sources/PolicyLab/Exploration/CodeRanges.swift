/// The addresses that an entry's code has, by its debug information: lists of `.debug_ranges` (DWARF 2 to 4) and of
/// `.debug_rnglists` (DWARF 5, 2.17.3). What is read is bounded.
struct CodeRanges {
  private let file: LibraryBytes
  private let sections: [String: Range<Int>]

  private static let maxRanges = 4096
  /// Of all lists together: many entries may name the same one.
  private var left = 4_000_000

  init(_ source: DebugSource) { (file, sections) = (source.file, source.sections) }

  /// nil: nothing says it.
  mutating func ranges(
    of code: DebugEntries.Code, _ unit: DebugEntries.Unit, _ entries: DebugEntries
  ) -> [Range<UInt64>]? {
    if let list = code.ranges {
      return unit.version == 5 ? listed(list, unit, entries) : paired(list, unit)
    }
    guard let low = code.low, let high = code.high else { return nil }
    return Self.range(low, code.isHighLength ? low &+ high : high).map { [$0] } ?? []
  }

  private static func range(_ low: UInt64?, _ high: UInt64?) -> Range<UInt64>? {
    guard let low, let high, low < high else { return nil }
    return low..<high
  }

  private mutating func paired(_ offset: UInt64, _ unit: DebugEntries.Unit) -> [Range<UInt64>]? {
    guard let section = sections[".debug_ranges"], offset < UInt64(section.count), unit.addressSize > 0 else {
      return nil
    }
    let width = unit.addressSize
    let last = width == 8 ? UInt64.max : 1 << UInt64(width * 8) - 1
    var (at, base, found) = (section.lowerBound + Int(offset), unit.code.low ?? 0, [Range<UInt64>]())
    for _ in 0..<min(Self.maxRanges, left) {
      left -= 1
      guard at <= section.upperBound - 2 * width, let low = file.integer(at, width),
        let high = file.integer(at + width, width)
      else { return nil }
      at += 2 * width
      if low == 0, high == 0 { return found }
      if low == last {
        base = high
      } else if let range = Self.range(base &+ low, base &+ high) {
        found.append(range)
      }
    }
    return nil
  }

  private mutating func listed(_ offset: UInt64, _ unit: DebugEntries.Unit, _ entries: DebugEntries) -> [Range<UInt64>]?
  {
    guard let section = sections[".debug_rnglists"], offset < UInt64(section.count) else { return nil }
    let end = section.upperBound
    var (at, base, found) = (section.lowerBound + Int(offset), unit.code.low ?? 0, [Range<UInt64>]())
    func number() -> UInt64? { file.number(&at, end) }
    func indexed() -> UInt64? { number().flatMap { entries.address($0, unit) } }
    func address() -> UInt64? {
      guard at <= end - unit.addressSize, let address = file.integer(at, unit.addressSize) else { return nil }
      at += unit.addressSize
      return address
    }
    for _ in 0..<min(Self.maxRanges, left) {
      left -= 1
      guard at < end, let kind = file.integer(at, 1) else { return nil }
      at += 1
      let (low, high): (UInt64?, UInt64?)
      switch kind {
      // DW_RLE_end_of_list, DW_RLE_base_addressx and so on, in their order.
      case 0: return found
      case 1:
        guard let start = indexed() else { return nil }
        base = start
        continue
      case 2: (low, high) = (indexed(), indexed())
      case 3:
        low = indexed()
        high = number().flatMap { length in low.map { $0 &+ length } }
      case 4: (low, high) = (number().map { base &+ $0 }, number().map { base &+ $0 })
      case 5:
        guard let start = address() else { return nil }
        base = start
        continue
      case 6: (low, high) = (address(), address())
      case 7:
        low = address()
        high = number().flatMap { length in low.map { $0 &+ length } }
      default: return nil
      }
      guard low != nil, high != nil else { return nil }
      if let range = Self.range(low, high) { found.append(range) }
    }
    return nil
  }
}
