internal import LinuxSystem

/// A debugger that is to be there before a plugin is: says when it has attached to a process and lets it go on.
enum DebuggerWait {
  static let betweenLooks = Duration.milliseconds(50)

  /// Whether a debugger traces a process and doesn't hold it stopped (proc_pid_status(5)).
  static func isOver(_ process: Int32) -> Bool {
    guard let text = try? Files.text(of: "/proc/\(process)/status", limit: 4096) else { return false }
    return isOver(status: text)
  }

  static func isOver(status: String) -> Bool {
    func field(_ name: String) -> Substring? {
      status.split(separator: "\n").first { $0.hasPrefix(name) }?.dropFirst(name.count).drop { $0.isWhitespace }
    }
    guard let tracer = field("TracerPid:").flatMap({ Int($0) }), let state = field("State:")?.first else {
      return false
    }
    return tracer != 0 && state != "t"
  }
}
