internal import Glibc
internal import LinuxSystem

/// What becomes of a host whose program closes the descriptors that aren't its own.
enum ClosedFiles {
  /// Whether an error of a call on one of the host's descriptors comes of that: the number is nobody's now, or another file's.
  static func areReason(for error: SystemCallError) -> Bool { [EBADF, ENOTSOCK].contains(error.code) }

  static func sentence(_ error: SystemCallError) -> String {
    "the host's own files are closed (\(error.description)): a program that closes what it didn't open, as closefrom(3) does, makes a new host after that"
  }
}
