internal import Basics
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Synchronization

/// Brings the files that a process maps into the page cache, on a thread of its own: reading from a disk may take long.
///
/// Nothing is written, and of a library what it needs is read: a plugin that has a file brought in learns nothing by it.
final class PageReader: Sendable {
  /// The kernel brings in no more at once than its largest transfer, and leaves out the rest (`force_page_cache_ra`).
  private static let portion: UInt64 = 128 << 10
  private static let longestMaps = 1 << 20
  private static let maxLibraries = 512
  private static let maxLinks = 4
  private static let longestStop = Duration.milliseconds(500)
  /// Portions that the disk is asked for before the first is waited for, and so files that are open at once at most.
  private static let maxAsked = 256

  private let wasCancelled = Atomic(false)
  private let places: ViewPlaces
  private let known = Mutex<Set<MappedFile>>([])

  init(places: ViewPlaces) { self.places = places }

  /// What is under way ends soon. Any thread.
  func cancel() { wasCancelled.store(true, ordering: .relaxed) }

  /// Until every thread stands still, or isn't about to. One that is in the kernel waits there for pages that its own faults
  /// asked the disk for, none of which can be reclaimed: behind ours in the disk's queue it would be killed for them.
  func awaitStop(of process: pid_t) {
    let end = BootClock.now + Self.longestStop
    while BootClock.now < end, !wasCancelled.load(ordering: .relaxed) {
      let threads = (try? Files.names(in: "/proc/\(process)/task")) ?? []
      if threads.allSatisfy({ !Self.isBusy("/proc/\(process)/task/\($0)/stat") }) { return }
      usleep(200)
    }
  }

  /// Whether a thread runs or waits for a disk (proc_pid_stat(5), field 3).
  private static func isBusy(_ file: String) -> Bool {
    guard let text = try? Files.text(of: file, limit: 1024) else { return false }
    return ["R", "D"].contains(ProcessStat.fields(of: text)?.first)
  }

  /// What wasn't mapped at the last turn; where there is nothing new, everything.
  /// `maps`: of the process, open since it was trusted (proc_pid_maps(5)). Blocks.
  func bringIn(filesOf maps: borrowing OwnedDescriptor) {
    guard lseek(maps.number, 0, SEEK_SET) == 0, let text = try? maps.readAll(limit: Self.longestMaps) else { return }
    let parts = MappedFile.all(in: String(decoding: text, as: UTF8.self))
    let known = known.withLock { exchange(&$0, with: Set(parts)) }
    let fresh = parts.filter { !known.contains($0) }
    var turn = Turn(end: BootClock.now + PageInRule.longestTurn)
    var last: (path: String, file: PageFile?) = ("", nil)
    for part in fresh.isEmpty ? parts : fresh where !isOver(turn) {
      // A library's parts follow each other.
      if part.path != last.path { last = (part.path, PageFile(places.machinePath(of: part.path))) }
      guard let file = last.file, file.identity.inode == part.inode, part.offset < file.size else { continue }
      ask(for: part.offset, min(part.length, file.size - part.offset), of: file, &turn)
    }
    turn.await()
  }

  /// What the loader will map of libraries and of those that they need. It goes from one to the next, and the kernel reads
  /// ahead in each: pages that aren't cached by then are charged to the runner at once, unused code as well. Blocks. Returns
  /// which files these are, and a few places of each that are in the cache now.
  ///
  /// A library is its author's, and so are the folders that it names: only those are looked into that every plugin sees, besides its
  /// own. In others, how long this takes would tell a plugin which files the machine has.
  @discardableResult
  func bringIn(
    closureOf libraries: [String], reading: ReadingTime = ReadingTime(limit: PageInRule.longestTurn)
  ) -> [FileIdentity: [UInt64]] {
    var broughtIn: [FileIdentity: [UInt64]] = [:]
    var turn = Turn(end: reading.end)
    let installed = LoaderCache.current
    var waiting = libraries
    var seen = Set(libraries)
    while let path = waiting.popLast(), seen.count < Self.maxLibraries, !isOver(turn) {
      guard let file = PageFile(path),
        let outline = LibraryOutline(
          FileWindows(descriptor: file.descriptor.number, count: file.size, reading: reading))
      else { continue }
      broughtIn[file.identity] = outline.loaded.prefix(PageFile.maxPlaces / 2).flatMap { part in
        part.length == 0 ? [] : [part.offset + part.length / 2, part.offset + part.length - 1]
      }
      for part in outline.loaded { ask(for: part.offset, part.length, of: file, &turn) }
      let folders = outline.runpath.filter(Self.isRuntime)
      for name in outline.needed where !name.hasSlash {
        if isOver(turn) { break }
        let shared = installed.paths(of: name).first ?? folders.map { "\($0)/\(name)" }.first(where: Files.exists)
        let found =
          if let shared { try? Files.real(shared) } else { Self.file(name, in: PluginImage.directory(of: path)) }
        if let found, seen.insert(found).inserted { waiting.append(found) }
      }
    }
    turn.await()
    return broughtIn
  }

  private static func isRuntime(_ folder: String) -> Bool {
    !folder.pathNames.contains("..") && (RunnerView.runtime + RunnerView.links).contains { folder.lies(in: $0) }
  }

  /// A library's neighbour. Links are followed as long as they lead to another name in that folder.
  private static func file(_ name: String, in folder: String) -> String {
    var name = name
    for _ in 0..<maxLinks {
      guard let target = Files.link("\(folder)/\(name)"), !target.hasSlash else { break }
      name = target
    }
    return "\(folder)/\(name)"
  }

  private func isOver(_ turn: Turn) -> Bool {
    turn.left == 0 || BootClock.now >= turn.end || wasCancelled.load(ordering: .relaxed)
  }

  private func ask(for offset: UInt64, _ length: UInt64, of file: PageFile, _ turn: inout Turn) {
    var done: UInt64 = 0
    while done < length, !isOver(turn) {
      let count = min(Self.portion, length - done)
      posix_fadvise(file.descriptor.number, off_t(offset + done), off_t(count), POSIX_FADV_WILLNEED)
      done += count
      turn.left -= min(turn.left, count)
      turn.asked.append((file, offset + done - 1))
      if turn.asked.count >= Self.maxAsked { turn.await() }
    }
  }

  /// What one turn may still bring in, and what it has asked the disk for.
  private struct Turn {
    var left = PageInRule.maxBytesPerTurn
    let end: Duration
    var asked: [(file: PageFile, last: UInt64)] = []

    /// Until all of it is there. A plugin that asks a busy disk for the same pages again would have them charged to it while
    /// they can't be reclaimed, and be killed for them.
    mutating func await() {
      var byte: UInt8 = 0
      for (file, last) in asked { _ = pread(file.descriptor.number, &byte, 1, off_t(last)) }
      asked = []
    }
  }
}
