internal import CLinux
internal import Glibc

package enum Threads {
  /// Starts so many more and ends them, with memory left beside their stacks. Who can't be given one waits for it for ever: neither
  /// libdispatch nor Swift's executor says that it couldn't start any.
  package static func tryToStart(_ count: Int32, besides bytes: Int) throws(ThreadShortage) {
    let code = ol_start_threads(count, bytes)
    if code != 0 { throw ThreadShortage(count: count, code: code) }
  }

  /// Runs `body` on a thread of its own that isn't joined. `name` as in `ThreadName`.
  package static func detach(
    _ name: StaticString, _ body: sending @escaping () -> Void
  ) throws(SystemCallError) {
    let context = Unmanaged.passRetained(Body(name, body)).toOpaque()
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { raw in
        guard let raw else { return nil }
        let body = Unmanaged<Body>.fromOpaque(raw).takeRetainedValue()
        ThreadName.set(body.name)
        body.run()
        return nil
      }, context)
    guard code == 0 else {
      Unmanaged<Body>.fromOpaque(context).release()
      throw SystemCallError("pthread_create", code: code, subject: "\(name)")
    }
    pthread_detach(thread)
  }

  private final class Body {
    let name: StaticString
    let run: () -> Void

    init(_ name: StaticString, _ run: @escaping () -> Void) {
      self.name = name
      self.run = run
    }
  }
}
