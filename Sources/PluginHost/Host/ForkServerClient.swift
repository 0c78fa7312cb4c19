internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// The host's end of one fork server: starts it, gives it an identity, asks it for runners, and learns when they end.
///
/// @unchecked Sendable: loop thread only, but for its start, which comes before the loop knows of it, and for `stop` once the
/// loop has let go of it.
final class ForkServerClient: @unchecked Sendable {
  struct Handlers {
    /// `process`: its handle; nil where there was no room for it here. `cpu`: what it has used before it was the run's.
    var spawned: (_ run: UInt64, _ process: consuming OwnedDescriptor?, _ cpu: Duration) -> Void
    var spawnFailed: (_ run: UInt64, _ reason: String, _ code: Int32) -> Void
    var exited: (ServerEvent.Exit) -> Void
    var prepared: () -> Void
    /// The lease had run out, and every run of it stands still since then.
    var stopped: (_ since: Duration) -> Void
    /// The server is gone; every run of it has to be reported.
    var died: (_ reason: String) -> Void
  }

  let hello: ServerEvent.Hello
  /// What was found out with it.
  private(set) var machine: Machine
  /// Where the host maps the owners of files; nil where the server clones by path.
  private(set) var mounts: DetachedMounts?
  /// The kernel's ids of its runners: some that no other process has where this host may map them, or its own.
  let uid: UInt32
  let gid: UInt32
  var hasOwnIdentity: Bool { uid != geteuid() }
  private let socket: OwnedDescriptor
  let process: pid_t
  private var key: UInt64?
  private(set) var isAlive = true
  /// From the moment when the loop knows of the server.
  private(set) var lease: Lease?
  private var isWedged = false
  private var attached: (loop: EventLoop, handlers: Handlers)?
  private var wedged: TimerKey?

  /// What is started.
  struct Program {
    var runner: String
    /// Loaded before the first fork; nil: nothing is.
    var preload: String?
    /// Serves one run, and keeps nothing ready.
    var isCold = false
    /// Enters no namespace.
    var isBare = false
    /// The runtime of a sanitizer, which has to be the first library of its process.
    var sanitizer: String?
    /// Namespaces to stay out of.
    var without: Set<Wall> = []

    var arguments: [String] {
      [runner] + (preload.map { ["--preload", $0] } ?? []) + (isCold ? ["--cold"] : []) + (isBare ? ["--bare"] : [])
        + Machine.namespaces.filter { without.contains($0.wall) }.map { "--without-\($0.name)" }
    }

    var environment: [String] {
      // Where a runner has its bundle; nothing lies at that name, the Info.plist beside it says what the executable is.
      let executable = "CFProcessPath=\(RunnerView.bundle)/executable"
      // Foundation reads it once, when it is loaded: preferences lie in it.
      let home = "HOME=\(RunnerView.container)"
      // A zone, too: without it the runner's C library and its Foundation would have two.
      return ["LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no", executable, home] + SpawnPlan.Surroundings.zone
        + (sanitizer.map { Sanitizer.environment(loading: $0) } ?? [])
    }
  }

  /// Starts `program` and waits until it has loaded everything: some 25 ms, at most `timeout`. `isWanted`: asked meanwhile; what
  /// isn't wanted any more is given up.
  init(_ program: Program, timeout: Duration, isWanted: () -> Bool = { true }) throws(HostError) {
    let longest = Files.hardLimit(Int32(RLIMIT_FSIZE.rawValue))
    if let lack = ProcessFiles.lack ?? Self.lackOfDevices ?? Self.lack(longestFile: longest) {
      throw .failed("the fork server doesn't start: \(lack)")
    }
    do throws(SystemCallError) {
      let (mine, theirs) = try Sockets.pair(stream: false)
      socket = OwnedDescriptor(taking: mine)
      // Held here, the socket would outlive the server, and the host wouldn't notice the server's end.
      defer { close(theirs) }
      process = try Self.spawn(program, channel: theirs)
    } catch {
      throw .failed("the fork server doesn't start: \(error.description)")
    }
    do {
      (hello, uid, gid) = try Self.greet(socket.number, pid: process, timeout: timeout, isWanted)
      machine = Machine(withoutWalls: hello)
    } catch {
      throw .failed(Self.farewell(process, program.runner, error))
    }
  }

  /// Without it, posix_spawn(3) says of the program that it isn't there.
  private static var lackOfDevices: String? {
    Files.exists("/dev/null")
      ? nil
      : "there is no /dev/null here (null(4)), which runners have as their standard input: mount a /dev that has it"
  }

  /// What it writes to /proc and for its runners is shorter. A shell's shortest limit but 0 is as long.
  private static let shortestLimit: UInt64 = 512

  /// With a lower one such a write fails (EFBIG), and runners would do without a mount namespace.
  static func lack(longestFile: UInt64) -> String? {
    longestFile >= shortestLimit
      ? nil
      : "this user may not write files of \(shortestLimit) bytes (ulimit -f); start it from a shell without that limit, or raise 'fsize' in /etc/security/limits.conf"
  }

