/// The entries of a library's debug information: DWARF 2 to 5 of 32 bits. The file may say anything: what is read is bounded in number,
/// and what isn't understood ends the unit that it stands in.
struct DebugEntries {
  /// Entries that are looked at, in all units.
  private static let maxEntries = 4_000_000
  private static let maxAbbreviations = 65_536
  private static let maxAttributes = 256

  /// Stands for a type in another unit, which isn't looked up.
  private static let elsewhere = -1

  private let file: LibraryBytes
  private let sections: [String: Range<Int>]
  private(set) var left = maxEntries
  private var tables: [UInt64: [UInt64: Abbreviation]] = [:]
  private var at: Int

  fileprivate struct Abbreviation {
    var tag: UInt64
    var hasChildren: Bool
    var attributes: [(name: UInt64, form: UInt64, constant: Int64)]
  }

  struct Unit {
    var start: Int
    var end: Int
    var version: UInt64
    var addressSize: Int
    fileprivate var table: [UInt64: Abbreviation]
    /// Of the whole unit.
    var code = Code()
    var bases = Bases()
  }

  /// Where a unit's own parts of shared tables begin (DWARF 5, 7.26 to 7.29).
  struct Bases {
    var texts: UInt64 = 8
    var addresses: UInt64 = 8
    var ranges: UInt64 = 12
  }

  /// Where an entry's code is, and, of a function that is part of another one's code, which one it is and where that called it.
  struct Code {
    var low: UInt64?
    /// An address, or how many bytes there are from `low`.
    var high: UInt64?
    var isHighLength = false
    /// Where the list of its ranges begins in its section.
    var ranges: UInt64?
    var origin: Int?
    /// A number in the unit's line program, and a line.
    var callFile, callLine: UInt64?
    /// Of a unit: where its line program begins in its section.
    var lines: UInt64?
  }

  struct Entry {
    var tag: UInt64
    var hasChildren: Bool
    var name: String?
    /// What the library calls it, where that isn't its name.
    var symbol: String?
    var type: Int?
    var size: UInt64 = 0
    var encoding: UInt64 = 0
    var isExternal = false
    /// Of a field: bytes or bits from the start of what it is in; nil: a program says it, or nothing does.
    var byteOffset, bitOffset, bitSize: UInt64?
    /// Of a type, or of a field in it; nil: that of what is in it.
    var alignment: UInt64?
    /// Of a structure of C++: whether it is passed by value (DW_CC_pass_by_value), or its address in its place; nil: nothing says it.
    var isPassedByValue: Bool?
    /// Whether a function is called as those of C are (DW_CC_normal).
    var isUsuallyCalled = true
    /// Whether it is a vector, and no array.
    var isVector = false
    /// Of an array: how many elements, or the number of the last.
    var count, lastIndex: UInt64?
    var code = Code()
    /// Of a unit.
    fileprivate var bases = Bases()
    var next: Int
  }

  init(_ source: DebugSource) {
    (file, sections) = (source.file, source.sections)
    at = sections[".debug_info"]?.lowerBound ?? 0
  }

  /// Outer nil: there is none left. Inner nil: one that isn't understood.
  mutating func nextUnit() -> Unit?? {
    guard let end = sections[".debug_info"]?.upperBound, sections[".debug_abbrev"] != nil, left > 0 else { return nil }
    guard let length = file.integer(at, 4), length < 0xffff_fff0, length > 7, Int(length) <= end - at - 4,
      let version = file.integer(at + 4, 2)
    else { return nil }
    let start = at
    let unitEnd = at + 4 + Int(length)
    at = unitEnd
    left -= 1
    var header = start + 6
    let (abbreviations, addressSize): (UInt64?, UInt64?)
    switch version {
    case 2...4:
      (abbreviations, addressSize) = (file.integer(header, 4), file.integer(header + 4, 1))
      header += 5
    // DW_UT_compile and DW_UT_partial.
    case 5 where [1, 3].contains(file.integer(header, 1) ?? 0):
      (addressSize, abbreviations) = (file.integer(header + 1, 1), file.integer(header + 2, 4))
      header += 6
    default: return .some(nil)
    }
    guard let abbreviations, let addressSize, addressSize <= 8, let table = table(at: abbreviations) else {
      return .some(nil)
    }
    var unit = Unit(start: start, end: unitEnd, version: version, addressSize: Int(addressSize), table: table)
    guard let bases = entry(at: header, unit)?.bases else { return .some(nil) }
    unit.bases = bases
    // Its addresses may be told by numbers that only the bases give a meaning.
    guard let root = entry(at: header, unit) else { return .some(nil) }
    unit.code = root.code
    return .some(unit)
  }

