/// What the host reads of a library without loading it: enough to describe it and to find its neighbours. The file is
/// hostile; every offset is checked against what is there.
public struct ELFFile: Sendable, Equatable {
  public var isSharedObject: Bool
  public var soname: String?
  public var needed: [String]
  public var runpath: [String]
  /// Names of the functions and data that it exports, sorted.
  public var exports: [String]

  public struct FormatError: Error, Sendable, CustomStringConvertible {
    public var description: String
  }

  private static let mostEntries = 1 << 20
  /// Bytes of names that are read: all entries can share one long name, and so be many times the file.
  private static let mostNameBytes = 1 << 26
  private static let mostDirectories = 4096

  /// Parses a 64-bit little-endian x86-64 or AArch64 file (elf(5)).
  public init(_ bytes: [UInt8]) throws(FormatError) {
    guard bytes.count >= 4, bytes[0..<4] == [0x7f, 0x45, 0x4c, 0x46] else {
      throw FormatError(description: "isn't an ELF file")
    }
    guard bytes.count >= 64 else { throw FormatError(description: "is a truncated ELF file") }
    guard bytes[4] == 2, bytes[5] == 1 else { throw FormatError(description: "isn't a 64-bit little-endian ELF file") }
    let view = View(bytes: bytes)
    #if arch(x86_64)
      let (machine, machineName): (UInt64, String) = (62, "x86-64")
    #else
      let (machine, machineName): (UInt64, String) = (183, "AArch64")
    #endif
    guard view.read(18, 2) == machine else {
      throw FormatError(
        description: "is for another architecture (machine \(view.read(18, 2) ?? 0)); this host runs \(machineName)")
    }
    isSharedObject = view.read(16, 2) == 3
    soname = nil
    needed = []
    runpath = []
    exports = []
    guard let headers = view.read(32, 8), let size = view.read(54, 2), let count = view.read(56, 2), size >= 56 else {
      throw FormatError(description: "has no usable program headers")
    }
    var segments: [Segment] = []
    for index in 0..<count {
      let at = headers &+ index &* size
      guard let type = view.read(at, 4), let offset = view.read(at &+ 8, 8), let address = view.read(at &+ 16, 8),
        let length = view.read(at &+ 32, 8)
      else { throw FormatError(description: "has program headers beyond its end") }
      segments.append(Segment(type: type, offset: offset, address: address, length: length))
    }
    try readDynamic(view, segments)
  }

  private struct Segment {
    var type, offset, address, length: UInt64
  }

  private struct View {
    let bytes: [UInt8]

    func read(_ offset: UInt64, _ width: Int) -> UInt64? {
      guard offset <= UInt64(bytes.count), UInt64(bytes.count) - offset >= UInt64(width) else { return nil }
      var value: UInt64 = 0
      for index in (0..<width).reversed() { value = value << 8 | UInt64(bytes[Int(offset) + index]) }
      return value
    }

    func text(_ offset: UInt64) -> String? {
      guard offset < UInt64(bytes.count) else { return nil }
      let tail = bytes[Int(offset)...].prefix(4096)
      guard let end = tail.firstIndex(of: 0) else { return nil }
      return String(decoding: tail[..<end], as: UTF8.self)
    }
  }

  private mutating func readDynamic(_ view: View, _ segments: [Segment]) throws(FormatError) {
    guard let dynamic = segments.first(where: { $0.type == 2 }) else { return }
    func offset(of address: UInt64) -> UInt64? {
      segments.first { $0.type == 1 && address >= $0.address && address - $0.address < $0.length }
        .map { $0.offset &+ (address - $0.address) }
    }
    var names: [(UInt64, UInt64)] = []
    var addresses: (strings: UInt64?, symbols: UInt64?, hash: UInt64?)
    for index in 0..<min(dynamic.length / 16, 4096) {
      guard let tag = view.read(dynamic.offset &+ index &* 16, 8),
        let value = view.read(dynamic.offset &+ index &* 16 &+ 8, 8)
      else { throw FormatError(description: "has a dynamic section beyond its end") }
      switch tag {
      case 0: break
      case 1, 14, 15, 29: names.append((tag, value))
      case 5: addresses.strings = value
      case 6: addresses.symbols = value
      case 0x6fff_fef5: addresses.hash = value
      default: continue
      }
      if tag == 0 { break }
    }
    // Looked up once, not for each entry: a file may have thousands of entries and of segments.
    guard let strings = addresses.strings.flatMap(offset(of:)) else { return }
    for (tag, value) in names {
      guard let text = view.text(strings &+ value) else { continue }
      switch tag {
      case 1: needed.append(text)
      case 14: soname = text
      default: runpath += text.split(separator: ":").prefix(Self.mostDirectories - runpath.count).map(String.init)
      }
    }
    if let symbols = addresses.symbols.flatMap(offset(of:)), let hash = addresses.hash.flatMap(offset(of:)) {
      readExports(view, symbols, strings, hash)
    }
  }

  /// DT_GNU_HASH holds the exported symbols, and only it says how many there are: the last chain's last entry is odd.
  private mutating func readExports(_ view: View, _ symbols: UInt64, _ strings: UInt64, _ hash: UInt64) {
    guard let buckets = view.read(hash, 4), let first = view.read(hash &+ 4, 4), let words = view.read(hash &+ 8, 4)
    else { return }
    let table = hash &+ 16 &+ words &* 8
    let chains = table &+ buckets &* 4
    var last: UInt64 = 0
    for index in 0..<buckets {
      guard let symbol = view.read(table &+ index &* 4, 4) else { return }
      last = max(last, symbol)
    }
    guard last >= first else { return }
    while let link = view.read(chains &+ (last - first) &* 4, 4), link & 1 == 0 { last += 1 }
    var names: Set<String> = []
    var room = Self.mostNameBytes
    for index in first...last {
      guard names.count < Self.mostEntries, let name = view.read(symbols &+ index &* 24, 4),
        let section = view.read(symbols &+ index &* 24 &+ 6, 2), let text = view.text(strings &+ name)
      else { break }
      room -= text.utf8.count
      if room < 0 { break }
      // Neither undefined nor reserved: absolute symbols are the names of versions. A function has one entry per version.
      if (1..<0xff00).contains(section), !text.isEmpty { names.insert(text) }
    }
    exports = names.sorted()
  }
}
