internal import LinuxSystem

/// One deadline on the service's thread.
final class ServiceTimer {
  private let loop: EventLoop
  private let key: TimerKey

  init(_ loop: EventLoop) {
    self.loop = loop
    key = loop.newTimer()
  }

  /// nil: it doesn't fire.
  func set(at due: Duration?, _ body: @escaping () -> Void) { loop.setTimer(key, at: due, body) }
}