  static func header(_ version: UInt64) -> Int { version == 5 ? 12 : 11 }

  /// The one after what has been read, which counts; nil: it isn't understood, or too many have been.
  mutating func take(at place: Int, _ unit: Unit) -> Entry? {
    guard left > 0, place >= unit.start, place < unit.end else { return nil }
    left -= 1
    return entry(at: place, unit)
  }

  /// What stands directly below an entry, at most `limit`; nil where that isn't understood, or is more.
  mutating func children(of parent: Entry, _ unit: Unit, limit: Int) -> [Entry]? {
    guard parent.hasChildren else { return [] }
    var (found, depth, at) = ([Entry](), 1, parent.next)
    while let entry = take(at: at, unit) {
      at = entry.next
      if entry.tag == 0 {
        depth -= 1
        if depth == 0 { return found }
        continue
      }
      if depth == 1 {
        guard found.count < limit else { return nil }
        found.append(entry)
      }
      if entry.hasChildren { depth += 1 }
    }
    return nil
  }

  /// Whose names are wanted: subprograms, parameters, fields, and types.
  private static let named: Set<UInt64> = [0x2e, 0x05, 0x0d, 0x24, 0x16, 0x04, 0x02, 0x13, 0x17]

  func entry(at start: Int, _ unit: Unit) -> Entry? {
    var at = start
    guard let code = number(&at, unit.end) else { return nil }
    guard code != 0 else { return Entry(tag: 0, hasChildren: false, next: at) }
    guard let abbreviation = unit.table[code] else { return nil }
    var entry = Entry(tag: abbreviation.tag, hasChildren: abbreviation.hasChildren, next: at)
    for (name, form, constant) in abbreviation.attributes {
      guard let value = value(form, constant, &at, unit) else { return nil }
      switch (name, value) {
      case (0x03, .text(let place)) where Self.named.contains(entry.tag): entry.name = place.flatMap(file.text)
      case (0x49, .reference(let place)): entry.type = place
      // There is one, and nothing else than void has none.
      case (0x49, _): entry.type = Self.elsewhere
      case (0x0b, .number(let size)): entry.size = size
      case (0x3e, .number(let encoding)): entry.encoding = encoding
      case (0x3f, .number(let flag)): entry.isExternal = flag != 0
      case (0x72, .number(let base)): entry.bases.texts = base
      case (0x73, .number(let base)): entry.bases.addresses = base
      case (0x74, .number(let base)): entry.bases.ranges = base
      case (0x11, .address(let low)): entry.code.low = low
      case (0x12, .address(let high)): entry.code.high = high
      case (0x12, .number(let length)): (entry.code.high, entry.code.isHighLength) = (length, true)
      case (0x55, .number(let ranges)): entry.code.ranges = ranges
      // DW_AT_abstract_origin, and DW_AT_specification, which leads on from there.
      case (0x31, .reference(let place)), (0x47, .reference(let place)): entry.code.origin = place
      case (0x58, .number(let file)): entry.code.callFile = file
      case (0x59, .number(let line)): entry.code.callLine = line
      case (0x10, .number(let lines)): entry.code.lines = lines
      case (0x38, .number(let offset)): entry.byteOffset = offset
      case (0x6b, .number(let offset)): entry.bitOffset = offset
      case (0x0d, .number(let size)): entry.bitSize = size
      case (0x37, .number(let count)): entry.count = count
      case (0x36, .number(let convention)) where entry.tag == 0x2e: entry.isUsuallyCalled = convention == 1
      case (0x36, .number(let convention)): entry.isPassedByValue = convention == 5
      // DW_AT_linkage_name, and its name before DWARF 4.
      case (0x6e, .text(let place)), (0x2007, .text(let place)): entry.symbol = place.flatMap(file.text)
      case (0x88, .number(let alignment)): entry.alignment = alignment
      // DW_AT_GNU_vector
      case (0x2107, .number(let flag)): entry.isVector = flag != 0
      case (0x2f, .number(let last)): entry.lastIndex = last
      default: break
      }
    }
    entry.next = at
    return entry
  }

