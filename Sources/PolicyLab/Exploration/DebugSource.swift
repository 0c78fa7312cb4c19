/// Where the debug information of a library is read: in its own file, or in one that was stripped off it.
package struct DebugSource: Sendable {
  let file: LibraryBytes
  /// Where sections are in that.
  let sections: [String: Range<Int>]
  /// The file that was stripped off; nil: the library's own.
  package let path: String?
  /// Debug information that is there and can't be read, and why.
  package let problem: String?

  init(file: LibraryBytes, sections: [String: Range<Int>], path: String? = nil, problem: String? = nil) {
    (self.file, self.sections, self.path, self.problem) = (file, sections, path, problem)
  }

  /// As the library's file has it.
  ///
  /// - Parameter bytes: The file.
  package init(_ bytes: [UInt8]) {
    let file = LibraryBytes(bytes: bytes)
    let facts = LibraryFacts(file)
    self.init(file: file, sections: facts.sections, problem: facts.debugProblem)
  }
}

/// A section of debug information that has to be expanded before it is read (SHF_COMPRESSED, elf(5)).
struct CompressedSection: Sendable, Equatable {
  enum Method: Sendable {
    case zlib, zstandard

    /// What expands it.
    var library: String { self == .zlib ? "libz.so.1" : "libzstd.so.1" }
  }

  var name: String
  var method: Method
  /// Bytes that it has once expanded.
  var size: Int
  /// Where the compressed bytes are.
  var range: Range<Int>

  /// A larger one isn't expanded.
  static let longest = 64 << 20
  /// Nor are more of them.
  static let longestOfAll = 256 << 20
  private static let headSize = 24

  /// `range`: where the section is, with its head (Elf64_Chdr). nil: it isn't one that can be expanded.
  init?(_ name: String, _ range: Range<Int>, _ file: LibraryBytes) {
    guard range.count > Self.headSize, let type = file.integer(range.lowerBound, 4),
      let size = file.integer(range.lowerBound + 8, 8), (1...UInt64(Self.longest)).contains(size)
    else { return nil }
    switch type {
    case 1: method = .zlib
    case 2: method = .zstandard
    default: return nil
    }
    (self.name, self.size, self.range) = (name, Int(size), range.lowerBound + Self.headSize..<range.upperBound)
  }
}
