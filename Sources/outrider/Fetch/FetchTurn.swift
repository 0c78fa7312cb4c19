internal import Glibc
internal import LinuxSystem

/// The turn of one of the commands that share the default state folder: from its look at what the others have until they can see what is
/// its own. Two that began at the same instant would both see nothing, and fetch the same file.
struct FetchTurn: ~Copyable {
  /// Another that stands still with the turn in its hands keeps nobody for ever: then a file may be fetched twice, and one is refused.
  private static let patience = Duration.seconds(10)

  /// Its lock ends with it (flock(2)).
  private let file: OwnedDescriptor

  private init(_ file: consuming OwnedDescriptor) { self.file = file }

  consuming func end() {}

  /// `directory`: the first of the default folders. nil: there is no waiting for it any longer, or no such folder.
  static func take(in directory: String, unless isStopped: @Sendable () -> Bool) async -> FetchTurn? {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let number = open("\(directory)/turn", flags, 0o600)
    guard number >= 0 else { return nil }
    let file = OwnedDescriptor(taking: number)
    let end = ContinuousClock.now + patience
    while flock(file.number, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < end, !isStopped() else { return nil }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return FetchTurn(file)
  }
}
