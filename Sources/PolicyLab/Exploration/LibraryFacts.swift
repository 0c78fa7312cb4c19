/// What a library's file says of how it is loaded and what it exports (elf(5)). Nothing of it is mapped or run.
package struct LibraryFacts: Sendable, Equatable, Encodable {
  /// Functions that it exports, by name.
  package var functions: [String] = []
  /// Exported variables: how many.
  package var variables = 0
  /// Whether there are more than are read.
  package var isCut = false
  /// Whether it asks for a stack that can be executed, which the loader would have to make so.
  package var hasExecutableStack = true
  /// Whether a part of it is writable and executable at once.
  package var hasWritableCode = false
  /// Whether its code itself is changed while it is loaded.
  package var relocatesCode = false
  /// Places that the loader fills in.
  package var relocations = 0
  /// Whether all of them are filled in as it is loaded, and kept from being written then.
  package var bindsNow = false
  package var hasRelro = false
  /// Functions that run as it is loaded.
  package var constructors = 0
  /// Where sections are, by their names.
  var sections: [String: Range<Int>] = [:]
  /// Sections of debug information that have to be expanded first.
  var compressed: [CompressedSection] = []
  /// What the linker called this build (`--build-id`); empty: nothing.
  var buildIdentifier: [UInt8] = []
  /// The file that debug information was moved to, by its name alone, and its CRC-32 (.gnu_debuglink).
  var debugLink: DebugLink?
  /// Debug information that is there and can't be read, and why.
  package var debugProblem: String?

  struct DebugLink: Sendable, Equatable {
    var name: String
    var checksum: UInt32
  }

  var hasDebugInformation: Bool {
    sections[".debug_info"] != nil || compressed.contains { $0.name == ".debug_info" }
  }

  private static let maxSections = 4096
  private static let maxSegments = 1024
  package static let maxFunctions = 65_536

  private enum CodingKeys: CodingKey {
    case functions, variables, isCut, hasExecutableStack, hasWritableCode, relocatesCode, relocations, bindsNow
    case hasRelro, constructors, debugProblem
  }

  init(_ file: LibraryBytes) {
    guard file.integer(0, 4) == 0x464c_457f, file.integer(4, 2) == 0x0102 else { return }
    readSegments(file)
    readSections(file)
  }

  private mutating func readSegments(_ file: LibraryBytes) {
    guard let start = file.integer(32, 8).flatMap({ Int(exactly: $0) }), let size = file.integer(54, 2), size >= 56,
      let count = file.integer(56, 2)
    else { return }
    for index in 0..<min(Int(count), Self.maxSegments) {
      guard let at = file.place(start, index * Int(size)), let type = file.integer(at, 4),
        let flags = file.integer(at + 4, 4), let offset = file.integer(at + 8, 8), let length = file.integer(at + 32, 8)
      else { return }
      switch type {
      case 1: hasWritableCode = hasWritableCode || flags & 3 == 3
      case 2: if let range = file.range(offset, length) { readDynamic(file, range) }
      // PT_GNU_STACK, PT_GNU_RELRO
      case 0x6474_e551: hasExecutableStack = flags & 1 != 0
      case 0x6474_e552: hasRelro = true
      default: break
      }
    }
  }

  private mutating func readDynamic(_ file: LibraryBytes, _ range: Range<Int>) {
    for at in stride(from: range.lowerBound, to: range.upperBound - 15, by: 16).prefix(4096) {
      guard let tag = file.integer(at, 8), let value = file.integer(at + 8, 8), tag != 0 else { return }
      switch tag {
      // DT_RELASZ and DT_PLTRELSZ, 24 bytes each; DT_RELRSZ
      case 8, 2: relocations += Int(min(value, 1 << 40) / 24)
      case 35: relocations += Int(min(value, 1 << 40) / 8)
      case 12: constructors += 1
      case 27: constructors += Int(min(value, 1 << 40) / 8)
      case 22: relocatesCode = true
      case 24: bindsNow = true
      case 30:
        if value & 4 != 0 { relocatesCode = true }
        if value & 8 != 0 { bindsNow = true }
      case 0x6fff_fffb: if value & 1 != 0 { bindsNow = true }
      default: break
      }
    }
  }

  private struct Section {
    var name, type, flags, link: UInt64
    var range: Range<Int>?
  }

  private mutating func readSections(_ file: LibraryBytes) {
    guard let start = file.integer(40, 8).flatMap({ Int(exactly: $0) }), start > 0, file.integer(58, 2) == 64,
      let count = file.integer(60, 2), let names = file.integer(62, 2)
    else { return }
    var found: [Section] = []
    for index in 0..<min(Int(count), Self.maxSections) {
      guard let at = file.place(start, index * 64), let name = file.integer(at, 4),
        let type = file.integer(at + 4, 4), let flags = file.integer(at + 8, 8),
        let offset = file.integer(at + 24, 8), let length = file.integer(at + 32, 8),
        let link = file.integer(at + 40, 4)
      else { break }
      // What has no bytes in the file has no place there either.
      let range = type == 8 ? nil : file.range(offset, length)
      found.append(Section(name: name, type: type, flags: flags, link: link, range: range))
    }
    guard found.indices.contains(Int(names)), let texts = found[Int(names)].range else { return }
    for section in found {
      guard let range = section.range, let name = file.text(texts.lowerBound + Int(section.name)) else { continue }
      if name.hasPrefix(".debug_") || name.hasPrefix(".zdebug_") {
        // SHF_COMPRESSED
        if section.flags & 0x800 != 0 {
          if let found = CompressedSection(name, range, file) {
            compressed.append(found)
          } else {
            debugProblem = "its debug information is compressed in a way that isn't known, or has too many bytes"
          }
          continue
        }
        guard !name.hasPrefix(".z") else {
          debugProblem =
            "its debug information is compressed as it was before 2015; objcopy --decompress-debug-sections reads it"
          continue
        }
        sections[name] = range
      }
      if name == ".note.gnu.build-id" { readBuildIdentifier(file, range) }
      if name == ".gnu_debuglink" { readDebugLink(file, range) }
      if name == ".symtab" || name == ".strtab" { sections[name] = range }
      if section.type == 11, found.indices.contains(Int(section.link)), let strings = found[Int(section.link)].range {
        readSymbols(file, range, strings)
      }
    }
  }

  private static let longestIdentifier = 64

  private mutating func readBuildIdentifier(_ file: LibraryBytes, _ range: Range<Int>) {
    // The note of GNU with the type 3: lengths of name and content, type, name, content.
    let head = 16
    guard range.count > head, let length = file.integer(range.lowerBound + 4, 4),
      file.integer(range.lowerBound, 4) == 4, file.integer(range.lowerBound + 8, 4) == 3,
      file.integer(range.lowerBound + 12, 4) == 0x55_4e47,
      length <= UInt64(min(Self.longestIdentifier, range.count - head))
    else { return }
    buildIdentifier = Array(file.bytes[range.lowerBound + 16..<range.lowerBound + 16 + Int(length)])
  }

  private mutating func readDebugLink(_ file: LibraryBytes, _ range: Range<Int>) {
    guard range.count > 4, let name = file.text(range.lowerBound),
      let checksum = file.integer(range.upperBound - 4, 4)
    else { return }
    debugLink = DebugLink(name: name, checksum: UInt32(checksum))
  }

  private mutating func readSymbols(_ file: LibraryBytes, _ range: Range<Int>, _ strings: Range<Int>) {
    var names: Set<String> = []
    for at in stride(from: range.lowerBound, to: range.upperBound - 23, by: 24) {
      guard let name = file.integer(at, 4), let info = file.integer(at + 4, 1), let section = file.integer(at + 6, 2)
      else { return }
      // Defined, global or weak; a function (also one that a resolver chooses) or data.
      guard (1..<0xff00).contains(section), [1, 2].contains(info >> 4) else { continue }
      switch info & 0xf {
      case 1: variables += 1
      case 2, 10:
        guard names.count < Self.maxFunctions else {
          isCut = true
          return
        }
        if let text = file.text(strings.lowerBound + Int(name)), !text.isEmpty { names.insert(text) }
      default: break
      }
    }
    functions = names.sorted()
  }
}
