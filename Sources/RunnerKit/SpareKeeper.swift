internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Keeps at most one spare runner.
struct SpareKeeper {
  private(set) var spare: SpareRunner?
  /// nil: runners begin without it.
  private let library: PreloadedLibrary?
  /// /proc, opened before the server leaves the machine's root.
  private let processes: Int32
  private var pages: HotPages?
  private var hasRehearsed = false
  private var hasHugeCode = false

  init(library: PreloadedLibrary?) {
    self.library = library
    processes = open("/proc", ol_open_path | O_DIRECTORY)
  }

  /// Makes one. It gets ready by itself. `isIdle`: no runner is there that the server might have to be quick for.
  mutating func prepare(
    in namespaces: ServerNamespaces, cgroup: Int32?, without descriptors: [Int32], isIdle: Bool, inbox: inout [UInt8]
  ) -> SpareRunner? {
    if !hasRehearsed {
      hasRehearsed = true
      rehearse()
    } else if !hasHugeCode, isIdle {
      // Takes some milliseconds, and who wakes one plugin and ends has no use for it.
      hasHugeCode = true
      pages?.makeCodeHuge(Rehearsal.areas(processes))
    }
    spare = SpareRunner(
      of: namespaces, pages: pages, cgroup: cgroup, without: descriptors + [processes],
      inbox: &inbox)
    return spare
  }

  mutating func take() -> SpareRunner? {
    defer { spare = nil }
    return spare
  }

  private mutating func rehearse() {
    let (library, processes) = (library, processes)
    pages = Rehearsal.pages(processes: processes) {
      library?.rehearse(processes: processes)
      Runner.warmUp()
    }
    // Mapped here as well, they are no process's own.
    pages?.mapRead()
  }
}
