internal import Basics
internal import LinuxSystem

/// Folders that look harmless in a policy and aren't: what they show isn't a user's file.
package enum RevealingFolder {
  /// Why `path`, with every link followed, isn't granted; nil: it may be.
  package static func rejectionReason(forReal path: String) -> String? {
    let parts = path.pathNames
    switch parts.first {
    case "dev" where parts.count == 1:
      return "would lie over /dev/null and /dev/urandom, which every plugin has; name the folder in it that is needed"
    case "proc" where parts.count == 1:
      return "shows every process of the machine; name the file in it that is needed, such as /proc/cpuinfo"
    case "proc"
    where parts[1] == "self" || parts[1] == "thread-self" || parts[1].allSatisfy { $0.isASCII && $0.isNumber }:
      return "shows what a process of the machine is and has; the host's own may be among them"
    default: return nil
    }
  }

  /// Why a folder isn't listed only. `holder`: one that it lies in, of which more is granted.
  package static func rejectionReason(forListedIn holder: String) -> String {
    "is or lies in \(holder), of which more than names may be read, and so could all that lies in it; grant the other parts by themselves"
  }

  /// Why a part of a folder isn't granted less than the folder, where that is named by a link. `real`: what the link leads to.
  package static func rejectionReason(forPartOf folder: String, leadingTo real: String) -> String {
    "lies in \(real), to which \(folder) leads: by that name it would be as all of that is; grant \(real) in place of \(folder)"
  }

  /// `identity`: what a granted path leads to, under whatever name.
  static func rejectionReason(for path: String, _ identity: FileIdentity) -> String? {
    for folder in ["/dev", "/proc"] {
      guard let known = try? Files.identity(of: folder) else { continue }
      if known.isSameFile(as: identity) { return rejectionReason(forReal: folder) }
    }
    // What a link of a process's leads to is another one's for another process that follows it.
    return rejectionReason(forReal: path) ?? (try? Files.real(path)).flatMap(rejectionReason(forReal:))
  }
}
