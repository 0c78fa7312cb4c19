/// What the host reads of a library without loading it: enough to describe it and to find its neighbours. The file is
/// hostile; every offset is checked against what is there.
package struct ELFFile: Sendable, Equatable {
  package var isSharedObject: Bool
  package var soname: String?
  package var needed: [String]
  package var runpath: [String]
  /// Names of the functions and data that it exports, sorted; empty where they weren't asked for.
  package var exports: [String]
  /// Whether there are more than are read.
  package var exportsAreCut = false
  /// Whether what it has the loader map lies in part beyond its end.
  package var isCutShort = false

  package struct FormatError: Error, Sendable, CustomStringConvertible {
    package var description: String
    package var isCutShort = false
  }

  /// Looked at in the symbol table, whose length the file makes up.
  private static let maxEntries = 1 << 18
  /// Bytes of names that are kept: all entries can share one long name, and so be many times the file.
  private static let maxNameBytes = 1 << 24
  /// Of the table that they lie in, which is read in one piece: they may lie in any order.
  private static let maxStrings = 1 << 25
  /// What a linker makes has some ten of either. Each name may lie on a page of its own.
  private static let maxSegments: UInt64 = 1024
  private static let maxNames = 1024
  private static let maxNeededBytes = 1 << 16

  init(_ bytes: [UInt8]) throws(FormatError) { try self.init(FileWindows(bytes), readsExports: true) }

  /// Parses a 64-bit little-endian x86-64 or AArch64 file (elf(5)). Reads at most some MiB, wherever they lie, and with the
  /// exports some ten more. What has more of anything than a linker makes is left to the loader.
  init(_ view: FileWindows, readsExports: Bool) throws(FormatError) {
    guard view.integer(0, 4) == 0x464c_457f else { throw FormatError(description: "isn't an ELF file") }
    guard view.count >= 64 else { throw FormatError(description: "is a truncated ELF file", isCutShort: true) }
    guard view.integer(4, 2) == 0x0102 else {
      throw FormatError(description: "isn't a 64-bit little-endian ELF file")
    }
    #if arch(x86_64)
      let (machine, machineName): (UInt64, String) = (62, "x86-64")
    #else
      let (machine, machineName): (UInt64, String) = (183, "AArch64")
    #endif
    guard view.integer(18, 2) == machine else {
      throw FormatError(
        description: "is for another architecture (machine \(view.integer(18, 2) ?? 0)); this host runs \(machineName)")
    }
    isSharedObject = view.integer(16, 2) == 3
    soname = nil
    needed = []
    runpath = []
    exports = []
    guard let headers = view.integer(32, 8), let size = view.integer(54, 2), let count = view.integer(56, 2), size >= 56
    else {
      throw FormatError(description: "has no usable program headers")
    }
    guard count <= Self.maxSegments else {
      throw FormatError(description: "has \(count) program headers, and at most \(Self.maxSegments) are read")
    }
    var segments: [Segment] = []
    for index in 0..<count {
      let at = headers &+ index &* size
      guard let type = view.integer(at, 4), let offset = view.integer(at &+ 8, 8),
        let address = view.integer(at &+ 16, 8),
        let length = view.integer(at &+ 32, 8)
      else { throw FormatError(description: "has program headers beyond its end", isCutShort: true) }
      segments.append(Segment(type: type, offset: offset, address: address, length: length))
    }
    isCutShort = segments.contains { $0.type == 1 && $0.length > 0 && !$0.lies(within: view.count) }
    try readDynamic(view, segments, readsExports)
  }

  private struct Segment {
    var type, offset, address, length: UInt64

    func lies(within count: UInt64) -> Bool { offset <= count && length <= count - offset }
  }

  private mutating func readDynamic(
    _ view: FileWindows, _ segments: [Segment], _ readsExports: Bool
  ) throws(FormatError) {
    guard let dynamic = segments.first(where: { $0.type == 2 }) else { return }
    func offset(of address: UInt64) -> UInt64? {
      segments.first { $0.type == 1 && address >= $0.address && address - $0.address < $0.length }
        .map { $0.offset &+ (address - $0.address) }
    }
    var names: [(UInt64, UInt64)] = []
    var addresses: (strings: UInt64?, symbols: UInt64?, hash: UInt64?)
    var stringsSize = UInt64.max
    for index in 0..<min(dynamic.length / 16, 4096) {
      guard let tag = view.integer(dynamic.offset &+ index &* 16, 8),
        let value = view.integer(dynamic.offset &+ index &* 16 &+ 8, 8)
      else { throw FormatError(description: "has a dynamic section beyond its end", isCutShort: true) }
      switch tag {
      case 0: break
      case 1, 14, 15, 29: names.append((tag, value))
      case 5: addresses.strings = value
      case 6: addresses.symbols = value
      case 10: stringsSize = value
      case 0x6fff_fef5: addresses.hash = value
      default: continue
      }
      if tag == 0 { break }
    }
    // Looked up once, not for each entry: a file may have thousands of entries and of segments.
    guard let strings = addresses.strings.flatMap(offset(of:)) else { return }
    var room = Self.maxNeededBytes
    for (tag, value) in names {
      guard let text = view.text(strings &+ value) else { continue }
      room -= text.utf8.count
      guard room >= 0, needed.count < Self.maxNames else {
        throw FormatError(description: "names more libraries than are looked for")
      }
      switch tag {
      case 1: needed.append(text)
      case 14: soname = text
      default: runpath += text.split(separator: ":").prefix(Self.maxNames - runpath.count).map(String.init)
      }
    }
    guard readsExports, let symbols = addresses.symbols.flatMap(offset(of:)),
      let hash = addresses.hash.flatMap(offset(of:))
    else { return }
    readExports(view, symbols, view.block(strings, Int(min(stringsSize, UInt64(Self.maxStrings)))), hash)
  }

  /// DT_GNU_HASH holds the exported symbols, and only it says how many there are: the last chain's last entry is odd.
  private mutating func readExports(_ view: FileWindows, _ symbols: UInt64, _ strings: [UInt8], _ hash: UInt64) {
    guard let buckets = view.integer(hash, 4), let first = view.integer(hash &+ 4, 4),
      let words = view.integer(hash &+ 8, 4)
    else { return }
    let table = hash &+ 16 &+ words &* 8
    let chains = table &+ buckets &* 4
    var last: UInt64 = 0
    let maxCount = UInt64(Self.maxEntries)
    for index in 0..<min(buckets, maxCount) {
      guard let symbol = view.integer(table &+ index &* 4, 4) else { return }
      last = max(last, symbol)
    }
    guard last >= first else { return }
    exportsAreCut = buckets > maxCount || last - first >= maxCount
    last = min(last, first + maxCount)
    while last - first < maxCount, let link = view.integer(chains &+ (last - first) &* 4, 4), link & 1 == 0 {
      last += 1
    }
    var names: Set<String> = []
    var room = Self.maxNameBytes
    for index in first...last {
      guard let at = view.integer(symbols &+ index &* 24, 4),
        let section = view.integer(symbols &+ index &* 24 &+ 6, 2), let text = Self.name(Int(at), in: strings)
      else { break }
      room -= text.utf8.count
      if room < 0 { break }
      // Neither undefined nor reserved: absolute symbols are the names of versions. A function has one entry per version.
      if (1..<0xff00).contains(section), !text.isEmpty { names.insert(text) }
    }
    exportsAreCut = exportsAreCut || room < 0 || last - first == maxCount
    exports = names.sorted()
  }

  private static func name(_ at: Int, in strings: [UInt8]) -> String? {
    guard at < strings.count, let end = strings[at...].prefix(4096).firstIndex(of: 0) else { return nil }
    return String(decoding: strings[at..<end], as: UTF8.self)
  }
}