  /// Ends a server that can't be used. The sentence says how it ended, where it did so by itself.
  private static func farewell(_ process: pid_t, _ runner: String, _ error: any Error) -> String {
    let hasEnded = (error as? GreetingError) == .ended
    if !hasEnded { kill(process, SIGKILL) }
    var code: Int32 = 0
    var status: Int32 = 0
    _ = ol_wait(process, &code, &status)
    guard hasEnded else { return "the fork server (\(runner)) doesn't start: \(error)" }
    if code == Int32(CLD_EXITED), status == ServerExit.resources {
      return
        "the fork server can't start a process: this user may have no more (ulimit -u, pids.max), or memory is short"
    }
    if code == Int32(CLD_EXITED), status == ServerExit.identity {
      return "the fork server can't take the identity of this process (setreuid(2)): start the host as one user"
    }
    let end = code == Int32(CLD_EXITED) ? "status \(status)" : CrashText.signal(status)
    return "the fork server (\(runner)) ended with \(end) before it was ready; 'ldd \(runner)' lists what it needs"
  }

  private enum GreetingError: Error, Equatable, CustomStringConvertible {
    case ended
    case silent(Duration)
    case unwanted, outOfTurn

    var description: String {
      switch self {
      case .ended: "it ended"
      case .silent(let timeout): "it said nothing for \(timeout.formatted)"
      case .unwanted: "the host was shut down"
      case .outOfTurn: "it spoke out of turn"
      }
    }
  }

  private static func spawn(_ program: Program, channel: Int32) throws(SystemCallError) -> pid_t {
    var argv = program.arguments.map { strdup($0) }
    argv.append(nil)
    var environment = program.environment.map { strdup($0) }
    environment.append(nil)
    defer {
      for pointer in argv { free(pointer) }
      for pointer in environment { free(pointer) }
    }
    var pid: pid_t = 0
    try check("posix_spawn", program.runner) { ol_spawn(program.runner, &argv, &environment, channel, &pid) }
    return pid
  }

