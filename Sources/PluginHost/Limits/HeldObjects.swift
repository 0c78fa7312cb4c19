internal import Glibc
internal import LinuxSystem

/// What the processes of a run hold of the kernel's objects, as it lists them (proc_pid_fdinfo(5), proc_locks(5)).
enum HeldObjects {
  /// Descriptors of a process that are looked at one by one. With more of them the list of all locks costs less.
  private static let maxDescriptors = 64
  private static let maxBytes = 8 << 20

  /// Locks that are the processes' own; nil where that can't be told. What a process's descriptors show is read first: all who
  /// take or give back a lock wait for the reader of the machine's list.
  static func locks(of processes: [Int32]) -> Int? {
    var count = 0
    for process in processes {
      guard let infos = descriptors(of: process, atMost: maxDescriptors) else { return LockList.locks(of: processes) }
      count += infos.reduce(0) { $0 + LockList.locks(of: process, in: $1) }
    }
    return count
  }

  /// Descriptors that epoll watches; nil where that can't be told.
  static func watches(of processes: [Int32]) -> Int? {
    var count = 0
    for process in processes {
      guard let infos = descriptors(of: process, atMost: .max) else { return nil }
      count += infos.reduce(0) { $0 + watches(in: $1) }
    }
    return count
  }

  /// `tfd:        5 events:       19 data:                5  pos:0 ino:2033 sdev:f`
  static func watches(in info: [UInt8]) -> Int {
    info.split(separator: UInt8(ascii: "\n")).count { $0.starts(with: "tfd:".utf8) }
  }

  /// What is told of each open file of a process; nil: there are more, or it can't be read.
  private static func descriptors(of process: Int32, atMost limit: Int) -> [[UInt8]]? {
    let folder = "/proc/\(process)/fdinfo"
    let most = limit == .max ? limit : limit + 1
    guard let names = try? Files.names(in: folder, atMost: most), names.count <= limit else { return nil }
    var infos: [[UInt8]] = []
    for name in names {
      do throws(SystemCallError) {
        infos.append(try Files.content(of: "\(folder)/\(name)", limit: maxBytes))
      } catch {
        // One that was closed meanwhile holds nothing.
        guard [ENOENT, ESRCH].contains(error.code) else { return nil }
      }
    }
    return infos
  }
}
