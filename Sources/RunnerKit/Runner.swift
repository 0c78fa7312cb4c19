internal import Basics
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The sandboxed side: closes the walls, loads one plugin, answers calls until the host ends the process.
enum Runner {
  static let control: Int32 = 3
  static let service: Int32 = 4
  /// Until it has been handed over.
  private static let meters: Int32 = 5
  /// PAIRING_DESCRIPTOR of socketpair.h: once the meters are gone, where there is a network.
  private static let pairing: Int32 = 5

  /// Touches once, in the server, what every runner would otherwise touch for the first time after its fork.
  static func warmUp() {
    FunctionCaller.warmUp()
    _ = (try? CallSignature(parsing: "u64(u64,bytes,u32)"))?.description
    PracticeExtension.run()
    practiseRequest()
  }

  /// A request, encoded and decoded.
  static func practiseRequest() {
    let request = SpawnRequest(
      run: 1, environment: ["A=B"], limits: [.init(resource: 0, soft: 1, hard: 1)],
      landlock: .init(filesystem: 0, network: 0, scoped: 0, rules: [.init(path: "/", rights: 0)]), filter: [0],
      hasListener: true, isDumpable: false, joinsCgroup: true,
      sharesMemory: true, attachments: [.init(source: .memory(bytes: 1), target: "/", attributes: 0)], freshPoints: [],
      suitsSpare: false,
      keepsDescriptors: false)
    _ = try? ServerRequest(decoding: ServerRequest.spawn(request).encoded()[...])
  }

  /// What a runner did before it had its request.
  struct Done {
    /// Of this process. The host itself couldn't open it where /proc hides (`hidepid`) what may not be debugged.
    var meters: [Int32]
    var hasJoinedCgroup = false
    /// Whether the mount namespace is this run's own already.
    var isApart = false
  }

  /// Never returns into the server. `bytes`: the request, decoded here and not in the server, which remembers nothing of it.
  static func live(
    _ bytes: ArraySlice<UInt8>, descriptors: [Int32], namespaces: ServerNamespaces, done: Done, binding deep: Bool
  ) -> Never {
    guard case .spawn(let request)? = try? ServerRequest(decoding: bytes), let channel = descriptors.first else {
      ol_exit_now(70)
    }
    let clones: [Int32]
    do {
      clones = try namespaces.clonePaths(of: request.attachments ?? [], isApart: done.isApart)
    } catch {
      fail(channel, "\(error.call) \(error.subject)", error.code)
    }
    live(
      request, descriptors: descriptors, clones: clones, namespaces: namespaces, done: done, binding: deep)
  }

  private static func live(
    _ request: SpawnRequest, descriptors: [Int32], clones: [Int32], namespaces: ServerNamespaces, done: Done,
    binding deep: Bool
  ) -> Never {
    let beforeNetwork = 3 + (request.sharesMemory ? 1 : 0) + (request.joinsCgroup ? 1 : 0)
    let fixed = beforeNetwork + (request.network == nil ? 0 : 1)
    guard descriptors.count >= fixed else { ol_exit_now(70) }
    if request.joinsCgroup, !done.hasJoinedCgroup, write(descriptors[beforeNetwork - 1], "0", 1) != 1 {
      fail(descriptors[0], "cgroup", errno)
    }
    let memory: CallMemory?
    do {
      // Its descriptor goes with the others: the plugin can neither map it anew nor hand it on.
      memory = request.sharesMemory ? try CallMemory(mapping: descriptors[3]) : nil
    } catch {
      fail(descriptors[0], "\(error.call) \(error.subject)", error.code)
    }
    let template = namespaces.template
    let walls = RunnerWalls(request: request, template: template, isApart: done.isApart)
    do {
      let pairing = try request.network.map { (network) throws(SystemCallError) in
        try RunnerNetwork(wanted: network).open(namespaces, channel: descriptors[beforeNetwork])
      }
      try walls.close(mounts: Array(descriptors[fixed...]), clones: clones)
      try arrangeDescriptors(
        control: descriptors[0], service: descriptors[1], output: descriptors[2],
        meters: done.meters + (pairing.map { [$0] } ?? []),
        keepsOthers: request.keepsDescriptors)
    } catch {
      fail(descriptors[0], "\(error.call) \(error.subject)", error.code)
    }
    setEnvironment(request.environment)
    let listener: Int32
    var namespace: Int32 = -1
    do {
      try walls.limitResources()
      // The host measures while the kernel compiles the filter.
      let meters = done.meters.indices.map { Self.meters + Int32($0) }
      say(.ready, meters)
      for meter in meters { close(meter) }
      if request.network != nil { try keepPairing(at: Self.meters + Int32(meters.count)) }
      // With the host holding on to it, the namespace is taken apart after the process is gone and not before: an RCU
      // grace period that would be the longest part of its end.
      if template != nil { _ = ol_own_mount_namespace(&namespace) }
      listener = try walls.filter()
      if request.tellsFileLimit { try check("sigaction", "SIGXFSZ") { ol_tell_file_limit() } }
    } catch {
      fail(control, "\(error.call) \(error.subject)", error.code)
    }
    let handed = [listener, namespace].filter { $0 >= 0 }
    say(.wallsClosed(.init(failures: [])), handed)
    for descriptor in handed { close(descriptor) }
    var loop = RunnerLoop(deep: deep, memory: memory)
    loop.run()
  }

