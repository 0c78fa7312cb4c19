/// What the loader maps of a library, and the names of others that it needs. Read from a hostile file, bounded, and no more
/// than a hint.
struct LibraryOutline: Equatable {
  struct Part: Equatable {
    var offset: UInt64
    var length: UInt64
  }

  var needed: [String] = []
  var runpath: [String] = []
  var loaded: [Part] = []

  private static let maxSegments: UInt64 = 64
  private static let maxEntries: UInt64 = 1024
  private static let maxNames = 256

  /// nil for what is no 64-bit little-endian ELF file (elf(5)).
  init?(_ view: FileWindows) {
    guard view.integer(0, 4) == 0x464c_457f, view.integer(4, 2) == 0x0102, let headers = view.integer(32, 8),
      let size = view.integer(54, 2), let count = view.integer(56, 2), size >= 56
    else { return nil }
    var segments: [(offset: UInt64, address: UInt64, length: UInt64)] = []
    var dynamic: Part?
    for index in 0..<min(count, Self.maxSegments) {
      let at = headers &+ index &* size
      guard let type = view.integer(at, 4), let offset = view.integer(at &+ 8, 8),
        let address = view.integer(at &+ 16, 8), let length = view.integer(at &+ 32, 8)
      else { return nil }
      if type == 2 { dynamic = Part(offset: offset, length: length) }
      guard type == 1 else { continue }
      segments.append((offset, address, length))
      if offset < view.count { loaded.append(Part(offset: offset, length: min(length, view.count - offset))) }
    }
    guard let dynamic else { return }
    var names: [(tag: UInt64, value: UInt64)] = []
    var strings: UInt64?
    for index in 0..<min(dynamic.length / 16, Self.maxEntries) {
      let at = dynamic.offset &+ index &* 16
      guard let tag = view.integer(at, 8), let value = view.integer(at &+ 8, 8), tag != 0 else { break }
      if tag == 5 {
        strings = segments.first { value >= $0.address && value - $0.address < $0.length }
          .map { $0.offset &+ (value - $0.address) }
      }
      if [1, 15, 29].contains(tag), names.count < Self.maxNames { names.append((tag, value)) }
    }
    guard let strings else { return }
    for (tag, value) in names {
      guard let text = view.text(strings &+ value), !text.isEmpty else { continue }
      if tag == 1 { needed.append(text) } else { runpath += text.split(separator: ":").prefix(16).map(String.init) }
    }
  }
}
