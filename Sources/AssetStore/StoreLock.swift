internal import Glibc
internal import LinuxSystem

/// One process at a time has a state folder: flock(2) on a file that names it. The kernel lets go when the process ends.
final class StoreLock: Sendable {
  private let file: OwnedDescriptor

  init(_ directory: String) throws(StoreError) {
    let path = "\(directory)/lock"
    let opened: OwnedDescriptor
    do {
      opened = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
    } catch {
      throw .unusable(path: path, why: SystemCallError.message(error.code), remedy: Self.remedy(error.code))
    }
    guard flock(opened.number, LOCK_EX | LOCK_NB) == 0 else {
      let holder = (try? opened.readAll(limit: 256)) ?? []
      let fields = String(decoding: holder, as: UTF8.self).split(separator: " ", maxSplits: 1)
      throw .heldBy(
        pid: fields.first.flatMap { Int32($0) } ?? 0,
        program: fields.count > 1 ? fields[1].filter { !$0.isNewline } : "another process",
        path: directory)
    }
    ftruncate(opened.number, 0)
    let name = String(((try? Files.text(of: "/proc/self/comm", limit: 64)) ?? "").prefix { $0 != "\n" })
    try? opened.write("\(getpid()) \(name)\n")
    file = opened
  }

  deinit {
    // Said aloud, because a child that is about to execute something still shares the description.
    flock(file.number, LOCK_UN)
  }

  static func remedy(_ code: Int32) -> String {
    switch code {
    case EROFS, EACCES, EPERM: "make it writable, or name another state folder"
    case ENOSPC, EDQUOT: "free some space on its volume"
    default: "name another state folder"
    }
  }
}
