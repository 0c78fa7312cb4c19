internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem

/// What runners need of the machine because their server has it loaded.
enum Runtime {
  /// The folder of Swift's own libraries, of which a plugin may need others than are loaded, and everything else file by
  /// file: other files beside the runner may be private to a user.
  static func paths() -> [String] {
    let files = loaded().compactMap { try? Files.real($0) }
    let own = (try? Files.real("/proc/self/exe")).map(folder(of:))
    let swift = files.first { $0.hasSuffix("/libswiftCore.so") }.map(folder(of:))
    // A plugin may need it, and this process hasn't always loaded it.
    let foundation = swift == own ? swift.map(foundation(in:)) ?? [] : []
    return Set(
      (files + foundation).map { file in
        let folder = folder(of: file)
        return folder == swift && folder != own ? folder : file
      }
    ).sorted()
  }

  private static func foundation(in folder: String) -> [String] {
    let names = (try? Files.names(in: folder)) ?? []
    return names.filter { name in ["libFoundation", "lib_Foundation"].contains { name.hasPrefix($0) } }
      .compactMap { try? Files.real("\(folder)/\($0)") }
  }

  private static func folder(of path: String) -> String {
    path.parentFolder ?? ""
  }

  private static func loaded() -> [String] {
    final class Found { var paths: [String] = [] }
    let found = Found()
    ol_loaded_objects(Unmanaged.passUnretained(found).toOpaque()) { context, path in
      guard let context else { return }
      Unmanaged<Found>.fromOpaque(context).takeUnretainedValue().paths.append(String(cString: path))
    }
    return found.paths
  }
}
