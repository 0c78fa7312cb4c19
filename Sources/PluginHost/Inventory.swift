internal import CLinux
internal import Glibc
internal import LinuxSystem

/// What a host holds at one moment: for those who look for what wakes leave behind.
package struct Inventory: Sendable, Equatable {
  /// Open in this process.
  package var descriptors: Int
  /// Below this process: fork servers, a spare, runners.
  package var processes: Int
  /// Directories of cgroups made for runs; they are kept and used again.
  package var cgroups: Int
  /// Folders in /tmp that runs of this process have.
  package var folders: Int
  /// Anonymous memory of this process and of the fork server, in bytes.
  package var hostMemory: Int
  package var serverMemory: Int
}

/// Private and resident bytes of one process (proc_pid_smaps(5)).
package struct MemoryShare: Sendable, Equatable {
  package var ownBytes: Int
  package var residentBytes: Int

  /// nil where this user may not look.
  init?(of pid: pid_t) {
    guard let text = try? Files.text(of: "/proc/\(pid)/smaps_rollup") else { return nil }
    func value(_ name: String) -> Int { ProcessFields.kibibytes(name, in: text) << 10 }
    ownBytes = value("Private_Clean") + value("Private_Dirty")
    residentBytes = value("Rss")
  }
}

enum ProcessFields {
  static func kibibytes(_ name: String, in text: String) -> Int {
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }

  static func anonymousBytes(of pid: pid_t) -> Int {
    kibibytes("RssAnon", in: (try? Files.text(of: "/proc/\(pid)/status")) ?? "") << 10
  }

  private static func children(of pid: pid_t) -> [pid_t] {
    let threads = (try? Files.names(in: "/proc/\(pid)/task")) ?? []
    return threads.flatMap { thread in
      ((try? Files.text(of: "/proc/\(pid)/task/\(thread)/children")) ?? "").split(separator: " ").compactMap {
        pid_t($0)
      }
    }
  }

  /// The first child, in the order in which they were made, of a process with one thread.
  static func child(of pid: pid_t) -> pid_t? { children(of: pid).first }

  /// Processes below `pid`, as far as its threads' lists say.
  static func descendants(of pid: pid_t) -> [pid_t] { children(of: pid).flatMap { [$0] + descendants(of: $0) } }
}

extension PluginHost {
  /// Looked up on the caller's thread, when nothing is under way.
  package func inventory() async -> Inventory {
    let server = await forkServerProcess()
    let below = ProcessFields.descendants(of: getpid())
    let own = "\(Janitor.prefix)\(getpid())-"
    let folders = (try? Files.names(in: Janitor.parent, atMost: .max, beginning: own)) ?? []
    return Inventory(
      descriptors: ((try? Files.names(in: "/proc/self/fd")) ?? []).count, processes: below.count,
      cgroups: await cgroupCount(), folders: folders.count,
      hostMemory: ProcessFields.anonymousBytes(of: getpid()),
      serverMemory: server.map {
        ([$0] + ProcessFields.descendants(of: $0)).map(ProcessFields.anonymousBytes).max() ?? 0
      }
        ?? 0)
  }
}
