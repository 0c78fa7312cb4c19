internal import Basics

/// A part of a file that a process has mapped, as its `maps` say (proc_pid_maps(5)). A pure value.
struct MappedFile: Hashable {
  /// As seen from the process's root.
  var path: String
  var inode: UInt64
  var offset: UInt64
  var length: UInt64
}

extension MappedFile {
  /// The mappings of files that have a name, one for each line. Memory without a file, removed files and whatever isn't
  /// such a line are left out.
  static func all(in maps: String) -> [MappedFile] {
    maps.utf8.split(separator: UInt8(ascii: "\n")).compactMap { Self(line: Substring($0)) }
  }

  private init?(line: Substring) {
    let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
    guard fields.count == 6, let inode = UInt64(fields[4]), inode != 0, let offset = UInt64(fields[2], radix: 16) else {
      return nil
    }
    let ends = fields[0].split(separator: "-")
    guard ends.count == 2, let start = UInt64(ends[0], radix: 16), let end = UInt64(ends[1], radix: 16), end > start
    else { return nil }
    let name = fields[5].drop { $0 == " " }
    guard name.isAbsolutePath, !name.hasSuffix(" (deleted)") else { return nil }
    self.inode = inode
    self.offset = offset
    length = end - start
    // The one byte that the kernel escapes.
    path = name.split(separator: "\\012", omittingEmptySubsequences: false).joined(separator: "\n")
  }
}

/// Where the files of a runner's view lie on the machine. A pure value.
struct ViewPlaces {
  /// Longest first.
  private let places: [(view: String, machine: String)]

  init(_ places: [(view: String, machine: String)]) {
    self.places = places.sorted { $0.view.utf8.count > $1.view.utf8.count }
  }

  /// The machine's name of a path in the view: what isn't attached somewhere is the runtime, which has the same name in both.
  func machinePath(of path: String) -> String {
    for place in places where path.lies(in: place.view) {
      return place.machine + path.rest(after: place.view)
    }
    return path
  }
}
