internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Reads what one runner uses, from outside: nothing that it says of itself counts.
struct Meters: ~Copyable {
  let pid: pid_t
  private let status: OwnedDescriptor
  private let maps: OwnedDescriptor?
  /// What the runner used with the walls closed and nothing loaded.
  private(set) var baseline = 0
  /// Whether threads use memory on after the first one has ended, and this user may not look at them (`hidepid`, proc(5)).
  private(set) var isHidden = false

  /// `status` and `maps`: of that process, opened by itself while it was trusted. Where it couldn't, this one tries.
  init(of pid: pid_t, status: consuming OwnedDescriptor?, maps: consuming OwnedDescriptor?) throws(SystemCallError) {
    self.pid = pid
    if let maps {
      self.maps = consume maps
    } else {
      self.maps = try? OwnedDescriptor.open("/proc/\(pid)/maps", O_RDONLY)
    }
    if let status {
      self.status = status
    } else {
      self.status = try OwnedDescriptor.open("/proc/\(pid)/status", O_RDONLY)
    }
  }

  mutating func takeBaseline() { baseline = memory(shared: 0, calls: (0, 0)) ?? 0 }

  /// CPU time of all threads. A runner can't make processes, so the process is the tree.
  func cpu() -> Duration? {
    var nanoseconds: UInt64 = 0
    return ol_process_cpu(pid, &nanoseconds) == 0 ? .nanoseconds(Int64(nanoseconds)) : nil
  }

  /// Bytes beyond the baseline. `shared`: what was granted of shared memory, which counts whether it is mapped now or not.
  /// `calls`: of the memory for calls that whole, and what of it is the plugin's doing; the rest is the host's.
  mutating func memoryBeyondBaseline(shared: Int, calls: (all: Int, plugins: Int)) -> Int? {
    memory(shared: shared, calls: calls).map { max($0 - baseline, 0) }
  }

  /// Anonymous and shared pages, swap and page tables (proc_pid_status(5)). Of a first thread that has ended the kernel
  /// tells none of it, and the others use the same memory on.
  private mutating func memory(shared: Int, calls: (all: Int, plugins: Int)) -> Int? {
    var found = Self.fields(of: status.number)
    isHidden = false
    if let first = found, !first.hasMemory {
      let threads = threadNames()
      isHidden = threads.isEmpty && first.threads > 1
      for thread in threads {
        guard let file = try? OwnedDescriptor.open("/proc/\(pid)/task/\(thread)/status", O_RDONLY) else { continue }
        found = Self.fields(of: file.number)
        if found?.hasMemory == true { break }
      }
    }
    // What of that memory this process has mapped isn't known; what it may have of others, the grants say.
    return found.map {
      $0.anonymous + max($0.shared - calls.all, shared) + calls.plugins + $0.swap + $0.tables
    }
  }

  /// Whether the process is on its way out or gone: no thread is left that isn't (PF_EXITING of the flags, field 9 of
  /// proc_pid_stat(5)).
  func isExiting() -> Bool { threadNames().allSatisfy { isExiting($0) } }

  /// Whether a thread other than the first, which stays until the others have ended, is on its way out. True where this
  /// user sees no threads.
  func isAnyThreadEnding() -> Bool {
    let threads = threadNames()
    return threads.isEmpty || threads.contains { $0 != "\(pid)" && isExiting($0) }
  }

  private func isExiting(_ thread: String) -> Bool {
    guard let file = try? OwnedDescriptor.open("/proc/\(pid)/task/\(thread)/stat", O_RDONLY) else { return true }
    return withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { buffer in
      let count = pread(file.number, buffer.baseAddress, buffer.count, 0)
      guard count > 0, let end = buffer[..<count].lastIndex(of: UInt8(ascii: ")")) else { return true }
      let fields = buffer[(end + 1)..<count].split(separator: UInt8(ascii: " "), maxSplits: 7)
      guard fields.count > 6 else { return true }
      let flags = fields[6].reduce(0) { $0 * 10 + UInt64($1 &- 0x30) }
      return flags & 0x4 != 0 || fields[0].elementsEqual("Z".utf8)
    }
  }

  /// How often a thread waited for a page that had to be read (proc_pid_stat(5), field 12).
  func majorFaults() -> Int? {
    guard let text = try? Files.text(of: "/proc/\(pid)/stat", limit: 1024), let fields = ProcessStat.fields(of: text)
    else { return nil }
    return fields.count > 9 ? Int(fields[9]) : nil
  }

  /// The inodes of the shared anonymous memory that it maps; nil where they can't be told, or it maps very much.
  func sharedMappings() -> Set<UInt64>? {
    guard let device = SharedMappings.device, let maps = duplicateMaps(), lseek(maps.number, 0, SEEK_SET) == 0,
      let bytes = try? maps.readAll(limit: Self.longestMaps), !bytes.isEmpty, bytes.count < Self.longestMaps
    else { return nil }
    return SharedMappings.inodes(in: String(decoding: bytes, as: UTF8.self), device: device)
  }

