internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The process that has everything loaded and forks runners. One thread, no plugin code, no network; it ends when its
/// host does, and as the first process of its pid namespace it takes every runner with it.
public struct ForkServer {
  private static let hostSocket: Int32 = 3
  /// What this process waits for. Which runner has ended, the kernel says as it is reaped.
  private enum Event: UInt64 { case host, runnerEnded, spareReady, leaseEnded, hostEnded }

  private let preloads: Bool
  /// Whether a plugin's own symbols come first: for one that brings another runtime than the runner's. What the runner defines in
  /// place of the C library isn't found then.
  private let bindsDeep: Bool
  private var namespaces = ServerNamespaces()
  private var children: [UInt64: Child] = [:]
  /// Not in a server that serves one run, nor in the one that a benchmark compares with.
  private var spares: SpareKeeper?
  private let epoll: Int32
  private var lease: Int32 = -1
  /// The host's process; -1 where it has no number here.
  private let host: Int32
  /// Longer than any request; allocated once, because every fork copies what the server has touched.
  private var inbox = [UInt8](repeating: 0, count: 64 << 10)

  private struct Child {
    var pid: pid_t
    var pidfd: Int32
  }

  /// Runs until the host goes. `arguments`, without the program's name: `--cold` keeps no runner ready; `--preload PATH` names a library
  /// to load first; `--bare` enters no namespace, for the baseline that a benchmark compares with; `--without-NAME` leaves one out.
  public static func main(_ arguments: [String]) -> Never {
    guard fcntl(hostSocket, F_GETFD) >= 0 else {
      let message = "outrider-runner is started by outrider; run 'outrider --help' instead.\n"
      _ = write(2, message, message.utf8.count)
      exit(64)
    }
    _ = fcntl(hostSocket, F_SETFD, FD_CLOEXEC)
    let host = hostProcess()
    signal(SIGPIPE, SIG_IGN)
    leaveIdentity()
    if arguments.contains("--user-namespace") { holdNamespace() }
    umask(0o022)
    // It holds one for each runner; a runner has the limits of its policy.
    Files.raise(Int32(RLIMIT_NOFILE.rawValue))
    // It writes to /proc, where one that is smaller than the text counts, too.
    Files.raise(Int32(RLIMIT_FSIZE.rawValue))
    _ = ol_set_process_name("outrider-runner")
    var namespaces = ServerNamespaces()
    if arguments.contains("--bare") {
      namespaces.stay()
    } else {
      let prefix = "--without-"
      namespaces.leave(
        without: Set(arguments.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) })
      ) {
        send(.wantsIdentity)
        var answer: [UInt8] = [0]
        let received = try? Sockets.receive(hostSocket, into: &answer, maxDescriptors: 1)
        guard received?.count == 1, answer == [1] else { return nil }
        return .init(devices: received?.descriptors.first)
      }
    }
    // Read now, the machine's nsswitch.conf would have runners load modules that they may not map.
    ol_look_up_names_in_files()
    ol_rehearse_crash()
    standIn(hasPidNamespace: !namespaces.lacks("pid"), without: [hostSocket, host])
    let preload = arguments.firstIndex(of: "--preload").flatMap { index in
      arguments.indices.contains(index + 1) ? arguments[index + 1] : nil
    }
    var server = ForkServer(
      namespaces: namespaces, host: host, preload: preload, isCold: arguments.contains("--cold"),
      keepsSpare: !arguments.contains("--cold") && !arguments.contains("--bare"))
    server.serve()
  }

  /// A handle of the host, whose end the socket alone doesn't tell: a child that it forked may still have the other end. -1 where the
  /// host is in a namespace whose processes have no numbers here.
  private static func hostProcess() -> Int32 {
    var host: pid_t = 0
    guard ol_socket_maker(hostSocket, &host) == 0, host > 0 else { return -1 }
    var pidfd: Int32 = -1
    let code = ol_pidfd_open(host, &pidfd)
    // It has ended already, and another process may have its number.
    if code == ESRCH || getppid() != host { ol_exit_now(0) }
    return code == 0 ? pidfd : -1
  }

  /// Who started it may be another user for a while only (seteuid(2)). It goes on as that one for good, with what that one may do:
  /// neither may a runner have more, nor half of each.
  private static func leaveIdentity() {
    let (user, group) = (geteuid(), getegid())
    guard getuid() != user || getgid() != group else { return }
    guard setregid(group, group) == 0, setreuid(user, user) == 0 else { ol_exit_now(ServerExit.identity) }
    // As if that user had started it: its host writes which users there are in its namespace (proc_pid_uid_map(5)).
    _ = ol_set_dumpable(1)
  }

  /// A process whose only purpose is its user namespace, which the host maps and takes hold of.
  private static func holdNamespace() -> Never {
    var answer: UInt8 = ol_unshare(ol_new_user) == 0 ? 1 : 0
    Glibc.send(hostSocket, &answer, 1, 0)
    // Until the host closes the socket or kills this process.
    _ = recv(hostSocket, &answer, 1, 0)
    ol_exit_now(0)
  }

  /// A new pid namespace begins with the next child: that becomes the server, and this process only waits for it, so
  /// that the host has a child whose end it sees.
  private static func standIn(hasPidNamespace: Bool, without descriptors: [Int32]) {
    guard hasPidNamespace else { return }
    var pid: pid_t = 0
    guard ol_fork(&pid) == 0 else { ol_exit_now(ServerExit.resources) }
    if pid == 0 {
      _ = ol_set_parent_death_signal(SIGKILL)
      return
    }
    for descriptor in descriptors where descriptor >= 0 { close(descriptor) }
    var code: Int32 = 0
    var status: Int32 = 0
    _ = ol_wait(pid, &code, &status)
    ol_exit_now(code == Int32(CLD_EXITED) ? status : 128 + status)
  }

  private init(namespaces: ServerNamespaces, host: Int32, preload: String?, isCold: Bool, keepsSpare: Bool) {
    self.namespaces = namespaces
    self.host = host
    _ = ol_set_no_new_privileges()
    _ = ol_disable_huge_pages()
    let library = preload.flatMap(PreloadedLibrary.init)
    preloads = library != nil
    bindsDeep = isCold
    Runner.warmUp()
    spares = keepsSpare ? SpareKeeper(library: library) : nil
    let runtime = Runtime.paths()
    self.namespaces.leaveMachineRoot(runtime: runtime)
    var epoll: Int32 = -1
    guard ol_epoll_create(&epoll) == 0, ol_epoll_add(epoll, Self.hostSocket, Event.host.rawValue) == 0,
      host < 0 || ol_epoll_add(epoll, host, Event.hostEnded.rawValue) == 0
    else {
      ol_exit_now(ServerExit.resources)
    }
    self.epoll = epoll
    Self.send(
      .ready(.init(missing: self.namespaces.missing, runtime: runtime, hasPreloaded: preloads)))
  }

  private static func send(_ event: ServerEvent, descriptor: Int32? = nil) {
    let bytes = event.encoded()
    var sent = 0
    var descriptors = descriptor.map { [$0] } ?? []
    // Without its host, the server has nothing to do.
    if ol_send(hostSocket, bytes, bytes.count, &descriptors, descriptors.count, 0, &sent) != 0 { ol_exit_now(0) }
  }

  private mutating func serve() -> Never {
    var keys = [UInt64](repeating: 0, count: 64)
    while true {
      var count: Int32 = 0
      switch ol_epoll_wait(epoll, &keys, Int32(keys.count), children.isEmpty ? -1 : Self.longestWait, &count) {
      case 0: break
      case EINTR: continue
      default: ol_exit_now(ServerExit.resources)
      }
      // Ends before beginnings: a descriptor number may be used again.
      let events = keys.prefix(Int(count))
      if events.contains(Event.hostEnded.rawValue) { end() }
      if count == 0 || events.contains(Event.runnerEnded.rawValue) { reap() }
      // Before what the host wants next: from then on it looks again.
      if events.contains(Event.leaseEnded.rawValue) { stopRunners() }
      if events.contains(Event.spareReady.rawValue) { greetSpare() }
      if events.contains(Event.host.rawValue) { receive() }
    }
  }

  /// Milliseconds. Nothing tells of the end of a thread that has made this process its tracer, which only the filter keeps it from.
  private static let longestWait: Int32 = 500

  private mutating func reap() {
    while true {
      var pid: pid_t = 0
      var code: Int32 = 0
      var status: Int32 = 0
      var cpu: UInt64 = 0
      guard ol_reap(&pid, &code, &status, &cpu) == 0, pid != 0 else { return }
      if pid == spares?.spare?.pid, let gone = spares?.take() { forget(gone) }
      guard let (run, child) = children.first(where: { $0.value.pid == pid }) else { continue }
      _ = ol_epoll_remove(epoll, child.pidfd)
      close(child.pidfd)
      children[run] = nil
      Self.send(
        .exited(
          .init(
            run: run, status: status, wasSignalled: code != Int32(CLD_EXITED), cpuNanoseconds: cpu)))
    }
  }

  private mutating func receive() {
    let received: Sockets.Received?
    do {
      received = try Sockets.receive(
        Self.hostSocket, into: &inbox, flags: Int32(MSG_DONTWAIT), maxDescriptors: Int(OL_MOST_DESCRIPTORS))
    } catch {
      return end()
    }
    guard let message = received else { return }
    guard message.count > 0 else { return end() }
    guard let header = try? ServerRequest.Header(decoding: inbox[0..<message.count]) else { return end() }
    switch (header, message.wasTruncated) {
    case (.spawn(let run, let suitsSpare), false):
      spawn(run, suitsSpare: suitsSpare, inbox[0..<message.count], message.descriptors)
    // The kernel leaves out descriptors for which there is no room, and says no more than that (unix(7)).
    case (.spawn(let run, _), true):
      for descriptor in message.descriptors { close(descriptor) }
      Self.send(.spawnFailed(run: run, step: "recvmsg in the fork server", code: EMFILE))
    case (.prepare, let wasTruncated):
      if wasTruncated {
        for descriptor in message.descriptors { close(descriptor) }
      } else {
        prepare(message.descriptors)
      }
    case (.signal(let run, let signal), _):
      for descriptor in message.descriptors { close(descriptor) }
      if let child = children[run] { send(signal, to: child) }
    case (.lease, false): take(lease: message.descriptors)
    // Without it nothing would stop the runners together with the host.
    case (.lease, true):
      for descriptor in message.descriptors { close(descriptor) }
      end()
    }
    forgetRequest(message.count)
  }

  /// Every later runner begins as a copy of this memory, and a request names paths that are another plugin's.
  private mutating func forgetRequest(_ count: Int) {
    inbox.withUnsafeMutableBytes { bytes in ol_erase(bytes.baseAddress, count) }
  }

  private mutating func take(lease descriptors: [Int32]) {
    guard lease < 0, descriptors.count == 1 else { return end() }
    lease = descriptors[0]
    guard ol_epoll_add(epoll, lease, Event.leaseEnded.rawValue) == 0 else { return end() }
  }

  /// The host doesn't look at its runners any more: it was stopped, by Ctrl-Z or a debugger, or has no processor. It lets
  /// them go on itself as soon as it is told of this.
  private func stopRunners() {
    guard ol_lease_has_ended(lease) == 1, !children.isEmpty else { return }
    for child in children.values { send(.stop, to: child) }
    Self.send(.stopped(at: ol_boottime()))
  }

  /// To all processes of the child's.
  private func send(_ signal: RunSignal, to child: Child) {
    let number =
      switch signal {
      case .stop: SIGSTOP
      case .resume: SIGCONT
      case .kill: SIGKILL
      }
    // Not reaped yet, so that its number is its own. One that hasn't come to lead a group has no plugin either.
    if kill(-child.pid, number) != 0 { _ = ol_pidfd_signal(child.pidfd, number) }
  }

  private mutating func prepare(_ descriptors: [Int32]) {
    defer { for descriptor in descriptors { close(descriptor) } }
    // The host doesn't count on it any more, nor on the cgroup that it is in.
    if let old = spares?.take() { forget(old) }
    let made = spares?.prepare(
      in: namespaces, cgroup: descriptors.first, without: [Self.hostSocket, epoll] + [lease, host].filter { $0 >= 0 },
      isIdle: children.isEmpty, inbox: &inbox)
    guard let spare = made ?? nil else { return }
    // The fork made each page that this process writes a copy to be taken: now, when no caller waits.
    Runner.practiseRequest()
    _ = ol_epoll_add(epoll, spare.pidfd, Event.runnerEnded.rawValue)
    _ = ol_epoll_add(epoll, spare.readiness, Event.spareReady.rawValue)
  }

  private func greetSpare() {
    guard let spare = spares?.spare else { return }
    _ = ol_epoll_remove(epoll, spare.readiness)
    if spare.isReady() { Self.send(.prepared) }
  }

  /// A spare that is gone, or no spare any more.
  private func forget(_ spare: SpareRunner, isRun: Bool = false) {
    _ = ol_epoll_remove(epoll, spare.readiness)
    spare.close()
    if isRun { return }
    _ = ol_pidfd_signal(spare.pidfd, SIGKILL)
    _ = ol_epoll_remove(epoll, spare.pidfd)
    close(spare.pidfd)
  }

  private func end() {
    for child in children.values { _ = ol_pidfd_signal(child.pidfd, SIGKILL) }
    if let spare = spares?.spare { _ = ol_pidfd_signal(spare.pidfd, SIGKILL) }
    ol_exit_now(0)
  }

  private mutating func spawn(
    _ run: UInt64, suitsSpare: Bool, _ bytes: ArraySlice<UInt8>, _ descriptors: [Int32]
  ) {
    var pid: pid_t = 0
    defer { for descriptor in descriptors { close(descriptor) } }
    do throws(SystemCallError) {
      if suitsSpare, keepsAsSpare(run, bytes, descriptors) { return }
      let code = namespaces.fork(&pid)
      guard code == 0 else { throw SystemCallError("fork", code: code, subject: "runner") }
      if pid == 0 {
        Runner.live(
          bytes, descriptors: descriptors, namespaces: namespaces,
          done: Runner.Done(meters: namespaces.ownMeters()), binding: bindsDeep)
      }
      var pidfd: Int32 = -1
      try check("pidfd_open", "runner") { ol_pidfd_open(pid, &pidfd) }
      try check("epoll_ctl", "runner") { ol_epoll_add(epoll, pidfd, Event.runnerEnded.rawValue) }
      children[run] = Child(pid: pid, pidfd: pidfd)
      Self.send(.spawned(run: run, cpuNanoseconds: 0), descriptor: pidfd)
    } catch {
      if pid > 0 { kill(pid, SIGKILL) }
      Self.send(.spawnFailed(run: run, step: "\(error.call) \(error.subject)", code: error.code))
    }
  }

  /// Whether a spare has taken the request.
  private mutating func keepsAsSpare(
    _ run: UInt64, _ bytes: ArraySlice<UInt8>, _ descriptors: [Int32]
  ) -> Bool {
    guard let spare = spares?.take() else { return false }
    var cpu: UInt64 = 0
    // It sleeps until it has the request: what it used so far isn't this run's.
    _ = ol_process_cpu(spare.pid, &cpu)
    let hasTaken = spare.become(bytes, descriptors: descriptors)
    forget(spare, isRun: hasTaken)
    guard hasTaken else { return false }
    children[run] = Child(pid: spare.pid, pidfd: spare.pidfd)
    Self.send(.spawned(run: run, cpuNanoseconds: cpu), descriptor: spare.pidfd)
    return true
  }
}
