import Foundation

/// Where a process of the tests keeps what several of its tests share, as plugins that are compiled once.
public enum ProcessFolder {
  /// Anyone may read it. Removed with all that is in it when the process ends, but not by a child.
  public static let path: String = {
    var template = Array((NSTemporaryDirectory() + "outrider-tests-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      fatalError("\(NSTemporaryDirectory()): no folder can be made: errno \(errno)")
    }
    owner = getpid()
    let made = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    chmod(made, 0o755)
    atexit { if getpid() == ProcessFolder.owner { try? FileManager.default.removeItem(atPath: ProcessFolder.path) } }
    return made
  }()

  // Written once, before the path is known to anyone.
  nonisolated(unsafe) private static var owner: pid_t = 0
}
