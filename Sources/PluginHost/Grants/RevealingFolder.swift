internal import AssetModel
internal import Basics
internal import HostProtocol
internal import LinuxSystem

/// Folders that look harmless in a policy and aren't: what they show isn't a user's file.
package enum RevealingFolder {
  /// Why `path`, with every link followed, isn't granted; nil: it may be.
  package static func rejectionReason(forReal path: String) -> String? {
    let parts = path.pathNames
    switch parts.first {
    case "dev" where parts.count == 1:
      return "would lie over /dev/null and /dev/urandom, which every plugin has; name the folder in it that is needed"
    case "dev" where parts.count == 2 && parts[1] == "pts":
      return "holds terminals alone, which are devices that no plugin opens"
    case "proc" where parts.count == 1:
      return "shows every process of the machine; name the file in it that is needed, such as /proc/cpuinfo"
    case "proc"
    where parts[1] == "self" || parts[1] == "thread-self" || parts[1].allSatisfy { $0.isASCII && $0.isNumber }:
      return ofProcess
    default: return nil
    }
  }

  private static let ofProcess = "shows what a process of the machine is and has; the host's own may be among them"

  /// The same by its own name, and by those to which links lead on the way to it: /dev/stdin leads to what is open in whoever follows
  /// it, and by the end of the way alone it would be that. `hops`: those names, as `LinkHops` has them.
  package static func rejectionReason(for path: String, hops: [String]) -> String? {
    if let reason = rejectionReason(forReal: path) { return reason }
    for hop in hops {
      guard let reason = rejectionReason(forReal: hop) else { continue }
      return "leads to \(Printable.text(hop, limit: 400)), which \(reason)"
    }
    return nil
  }

  /// Of this machine.
  package static func rejectionReason(for path: String) -> String? {
    rejectionReason(for: path, hops: LinkHops.all(from: path, link: Files.link))
  }

  /// Why a folder isn't listed only. `holder`: one that it lies in, of which more is granted.
  package static func rejectionReason(forListedIn holder: String) -> String {
    "is or lies in \(holder), of which more than names may be read, and so could all that lies in it; grant the other parts by themselves"
  }

  /// Landlock's rule for a folder of the plugin's own holds for what is mounted in it.
  package static func rejectionReason(forListedInOwn folder: String) -> String {
    "lies in \(folder), where a plugin may read all that is there: its files would be shown, too; grant it under 'read', or move it"
  }

  /// Why a part of a folder isn't granted less than the folder, where that is named by a link. `real`: what the link leads to.
  package static func rejectionReason(forPartOf folder: String, leadingTo real: String) -> String {
    "lies in \(real), to which \(folder) leads: by that name it would be as all of that is; grant \(real) in place of \(folder)"
  }

  /// `found`: what a granted path leads to, under whatever name.
  static func rejectionReason(for path: String, _ found: borrowing RunPath) -> String? {
    for folder in ["/dev", "/dev/pts", "/proc"] {
      guard let known = try? Files.identity(of: folder) else { continue }
      if known.isSameFile(as: found.identity) { return rejectionReason(forReal: folder) }
    }
    if let reason = rejectionReason(for: path) { return reason }
    return found.isProcess ? ofProcess : (try? Files.real(path)).flatMap(rejectionReason(forReal:))
  }
}
