public import Foundation

extension Pipe {
  /// A pipe that no other child inherits than the one it is given to.
  ///
  /// `Pipe()` opens what every program that another thread starts at that moment keeps open: its reader would wait for the
  /// end of that one, too.
  public static func own() -> Pipe {
    let pipe = Pipe()
    for handle in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    return pipe
  }
}