  private static func greet(
    _ socket: Int32, pid: pid_t, timeout: Duration, _ isWanted: () -> Bool
  ) throws -> (ServerEvent.Hello, uid: UInt32, gid: UInt32) {
    var ids = (uid: geteuid(), gid: getegid())
    let deadline = BootClock.now + timeout
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      guard BootClock.now < deadline else { throw GreetingError.silent(timeout) }
      guard isWanted() else { throw GreetingError.unwanted }
      guard ol_poll_readable(socket, 50) == 1 else { continue }
      guard let message = try Sockets.receive(socket, into: &buffer), message.count > 0 else {
        throw GreetingError.ended
      }
      switch try ServerEvent(decoding: buffer[0..<message.count]) {
      case .wantsIdentity:
        let mapped = mapIdentity(pid: pid)
        if let mapped { ids = mapped }
        if let devices = mapped == nil ? nil : PrivateDevices.mount() {
          try Sockets.send(socket, [1], descriptors: [devices.number])
        } else {
          try Sockets.send(socket, [mapped == nil ? 0 : 1])
        }
      case .ready(let hello): return (hello, ids.uid, ids.gid)
      default: throw GreetingError.outOfTurn
      }
    }
  }

  /// No process has an id as high, and process ids are added to it.
  private static let firstUnusedIdentity: UInt32 = 2_000_000_000

  /// Whether a user id is one that root's runners get.
  static func isRunner(_ uid: UInt32) -> Bool { (firstUnusedIdentity..<firstUnusedIdentity + 1 << 22).contains(uid) }

  /// One unprivileged id inside and outside (user_namespaces(7)); nil where neither can be had. Root takes ids that no user
  /// has, unless it is root of a container that maps no such ids: then its runners have its own, as an ordinary user's.
  private static func mapIdentity(pid: pid_t) -> (uid: UInt32, gid: UInt32)? {
    let unused = firstUnusedIdentity + UInt32(pid)
    let own = (geteuid(), getegid())
    for (uid, gid) in geteuid() == 0 ? [(unused, unused), own] : [own] {
      do {
        try Files.control("/proc/\(pid)/uid_map", "1000 \(uid) 1")
        if geteuid() != 0 { try Files.control("/proc/\(pid)/setgroups", "deny") }
        try Files.control("/proc/\(pid)/gid_map", "1000 \(gid) 1")
        return (uid, gid)
      } catch {
        continue
      }
    }
    return nil
  }

  /// For one whose runs have walls.
  func probe(runner: String) {
    machine = Machine(probing: hello)
    mounts = hasOwnIdentity ? DetachedMounts(runner: runner, uid: uid, gid: gid) : nil
  }

  func attach(to loop: EventLoop, _ handlers: Handlers) throws(SystemCallError) {
    let number = socket.number
    // One that doesn't read must not stop the watchdog's thread.
    var sendTimeout = timeval(tv_sec: 2, tv_usec: 0)
    setsockopt(number, SOL_SOCKET, SO_SNDTIMEO, &sendTimeout, socklen_t(MemoryLayout<timeval>.size))
    let lease = try Lease()
    try Sockets.send(number, ServerRequest.lease.encoded(), descriptors: [lease.timer.number])
    self.lease = lease
    attached = (loop, handlers)
    wedged = loop.newTimer()
    key = try loop.watch(number) { [unowned self] in receive(loop, handlers) }
  }

  /// `request`: encoded.
  func spawn(_ request: [UInt8], descriptors: [Int32]) throws(SystemCallError) {
    do throws(SystemCallError) {
      try Sockets.send(socket.number, request, descriptors: descriptors)
    } catch {
      // Later: the caller has its own cleaning up to do first.
      if error.code == EAGAIN, let attached, let wedged {
        attached.loop.setTimer(wedged, at: BootClock.now) { [weak self] in
          self?.giveUp("the fork server takes no requests")
        }
      }
      throw error
    }
  }

  /// A server that doesn't do its part is ended as if it had done so by itself.
  func giveUp(_ reason: String) {
    guard isAlive, let attached else { return }
    isWedged = true
    end(attached.loop, attached.handlers, reason)
  }

  /// Asks for a signal to a run's processes that this host can't send itself. A run that waits for its end asks again later.
  func send(_ signal: RunSignal, to run: UInt64) {
    try? Sockets.send(socket.number, ServerRequest.signal(run: run, signal).encoded(), flags: Int32(MSG_DONTWAIT))
  }

  /// Asks for a spare runner, in a cgroup or in none. One that can't be had costs the next wake a fork.
  func prepare(in cgroup: RunCgroup?) {
    let procs = try? cgroup?.procs().release()
    try? Sockets.send(
      socket.number, ServerRequest.prepare.encoded(), descriptors: [procs].compactMap { $0 },
      flags: Int32(MSG_DONTWAIT))
    if let procs { close(procs) }
  }

  /// What it has said so far, rather than when the loop comes to it.
  func receive() {
    while let attached, isAlive, ol_poll_readable(socket.number, 0) == 1 { receive(attached.loop, attached.handlers) }
  }

  private func receive(_ loop: EventLoop, _ handlers: Handlers) {
    var buffer = [UInt8](repeating: 0, count: 65536)
    do {
      guard
        let message = try Sockets.receive(socket.number, into: &buffer, flags: Int32(MSG_DONTWAIT), maxDescriptors: 1)
      else { return }
      guard message.count > 0 else { return end(loop, handlers, "the fork server ended") }
      switch try ServerEvent(decoding: buffer[0..<message.count]) {
      case .spawned(let run, let cpu):
        let process = message.descriptors.first.map { OwnedDescriptor(taking: $0) }
        handlers.spawned(run, process, .nanoseconds(Int64(clamping: cpu)))
      case .spawnFailed(let run, let step, let code):
        let call = String(step.prefix { $0 != " " })
        handlers.spawnFailed(
          run, "\(step): \(SystemCallError.message(code))" + RefusedSystemCall.remedy(for: call, code), code)
      case .exited(let exit): handlers.exited(exit)
      case .prepared: handlers.prepared()
      case .stopped(let time): handlers.stopped(.nanoseconds(Int64(clamping: time)))
      case .wantsIdentity, .ready: end(loop, handlers, "the fork server spoke out of turn")
      }
    } catch {
      end(loop, handlers, "the fork server can't be understood: \(error)")
    }
  }

  private func end(_ loop: EventLoop, _ handlers: Handlers, _ reason: String) {
    if let key { loop.stop(key) }
    key = nil
    stop()
    handlers.died(reason)
  }

  private var hasStandIn: Bool { !hello.missing.contains { $0.step == "pid" } }

  /// What the server itself does at this moment; nil where that can't be told.
  func look() -> ThreadProgress.Look? {
    let server = hasStandIn ? ProcessFields.child(of: process) : process
    return server.flatMap { ThreadProgress.look(at: UInt32($0)) }
  }

  /// Kills the server, and with it every runner, and waits until they are gone.
  func stop() {
    guard isAlive else { return }
    isAlive = false
    // The server ends when it reads the end of this socket, takes its pid namespace with it, and only then does the
    // process that stands in for it end. One that is wedged is killed, in the same order where that can be had.
    shutdown(socket.number, Int32(SHUT_RDWR))
    var pidfd: Int32 = -1
    if ol_pidfd_open(process, &pidfd) == 0 {
      if isWedged || ol_poll_readable(pidfd, 2000) == 0 {
        if hasStandIn, let server = ProcessFields.child(of: process) {
          kill(server, SIGKILL)
          _ = ol_poll_readable(pidfd, 2000)
        }
        _ = ol_pidfd_signal(pidfd, SIGKILL)
      }
      close(pidfd)
    }
    var code: Int32 = 0
    var status: Int32 = 0
    _ = ol_wait(process, &code, &status)
  }

  func detach(from loop: EventLoop) {
    if let key { loop.stop(key) }
    key = nil
    attached = nil
  }

  deinit { stop() }
}
