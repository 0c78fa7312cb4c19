internal import LinuxSystem

/// A debugger that is to be there before the plugin is.
extension Run {
  /// No clock of the plugin's runs yet. Begins the load when a debugger has attached and lets the runner go on.
  func awaitDebugger() {
    guard !isEnding, !hasEnded else { return }
    if Self.isTraced(pid) { return beginLoad() }
    loop.setTimer(timers[.debugger], at: BootClock.now + .milliseconds(50)) { [weak self] in self?.awaitDebugger() }
  }

  /// Whether somebody traces a process and doesn't hold it stopped (proc_pid_status(5)).
  private static func isTraced(_ process: Int32) -> Bool {
    guard let text = try? Files.text(of: "/proc/\(process)/status", limit: 4096) else { return false }
    return isTraced(status: text)
  }

  static func isTraced(status: String) -> Bool {
    func field(_ name: String) -> Substring? {
      status.split(separator: "\n").first { $0.hasPrefix(name) }?.dropFirst(name.count).drop { $0.isWhitespace }
    }
    guard let tracer = field("TracerPid:").flatMap({ Int($0) }), let state = field("State:")?.first else {
      return false
    }
    return tracer != 0 && state != "t"
  }
}