  private enum Value {
    case number(UInt64)
    case address(UInt64)
    /// Where it begins.
    case text(Int?)
    /// A place in the file.
    case reference(Int)
    case skipped
  }

  /// By its form (DW_FORM); nil for one that isn't known or doesn't fit.
  private func value(_ form: UInt64, _ constant: Int64, _ at: inout Int, _ unit: Unit) -> Value? {
    func fixed(_ width: Int) -> UInt64? {
      guard at <= unit.end - width, let value = file.integer(at, width) else { return nil }
      at += width
      return value
    }
    func skip(_ count: UInt64?) -> Value? {
      guard let count, count <= UInt64(max(unit.end - at, 0)) else { return nil }
      at += Int(count)
      return .skipped
    }
    // Of programs one is understood, which adds a number (DW_OP_plus_uconst): in DWARF 2 it says where a field lies.
    func block(_ count: UInt64?) -> Value? {
      var place = at + 1
      let operation = file.integer(at, 1)
      guard let whole = skip(count) else { return nil }
      guard operation == 0x23, let added = number(&place, at), place == at else { return whole }
      return .number(added)
    }
    func reference(_ offset: UInt64?) -> Value? {
      guard let offset, offset < UInt64(unit.end - unit.start) else { return offset == nil ? nil : .skipped }
      return .reference(unit.start + Int(offset))
    }
    func text(_ section: String, _ offset: UInt64?) -> Value? {
      guard let offset else { return nil }
      guard let range = sections[section], offset < UInt64(range.count) else { return .text(nil) }
      return .text(range.lowerBound + Int(offset))
    }
    switch form {
    case 0x01: return fixed(unit.addressSize).map(Value.address)
    case 0x0a: return block(fixed(1))
    case 0x03: return skip(fixed(2))
    case 0x04: return skip(fixed(4))
    case 0x09, 0x18: return skip(number(&at, unit.end))
    case 0x0b, 0x0c: return fixed(1).map(Value.number)
    case 0x05: return fixed(2).map(Value.number)
    case 0x06, 0x17: return fixed(4).map(Value.number)
    case 0x07: return fixed(8).map(Value.number)
    case 0x20: return skip(8)
    case 0x1e: return skip(16)
    case 0x0d, 0x0f: return number(&at, unit.end).map(Value.number)
    case 0x08:
      guard at < unit.end, let end = file.bytes[at..<unit.end].firstIndex(of: 0) else { return nil }
      defer { at = end + 1 }
      return .text(at)
    case 0x0e: return text(".debug_str", fixed(4))
    case 0x1f: return text(".debug_line_str", fixed(4))
    case 0x1a: return indexed(number(&at, unit.end), unit)
    case 0x25: return indexed(fixed(1), unit)
    case 0x26: return indexed(fixed(2), unit)
    case 0x27: return skip(3)
    case 0x28: return indexed(fixed(4), unit)
    case 0x11: return reference(fixed(1))
    case 0x12: return reference(fixed(2))
    case 0x13: return reference(fixed(4))
    case 0x14: return reference(fixed(8))
    case 0x15: return reference(number(&at, unit.end))
    // Places in the whole section, which lie in other units mostly.
    // So do those in a file that several share (DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt).
    case 0x1f20, 0x1f21: return skip(4)
    case 0x10: return skip(unit.version == 2 ? UInt64(unit.addressSize) : 4)
    case 0x19: return .number(1)
    case 0x21: return .number(UInt64(bitPattern: constant))
    case 0x22: return number(&at, unit.end) == nil ? nil : .skipped
    case 0x23: return number(&at, unit.end).map { rangeList($0, unit).map(Value.number) ?? .skipped }
    case 0x1b: return number(&at, unit.end).map { addressValue($0, unit) }
    case 0x29: return fixed(1).map { addressValue($0, unit) }
    case 0x2a: return fixed(2).map { addressValue($0, unit) }
    case 0x2b: return fixed(3).map { addressValue($0, unit) }
    case 0x2c: return fixed(4).map { addressValue($0, unit) }
    case 0x1c, 0x1d: return skip(4)
    case 0x24: return skip(8)
    default: return nil
    }
  }

