internal import CLinux
internal import HostProtocol
internal import LinuxSystem

/// Notices a fork server that keeps to itself what it has to tell.
extension Run {
  /// The server is looked at twice, so far apart: what it said while this host was stopped is heard in between.
  private static let patience = (beginning: Duration.seconds(5), end: Duration.seconds(2))

  /// The runner is gone (pidfd_open(2)).
  var hasEnded: Bool { pidfd >= 0 && ol_poll_readable(pidfd, 0) == 1 }

  /// From now on the server's next word of this run is due: that there is a runner, or that there is none any more.
  func awaitServer() {
    guard !awaitsServer, report == nil else { return }
    awaitsServer = true
    look(again: false)
  }

  func stopAwaitingServer() {
    awaitsServer = false
    loop.setTimer(key(.server), at: nil) {}
  }

  private func look(again isAgain: Bool) {
    // A runner that this host got no handle of ends by itself, and the server has others.
    let isDue = pidfd < 0 && exhaustion == nil || hasEnded
    if isAgain, isDue {
      server?.giveUp("the fork server doesn't answer")
      return
    }
    let due = BootClock.now + (pidfd < 0 ? Self.patience.beginning : Self.patience.end)
    loop.setTimer(key(.server), at: due) { [weak self] in
      guard let self, self.report == nil else { return }
      self.look(again: isDue || self.pidfd < 0 || self.hasEnded)
    }
  }
}
