internal import Basics
internal import LinuxSystem

/// Folders that no policy lets a plugin write to, whoever runs it: what lies there is the machine's.
package enum MachineFolder {
  /// Why `path`, with every link followed, isn't written; nil: it may be.
  package static func rejectionReason(forWriting path: String) -> String? {
    if let folder = ["/proc", "/sys"].first(where: { path.lies(in: $0) }) {
      let place = folder.utf8.elementsEqual(path.utf8) ? "is the kernel's" : "lies in \(folder)"
      return "\(place): what is written there is a setting of the machine or another process's"
    }
    return RunnerView.runtime.contains { ($0.utf8.elementsEqual(path.utf8)) || $0.lies(below: path) }
      ? "is the runtime's, of which every plugin's code comes; name the folder in it that is needed" : nil
  }
}