  private func indexed(_ index: UInt64?, _ unit: Unit) -> Value? {
    guard let index else { return nil }
    guard let offsets = sections[".debug_str_offsets"], let texts = sections[".debug_str"],
      let offset = element(index, 4, unit.bases.texts, in: offsets), offset < UInt64(texts.count)
    else { return .text(nil) }
    return .text(texts.lowerBound + Int(offset))
  }

  /// One of the numbers of a table.
  private func element(_ index: UInt64, _ width: Int, _ base: UInt64, in section: Range<Int>) -> UInt64? {
    guard index < UInt64(section.count), base < UInt64(section.count) else { return nil }
    let at = section.lowerBound + Int(base) + Int(index) * width
    return at <= section.upperBound - width ? file.integer(at, width) : nil
  }

  /// The address with this number in the unit's table.
  func address(_ index: UInt64, _ unit: Unit) -> UInt64? {
    sections[".debug_addr"].flatMap { element(index, unit.addressSize, unit.bases.addresses, in: $0) }
  }

  private func addressValue(_ index: UInt64, _ unit: Unit) -> Value {
    address(index, unit).map(Value.address) ?? .skipped
  }

  /// Where the list of ranges with this number begins.
  private func rangeList(_ index: UInt64, _ unit: Unit) -> UInt64? {
    guard let section = sections[".debug_rnglists"], let offset = element(index, 4, unit.bases.ranges, in: section)
    else { return nil }
    return unit.bases.ranges + offset
  }

  // MARK: Abbreviations

  private mutating func table(at offset: UInt64) -> [UInt64: Abbreviation]? {
    if let known = tables[offset] { return known }
    guard let section = sections[".debug_abbrev"], offset < UInt64(section.count) else { return nil }
    var at = section.lowerBound + Int(offset)
    var table: [UInt64: Abbreviation] = [:]
    while let code = number(&at, section.upperBound), code != 0 {
      guard table.count < Self.maxAbbreviations, let tag = number(&at, section.upperBound),
        let children = file.integer(at, 1)
      else { return nil }
      at += 1
      left -= 1
      guard left > 0 else { return nil }
      var abbreviation = Abbreviation(tag: tag, hasChildren: children != 0, attributes: [])
      while true {
        guard let name = number(&at, section.upperBound), let form = number(&at, section.upperBound) else { return nil }
        var constant: Int64 = 0
        if form == 0x21 {
          guard let value = number(&at, section.upperBound) else { return nil }
          constant = Int64(truncatingIfNeeded: value)
        }
        if name == 0, form == 0 { break }
        guard abbreviation.attributes.count < Self.maxAttributes else { return nil }
        abbreviation.attributes.append((name, form, constant))
      }
      table[code] = abbreviation
    }
    tables[offset] = table
    return table
  }

  private func number(_ at: inout Int, _ end: Int) -> UInt64? { file.number(&at, end) }
}
