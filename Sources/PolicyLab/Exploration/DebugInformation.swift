/// The functions that a library's debug information describes, as compilers for C write it. What is read is bounded in number and
/// depth.
struct DebugInformation {
  private(set) var functions: [String: CFunction] = [:]

  private static let maxParameters = 64
  private static let maxTypeDepth = 16
  private static let maxDimensions = 4
  /// DW_TAG_namespace, which modules of Rust are, too.
  private static let namespace: UInt64 = 0x39
  /// With functions and types of its own.
  private static let maxMembers = 2048

  private var entries: DebugEntries
  private let wanted: Set<String>
  /// Fields of structures by value that the function at hand may still have.
  private var fieldsLeft = CRecord.maxFields

  private typealias Unit = DebugEntries.Unit
  private typealias Entry = DebugEntries.Entry

  /// Types by where they stand, but for those that hold what is in them.
  private typealias Known = [Int: CType]

  /// `wanted`: the functions that are looked for.
  init(_ source: DebugSource, wanted: [String]) {
    entries = DebugEntries(source)
    self.wanted = Set(wanted)
    while let unit = entries.nextUnit() {
      if let unit { read(unit) }
    }
  }

  private mutating func read(_ unit: Unit) {
    var at = unit.start + DebugEntries.header(unit.version)
    // The tags of what holds the entry at hand.
    var holders: [UInt64] = []
    var types: Known = [:]
    var function: (name: String, depth: Int, CFunction)?
    while let entry = entries.take(at: at, unit) {
      at = entry.next
      if entry.tag == 0 {
        _ = holders.popLast()
        if let (name, depth, found) = function, holders.count <= depth {
          add(name, found)
          function = nil
        }
        if holders.isEmpty { break }
        continue
      }
      switch entry.tag {
      // DW_TAG_subprogram
      case 0x2e
      where entry.isExternal && entry.isUsuallyCalled && holders.dropFirst().allSatisfy { $0 == Self.namespace }:
        if let name = entry.symbol ?? entry.name, wanted.contains(name) {
          fieldsLeft = CRecord.maxFields
          let result = type(entry.type, unit, &types, isByValue: true)
          let found = CFunction(result: result, parameters: [], isVariadic: false)
          if entry.hasChildren { function = (name, holders.count, found) } else { add(name, found) }
        }
      // DW_TAG_formal_parameter, DW_TAG_unspecified_parameters
      case 0x05 where holders.count - 1 == function?.depth:
        if (function?.2.parameters.count ?? Self.maxParameters) < Self.maxParameters {
          let type = type(entry.type, unit, &types, isByValue: true)
          function?.2.parameters.append(CParameter(name: entry.name ?? "", type: type))
        }
      case 0x18 where holders.count - 1 == function?.depth: function?.2.isVariadic = true
      default: break
      }
      if entry.hasChildren { holders.append(entry.tag) }
    }
    if let (name, _, found) = function { add(name, found) }
  }

  /// What is said with parameters says more than a declaration without.
  private mutating func add(_ name: String, _ function: CFunction) {
    if let known = functions[name], known.parameters.count >= function.parameters.count { return }
    functions[name] = function
  }

  // MARK: Types

  /// `isByValue`: what is in a structure is wanted, too.
  private mutating func type(
    _ at: Int?, _ unit: Unit, _ known: inout Known, isByValue: Bool = false, depth: Int = 0
  ) -> CType {
    guard let at else { return .void }
    if !isByValue, let type = known[at] { return type }
    guard depth < Self.maxTypeDepth, let entry = entries.take(at: at, unit) else { return .other("?") }
    let type = type(of: entry, unit, &known, isByValue, depth + 1)
    if !isByValue { known[at] = type }
    return type
  }