  /// Says how far it has come, and hands over what the host needs. The kernel refuses descriptors while as many as
  /// the limit on open files are on their way for the same user: those of other runners, for as long as the host is busy.
  private static func say(_ message: RunnerMessage, _ descriptors: [Int32]) {
    let bytes = message.frame(id: 0).encoded()
    for _ in 0..<5000 {
      do {
        return try Sockets.send(control, bytes, descriptors: descriptors)
      } catch {
        guard error.code == ETOOMANYREFS else { break }
        usleep(1000)
      }
    }
    ol_exit_now(70)
  }

  /// Descriptors 0 to 4 in their places, behind them the meters where there are any, and none beside them.
  private static func arrangeDescriptors(
    control: Int32, service: Int32, output: Int32, meters: [Int32], keepsOthers: Bool
  ) throws(SystemCallError) {
    let given = [control, service, output] + meters
    let end = Self.meters + Int32(meters.count)
    // Out of the way first, so that no move closes another one's source.
    let high = try given.map { (descriptor) throws(SystemCallError) in
      try checkErrno("fcntl", "\(descriptor)") { fcntl(descriptor, F_DUPFD_CLOEXEC, end) }
    }
    var places: [(Int32, Int32)] = [(high[0], Self.control), (high[1], Self.service), (high[2], 1), (high[2], 2)]
    places += meters.indices.map { (high[3 + $0], Self.meters + Int32($0)) }
    for (source, target) in places {
      try checkErrno("dup2", "\(target)") { dup2(source, target) }
    }
    if !keepsOthers { try check("close_range", "") { ol_close_from(end) } }
    // What the plugin executes has no channel.
    for channel in [Self.control, Self.service] {
      try checkErrno("fcntl", "\(channel)") { fcntl(channel, F_SETFD, FD_CLOEXEC) }
    }
    try check("sigaction", "") {
      ol_install_stack_handlers(
        Self.control,
        ol_stack_messages(
          site: RunnerMessage.crashedKind, frame: RunnerMessage.stackFrameKind,
          thread_frame: RunnerMessage.threadFrameKind, thread_told: RunnerMessage.threadToldKind))
    }
    signal(SIGXFSZ, SIG_IGN)
    // A process that is killed has no last moment to write its lines in.
    ol_write_lines()
  }

  /// In its place now that the meters have been handed over.
  private static func keepPairing(at descriptor: Int32) throws(SystemCallError) {
    guard descriptor != pairing else { return }
    try checkErrno("dup2", "\(pairing)") { dup2(descriptor, pairing) }
    try checkErrno("fcntl", "\(pairing)") { fcntl(pairing, F_SETFD, FD_CLOEXEC) }
    close(descriptor)
  }

  private static func setEnvironment(_ entries: [String]) {
    clearenv()
    for entry in entries {
      guard let (name, value) = entry.dividedAtEquals else { continue }
      setenv(name, value, 1)
    }
    tzset()
  }

  private static func fail(_ channel: Int32, _ step: String, _ code: Int32) -> Never {
    let frame = RunnerMessage.wallsClosed(.init(failures: [.init(step: step, code: code)])).frame(id: 0)
    try? Sockets.send(channel, frame.encoded())
    ol_exit_now(70)
  }
}
