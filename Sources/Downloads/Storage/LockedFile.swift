internal import LinuxSystem
internal import Synchronization

/// An open staging file with its lock. A reader keeps it open, so that its number can't become another file's. A writer
/// keeps the lock as well, so that no other process takes over a file in which a write hangs.
final class LockedFile: Sendable {
  let descriptor: OwnedDescriptor
  private struct Use {
    var writers = 0
    var isClosed = false
  }
  private let use = Mutex(Use())

  init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }

  /// False once it is closed.
  func beginWriting() -> Bool {
    use.withLock { use in
      if !use.isClosed { use.writers += 1 }
      return !use.isClosed
    }
  }

  func endWriting() {
    let isLast = use.withLock { use in
      use.writers -= 1
      return use.isClosed && use.writers == 0
    }
    if isLast { FileLock.giveBack(descriptor.number) }
  }

  /// No write begins any more. Those that read may go on.
  func close() {
    let isUnused = use.withLock { use in
      use.isClosed = true
      return use.writers == 0
    }
    if isUnused { FileLock.giveBack(descriptor.number) }
  }

  deinit { FileLock.giveBack(descriptor.number) }
}