  private mutating func type(
    of entry: Entry, _ unit: Unit, _ known: inout Known, _ isByValue: Bool, _ depth: Int
  ) -> CType {
    let name = String((entry.name ?? "").prefix(80))
    switch entry.tag {
    case 0x24: return .base(name, size: entry.size, encoding: entry.encoding)
    // Pointers and references of either kind.
    case 0x0f, 0x10, 0x42: return .pointer(type(entry.type, unit, &known, depth: depth))
    case 0x26: return .constant(type(entry.type, unit, &known, isByValue: isByValue, depth: depth))
    // volatile, restrict, atomic
    case 0x35, 0x37, 0x47: return type(entry.type, unit, &known, isByValue: isByValue, depth: depth)
    case 0x16: return .named(name, type(entry.type, unit, &known, isByValue: isByValue, depth: depth))
    case 0x04:
      // Its own encoding, or that of the type that its values have.
      var encoding = entry.encoding
      if encoding == 0, entry.type != nil,
        case .base(_, _, let own) = type(entry.type, unit, &known, depth: depth).bare
      {
        encoding = own
      }
      let isSigned = encoding == 5 || encoding == 6
      return .enumeration(name.isEmpty ? "enum" : "enum \(name)", size: entry.size, isSigned: isSigned)
    case 0x02, 0x13, 0x17:
      let word = entry.tag == 0x02 ? "class" : entry.tag == 0x13 ? "struct" : "union"
      let spelling = name.isEmpty ? word : "\(word) \(name)"
      return .record(spelling, isByValue ? record(spelling, entry, unit, &known, depth) : nil)
    case 0x15: return .function(function(entry, unit, &known, depth))
    case 0x01 where entry.isVector: return .other("a vector")
    case 0x01: return array(entry, unit, &known, isByValue, depth)
    default: return .other(name.isEmpty ? "?" : name)
    }
  }

  /// nil: nothing says what is in it, or it is more than a call can pass.
  private mutating func record(
    _ name: String, _ entry: Entry, _ unit: Unit, _ known: inout Known, _ depth: Int
  ) -> CRecord? {
    // What it has of others isn't among its fields (DW_TAG_inheritance). One with functions (DW_TAG_subprogram) may be copied by
    // them, and its address is passed then.
    guard entry.isPassedByValue != false, let children = entries.children(of: entry, unit, limit: Self.maxMembers),
      !children.contains(where: { $0.tag == 0x1c || $0.tag == 0x2e && entry.isPassedByValue == nil })
    else { return nil }
    var record = CRecord(
      name: name, isUnion: entry.tag == 0x17, size: entry.size, alignment: entry.alignment, fields: [])
    // DW_TAG_member
    for child in children where child.tag == 0x0d {
      guard fieldsLeft > 0 else { return nil }
      fieldsLeft -= 1
      let bits = child.byteOffset.flatMap { $0 < 1 << 32 ? $0 * 8 : nil }
      record.fields.append(
        .init(
          name: String((child.name ?? "").prefix(80)), offset: bits,
          isBitField: child.bitSize != nil || child.bitOffset != nil, alignment: child.alignment,
          type: type(child.type, unit, &known, isByValue: true, depth: depth)))
    }
    return record
  }

  /// As C spells it: `int (char *)`.
  private mutating func function(_ entry: Entry, _ unit: Unit, _ known: inout Known, _ depth: Int) -> String {
    let result = type(entry.type, unit, &known, depth: depth)
    guard let children = entries.children(of: entry, unit, limit: Self.maxParameters) else {
      return result.declared("(?)")
    }
    var words: [String] = []
    for child in children {
      if child.tag == 0x05 { words.append(type(child.type, unit, &known, depth: depth).words) }
      if child.tag == 0x18 { words.append("...") }
    }
    return String(result.declared("(\(words.isEmpty ? "void" : words.joined(separator: ", ")))").prefix(300))
  }

  private mutating func array(
    _ entry: Entry, _ unit: Unit, _ known: inout Known, _ isByValue: Bool, _ depth: Int
  ) -> CType {
    var type = type(entry.type, unit, &known, isByValue: isByValue, depth: depth)
    // DW_TAG_subrange_type, one for each dimension, the innermost last.
    let dimensions = entries.children(of: entry, unit, limit: Self.maxDimensions) ?? []
    for dimension in dimensions.reversed() where dimension.tag == 0x21 {
      // One without a length says that its last element is the one before the first.
      let count = dimension.count ?? dimension.lastIndex.map { $0 &+ 1 } ?? 0
      type = .array(type, count: count)
    }
    return dimensions.isEmpty ? .array(type, count: 0) : type
  }
}
