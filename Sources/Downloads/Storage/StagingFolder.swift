internal import Glibc
internal import LinuxSystem

/// The hidden folder beside the files, for what isn't complete. Each user has one of their own: the first in a directory
/// has the short name.
enum StagingFolder {
  static let common = ".outrider"

  private static var own: String { "\(common)-\(geteuid())" }

  /// Names that no download may have.
  static func isReserved(_ name: String) -> Bool { name == common || name.hasPrefix("\(common)-") }

  /// What this user's is called, or would be. Who has one with the longer name goes on with it: the other user, who had
  /// the short one, may be gone by now.
  static func name(in directory: Int32) -> String {
    if owner(own, in: directory) == geteuid() { return own }
    guard let owner = owner(common, in: directory), owner != geteuid() else { return common }
    return own
  }

  private static func owner(_ name: String, in directory: Int32) -> UInt32? {
    (try? Files.identity(of: name, in: directory))?.owner
  }
}
