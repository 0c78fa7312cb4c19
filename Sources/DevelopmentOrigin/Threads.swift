internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// A bounded number of threads that can be waited for.
final class Threads: Sendable {
  private let group = DispatchGroup()
  private let places: DispatchSemaphore

  init(max: Int) { places = DispatchSemaphore(value: max) }

  private final class Job {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }

  /// Runs `body` on a thread of its own, as soon as there is a place.
  func start(_ body: sending @escaping () -> Void) throws(SystemCallError) {
    places.wait()
    group.enter()
    let context = Unmanaged.passRetained(
      Job { [group, places] in
        body()
        places.signal()
        group.leave()
      }
    ).toOpaque()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, 1 << 20)
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let code = pthread_create(
      &thread, &attributes,
      { raw in
        // OpenSSL and sendfile(2) raise SIGPIPE; the error that comes with it is enough.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        if let raw { Unmanaged<Job>.fromOpaque(raw).takeRetainedValue().body() }
        return nil
      }, context)
    guard code == 0 else {
      Unmanaged<Job>.fromOpaque(context).release()
      places.signal()
      group.leave()
      throw SystemCallError("pthread_create", code: code, subject: "connection")
    }
  }

  func join() { group.wait() }
}