  private static let longestMaps = 1 << 20

  /// Whether each thread is stopped and out of the kernel, or gone, or among `waiting` (proc_pid_status(5)).
  func stillness(waiting: [UInt32]) -> Stillness {
    var (runs, moving) = ([String: [String]](), [String: Duration?]())
    for thread in threadNames() {
      guard let text = try? Files.text(of: "/proc/\(pid)/task/\(thread)/status", limit: 4096) else {
        moving.updateValue(nil, forKey: thread)
        continue
      }
      let lines = text.split(separator: "\n").map(String.init)
      let state = lines.first { $0.hasPrefix("State:") }?.dropFirst(7).prefix(1) ?? ""
      if ["T", "t", "Z", "X"].contains(state) || waiting.contains(where: { "\($0)" == thread }) {
        runs[thread] = lines.filter { $0.hasPrefix("State:") || $0.contains("_ctxt_switches:") }
      } else {
        moving.updateValue(UInt32(thread).flatMap(ThreadProgress.used), forKey: thread)
      }
    }
    return moving.isEmpty && !runs.isEmpty ? .stands(runs) : .moves(moving)
  }

  /// One thread that takes the signal stops all of them. A thread among `waiting` doesn't take it, and where it is the first, the
  /// kernel gives it to no other.
  func stopThreads(but waiting: [UInt32]) {
    guard let other = threadNames().compactMap({ pid_t($0) }).first(where: { !waiting.contains(UInt32($0)) }) else {
      return
    }
    _ = ol_signal_thread(pid, other, SIGSTOP)
  }

  /// Sends the first of its threads, in the order of their numbers, the signal by which they tell where they are; how many
  /// have a handler for it and don't block it.
  func askThreads(limit: Int) -> Int {
    let threads = threadNames().compactMap { pid_t($0) }.sorted().prefix(limit).filter { thread in
      guard let text = try? Files.text(of: "/proc/\(pid)/task/\(thread)/status", limit: 4096) else { return false }
      return Self.takes(OL_WHERE_SIGNAL, status: text)
    }
    return threads.count { ol_signal_thread(pid, $0, OL_WHERE_SIGNAL) == 0 }
  }

  /// Whether a thread with this status file (proc_pid_status(5)) catches a signal and doesn't block it.
  static func takes(_ signal: Int32, status: String) -> Bool {
    func mask(_ name: String) -> UInt64? {
      status.split(separator: "\n").first { $0.hasPrefix(name) }.flatMap {
        UInt64($0.dropFirst(name.count).filter { !$0.isWhitespace }, radix: 16)
      }
    }
    guard let caught = mask("SigCgt:"), let blocked = mask("SigBlk:") else { return false }
    let bit: UInt64 = 1 << UInt64(signal - 1)
    return caught & bit != 0 && blocked & bit == 0
  }

  func duplicateMaps() -> OwnedDescriptor? {
    switch maps {
    case .some(let maps): try? maps.duplicate()
    case .none: nil
    }
  }

  private func threadNames() -> [String] { (try? Files.names(in: "/proc/\(pid)/task")) ?? [] }

  func threads() -> Int? { Self.fields(of: status.number)?.threads }

  private struct Fields {
    var anonymous = 0
    var shared = 0
    var swap = 0
    var tables = 0
    var threads = 0
    var hasMemory = false
  }

  private static func fields(of status: Int32) -> Fields? {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer -> Fields? in
      let count = pread(status, buffer.baseAddress, buffer.count, 0)
      guard count > 0, let start = buffer.baseAddress else { return nil }
      var fields = Fields()
      var index = 0
      while index < count {
        let found = memchr(start + index, 0x0a, count - index)
        let end = found.map { UnsafeRawPointer($0) - UnsafeRawPointer(start) } ?? count
        func value(_ name: StaticString) -> Int? {
          let length = name.utf8CodeUnitCount
          guard end - index > length, memcmp(start + index, name.utf8Start, length) == 0 else {
            return nil
          }
          return buffer[(index + length)..<end].reduce(0) { $1 >= 0x30 && $1 <= 0x39 ? $0 * 10 + Int($1 - 0x30) : $0 }
        }
        if let kibibytes = value("RssAnon:") { (fields.anonymous, fields.hasMemory) = (kibibytes << 10, true) }
        if let kibibytes = value("RssShmem:") { fields.shared = kibibytes << 10 }
        if let kibibytes = value("VmPTE:") { fields.tables = kibibytes << 10 }
        if let kibibytes = value("VmSwap:") { fields.swap = kibibytes << 10 }
        if let threads = value("Threads:") { fields.threads = threads }
        index = end + 1
      }
      return fields
    }
  }
}
