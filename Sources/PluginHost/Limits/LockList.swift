internal import LinuxSystem

/// The file locks that the kernel lists (proc_locks(5)).
enum LockList {
  /// A machine with more of them isn't waited for.
  private static let maxBytes = 8 << 20
  /// The kernel gives its list a page at a time: it passes over locks when others are released between two pages, and gives some twice
  /// when others are taken. Of these looks the middle one counts.
  private static let looks = 3

  /// How many are the processes' own; nil where that can't be told. Those of open file descriptions have no process in the list.
  static func locks(of processes: [Int32]) -> Int? {
    var counts: [Int] = []
    for _ in 0..<looks {
      guard let list = try? Files.content(of: "/proc/locks", limit: maxBytes) else { return nil }
      counts.append(processes.reduce(0) { $0 + locks(of: $1, in: list) })
    }
    return counts.sorted()[looks / 2]
  }

  /// `17: POSIX  ADVISORY  WRITE 3801 fe:00:1311013 0 EOF`; one that waits has `->` after the number.
  static func locks(of process: Int32, in list: [UInt8]) -> Int {
    let number = Array("\(process)".utf8)
    let lines = list.split(separator: UInt8(ascii: "\n")).lazy
    return lines.count { line in
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 6)
      let owner = fields.dropFirst().first?.elementsEqual("->".utf8) == true ? 5 : 4
      return fields.count > owner && fields[owner].elementsEqual(number)
    }
  }
}
