internal import Glibc
internal import LinuxSystem

/// The files that the kernel makes for shared anonymous memory, as a process's maps show them (proc_pid_maps(5)).
enum SharedMappings {
  /// Their inodes. `device`: that of the filesystem they lie in; a plugin may choose their names (PR_SET_VMA).
  static func inodes(in maps: String, device: String) -> Set<UInt64> {
    var found: Set<UInt64> = []
    for line in lines(of: maps) where line.device == device[...] { found.insert(line.inode) }
    return found
  }

  /// That device, by a mapping of this process's own; nil where it can't be told.
  static let device: String? = {
    guard let page = mmap(nil, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0), page != MAP_FAILED else {
      return nil
    }
    defer { munmap(page, 4096) }
    guard let maps = try? Files.text(of: "/proc/self/maps", limit: 1 << 20) else { return nil }
    let start = UInt64(UInt(bitPattern: page))
    return lines(of: maps).first { $0.start == start }.map { String($0.device) }
  }()

  private struct Line {
    var start: UInt64
    var device: Substring
    var inode: UInt64
  }

  /// Those of mappings that are shared.
  private static func lines(of maps: String) -> some Sequence<Line> {
    maps.utf8.split(separator: UInt8(ascii: "\n")).lazy.compactMap { bytes in
      // Few are, and the watchdog's thread waits for this.
      guard let space = bytes.firstIndex(of: UInt8(ascii: " ")), bytes[space...].dropFirst(4).first == UInt8(ascii: "s")
      else { return nil }
      let fields = Substring(bytes).split(separator: " ", maxSplits: 5)
      guard fields.count >= 5, let inode = UInt64(fields[4]), inode != 0,
        let start = UInt64(fields[0].prefix { $0 != "-" }, radix: 16)
      else { return nil }
      return Line(start: start, device: fields[3], inode: inode)
    }
  }
}
