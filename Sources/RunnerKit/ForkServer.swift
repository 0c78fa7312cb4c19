internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The process that has everything loaded and forks runners. One thread, no plugin code, no network; it ends when its
/// host does, and as the first process of its pid namespace it takes every runner with it.
public struct ForkServer {
  private static let hostSocket: Int32 = 3
  private let preloads: Bool
  private var namespaces = ServerNamespaces()
  private var children: [UInt64: Child] = [:]
  private var spare: SpareRunner?
  /// Whether spares are kept: in a server that has everything loaded, and not in the one that a benchmark compares with.
  private let keepsSpare: Bool
  private var hasServed = false
  private let memory: HotPages.Source?
  private var pages: HotPages?
  private let epoll: Int32
  /// Longer than any request; allocated once, because every fork copies what the server has touched.
  private var inbox = [UInt8](repeating: 0, count: 64 << 10)

  private struct Child {
    var pid: pid_t
    var pidfd: Int32
  }

  /// Runs until the host goes. `arguments`: `--cold` leaves the preload out; `--preload PATH` names the library;
  /// `--bare` enters no namespace, for the baseline that a benchmark compares with; `--without-NAME` leaves one out.
  public static func main(_ arguments: [String]) -> Never {
    guard fcntl(hostSocket, F_GETFD) >= 0 else {
      let message = "outrider-runner is started by outrider; run 'outrider --help' instead.\n"
      _ = write(2, message, message.utf8.count)
      exit(64)
    }
    _ = fcntl(hostSocket, F_SETFD, FD_CLOEXEC)
    signal(SIGPIPE, SIG_IGN)
    if arguments.contains("--user-namespace") { holdNamespace() }
    umask(0o022)
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
        var answer: UInt8 = 0
        return recv(hostSocket, &answer, 1, 0) == 1 && answer == 1
      }
    }
    standIn(hasPidNamespace: !namespaces.lacks("pid"))
    let preload = arguments.firstIndex(of: "--preload").flatMap { index in
      arguments.indices.contains(index + 1) ? arguments[index + 1] : nil
    }
    var server = ForkServer(
      namespaces: namespaces, preload: arguments.contains("--cold") ? nil : preload, isBare: arguments.contains("--bare"))
    server.serve()
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
  private static func standIn(hasPidNamespace: Bool) {
    guard hasPidNamespace else { return }
    var pid: pid_t = 0
    guard ol_fork(&pid) == 0 else { ol_exit_now(71) }
    if pid == 0 {
      _ = ol_set_parent_death_signal(SIGKILL)
      return
    }
    close(hostSocket)
    var code: Int32 = 0
    var status: Int32 = 0
    _ = ol_wait(pid, &code, &status)
    ol_exit_now(code == Int32(CLD_EXITED) ? status : 128 + status)
  }

  private init(namespaces: ServerNamespaces, preload: String?, isBare: Bool) {
    self.namespaces = namespaces
    _ = ol_set_no_new_privileges()
    _ = ol_disable_huge_pages()
    preloads = preload.map(Self.load) ?? false
    Runner.warmUp()
    keepsSpare = preloads && !isBare
    memory = keepsSpare ? HotPages.Source() : nil
    let runtime = Self.runtimeDirectories()
    self.namespaces.settle(runtime: runtime)
    var epoll: Int32 = -1
    guard ol_epoll_create(&epoll) == 0, ol_epoll_add(epoll, Self.hostSocket, .max) == 0 else { ol_exit_now(71) }
    self.epoll = epoll
    Self.send(
      .ready(.init(missing: self.namespaces.missing, runtime: runtime, hasPreloaded: preloads)))
  }

  /// Loads the library of the package's `Preload` target and lets it touch what extensions usually need.
  private static func load(_ path: String) -> Bool {
    guard let library = ol_load(path, 0, 1) else { return false }
    var address: UnsafeMutableRawPointer?
    guard ol_symbol(library, "outrider_preload", &address) == OL_SYMBOL_FUNCTION, let address else { return false }
    warmUp = unsafeBitCast(address, to: (@convention(c) () -> Void).self)
    warmUp?()
    return true
  }

  /// What the preloaded library has to be called; written once, by the process's one thread.
  nonisolated(unsafe) private static var warmUp: (@convention(c) () -> Void)?

  private static func runtimeDirectories() -> [String] {
    final class Found { var directories: Set<String> = [] }
    let found = Found()
    ol_loaded_objects(Unmanaged.passUnretained(found).toOpaque()) { context, path in
      guard let context, let slash = strrchr(path, Int32(UInt8(ascii: "/"))) else { return }
      let count = slash - UnsafeMutablePointer(mutating: path)
      let directory = String(decoding: UnsafeRawBufferPointer(start: path, count: count), as: UTF8.self)
      Unmanaged<Found>.fromOpaque(context).takeUnretainedValue().directories.insert(directory)
    }
    return found.directories.compactMap { try? Files.real($0) }.sorted()
  }

  private static func send(_ event: ServerEvent, descriptor: Int32? = nil) {
    let bytes = event.encoded()
    var sent = 0
    var descriptors = descriptor.map { [$0] } ?? []
    // Without a host there is nobody to serve.
    if ol_send(hostSocket, bytes, bytes.count, &descriptors, descriptors.count, 0, &sent) != 0 { ol_exit_now(0) }
  }

  private mutating func serve() -> Never {
    var keys = [UInt64](repeating: 0, count: 64)
    while true {
      if keepsSpare, spare == nil, ol_poll_readable(epoll, quietBeforeSpare) == 0 {
        makeSpare()
        continue
      }
      var count: Int32 = 0
      switch ol_epoll_wait(epoll, &keys, Int32(keys.count), &count) {
      case 0: break
      case EINTR: continue
      default: ol_exit_now(71)
      }
      // Ends before beginnings: a descriptor number may be used again.
      for key in keys.prefix(Int(count)) where key != .max { reap() }
      if keys.prefix(Int(count)).contains(.max) { receive() }
    }
  }

  /// Milliseconds without an event: the first request comes soon after the start, and a spare is not to compete with a
  /// runner that is being woken.
  private var quietBeforeSpare: Int32 { !hasServed ? 50 : children.isEmpty ? 0 : 10 }

  private mutating func makeSpare() {
    hasServed = true
    if pages == nil, let memory {
      pages = HotPages(touchedBy: {
        Self.warmUp?()
        Runner.warmUp()
      }, source: memory)
    }
    let spare = SpareRunner(
      of: namespaces, binding: !preloads, pages: pages, serverDescriptors: [Self.hostSocket, epoll], inbox: &inbox)
    guard let spare, ol_epoll_add(epoll, spare.pidfd, 0) == 0 else { return }
    self.spare = spare
  }

  private mutating func reap() {
    while true {
      var pid: pid_t = 0
      var code: Int32 = 0
      var status: Int32 = 0
      var cpu: UInt64 = 0
      var peak: UInt64 = 0
      guard ol_reap(&pid, &code, &status, &cpu, &peak) == 0, pid != 0 else { return }
      if pid == spare?.pid { dropSpare() }
      guard let (run, child) = children.first(where: { $0.value.pid == pid }) else { continue }
      _ = ol_epoll_remove(epoll, child.pidfd)
      close(child.pidfd)
      children[run] = nil
      Self.send(
        .exited(
          .init(
            run: run, status: status, wasSignalled: code != Int32(CLD_EXITED), cpuNanoseconds: cpu,
            peakResidentBytes: peak)))
    }
  }

  private mutating func dropSpare() {
    guard let spare else { return }
    _ = ol_epoll_remove(epoll, spare.pidfd)
    close(spare.pidfd)
    self.spare = nil
  }

  private mutating func receive() {
    guard
      let message = try? Sockets.receive(
        Self.hostSocket, into: &inbox, flags: Int32(MSG_DONTWAIT), mostDescriptors: Int(OL_MOST_DESCRIPTORS))
    else { return endIfHostIsGone() }
    guard message.count > 0 else { return end() }
    guard let request = try? SpawnRequest(decoding: inbox[0..<message.count]), !message.wasTruncated else {
      return end()
    }
    spawn(request, inbox[0..<message.count], message.descriptors)
  }

  private func endIfHostIsGone() {
    if errno != EAGAIN && errno != 0 { end() }
  }

  private func end() {
    for pidfd in children.values.map(\.pidfd) + [spare?.pidfd].compactMap({ $0 }) { _ = ol_pidfd_signal(pidfd, SIGKILL) }
    ol_exit_now(0)
  }

  private mutating func spawn(_ request: SpawnRequest, _ bytes: ArraySlice<UInt8>, _ descriptors: [Int32]) {
    hasServed = true
    var clones: [Int32] = []
    var pid: pid_t = 0
    defer { for descriptor in descriptors + clones { close(descriptor) } }
    do throws(SystemCallError) {
      clones = try namespaces.clonePaths(of: request.attachments ?? [])
      if let ready = spare {
        spare = nil
        // One that is gone is reaped like any other process that nobody waits for.
        if ready.become(bytes, descriptors: descriptors, clones: clones) {
          children[request.run] = Child(pid: ready.pid, pidfd: ready.pidfd)
          return Self.send(.spawned(run: request.run), descriptor: ready.pidfd)
        }
        _ = ol_epoll_remove(epoll, ready.pidfd)
        close(ready.pidfd)
      }
      let code = namespaces.fork(&pid)
      guard code == 0 else { throw SystemCallError("fork", code: code, subject: "runner") }
      if pid == 0 {
        Runner.live(
          request, descriptors: descriptors, clones: clones, template: namespaces.template, binding: !preloads)
      }
      var pidfd: Int32 = -1
      try check("pidfd_open", "runner") { ol_pidfd_open(pid, &pidfd) }
      try check("epoll_ctl", "runner") { ol_epoll_add(epoll, pidfd, request.run) }
      children[request.run] = Child(pid: pid, pidfd: pidfd)
      Self.send(.spawned(run: request.run), descriptor: pidfd)
    } catch {
      if pid > 0 { kill(pid, SIGKILL) }
      Self.send(.spawnFailed(run: request.run, step: "\(error.call) \(error.subject)", code: error.code))
    }
  }
}
