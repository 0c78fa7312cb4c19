internal import Basics
internal import COutrider
internal import LinuxSystem

/// Where this library lies. Any program may have loaded it.
enum OwnPlace {
  /// The runner beside it, or in ../libexec; nil where it is in neither, and a host looks for it itself.
  static var runner: String? {
    guard let name = outrider_own_place(), let path = try? Files.real(String(cString: name)),
      let folder = path.parentFolder
    else { return nil }
    return ["outrider-runner", "../libexec/outrider-runner"].map { "\(folder)/\($0)" }.first(
      where: Files.exists)
  }
}
