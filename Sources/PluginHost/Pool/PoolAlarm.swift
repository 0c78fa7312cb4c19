internal import LinuxSystem

/// Tells a pool that a time has come.
///
/// @unchecked Sendable: the key is made and used on the loop's thread only.
final class PoolAlarm: @unchecked Sendable {
  private let loop: EventLoop
  private var key: TimerKey?

  init(_ loop: EventLoop) { self.loop = loop }

  /// In place of the one before; nil: at no time. Any thread.
  func set(at due: Duration?, _ body: @escaping @Sendable () -> Void) {
    loop.submit { [self] in
      let key = key ?? loop.newTimer()
      self.key = key
      loop.setTimer(key, at: due, body)
    }
  }
}
