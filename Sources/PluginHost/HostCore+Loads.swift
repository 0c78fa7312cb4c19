internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox
internal import Synchronization

/// What a caller wants to have loaded.
struct LoadRequest: Sendable {
  var image: PluginImage
  var policy: Policy
  var options: PluginHost.LoadOptions
  var isBare: Bool
  var proof: [Canary.Finding]
  /// The folders that the caller named, as they were found; none: one that the host makes.
  var containers: [(group: String, folder: PluginImage.File)] = []
  /// How long the host read the files, which is a part of the load's wall time.
  var reading = Duration.zero
  let ticket = CallTicket()
  let requested = BootClock.now
}

/// From a request for a plugin to its runner.
extension HostCore {
  func begin(_ request: LoadRequest, _ completion: @escaping @Sendable (Result<Plugin, HostError>) -> Void) {
    if request.isBare, let bareServer { return begin(request, .success(bareServer), completion) }
    if !request.isBare, !isCold {
      return begin(request, Result { () throws(HostError) in try forkServer() }, completion)
    }
    // Others have deadlines meanwhile.
    workers.submit { [self] in
      let started = Result { () throws(HostError) in try startServer(isBare: request.isBare) }
      loop.submit { [self] in
        let server = Result { () throws(HostError) in try adopt(started.get(), isBare: request.isBare) }
        begin(request, server, completion)
      }
    }
  }

  /// With the server that is to make its runner, or why there is none.
  private func begin(
    _ request: LoadRequest, _ server: Result<ForkServerClient, HostError>,
    _ completion: @escaping @Sendable (Result<Plugin, HostError>) -> Void
  ) {
    let id = nextRun
    nextRun += 1
    let (image, policy, options, isBare) = (request.image, request.policy, request.options, request.isBare)
    do throws(HostError) {
      guard !request.ticket.isCancelled else { throw .cancelled }
      let server = try server.get()
      try admit(request)
      if isCold, !isBare { coldServers[id] = server }
      var containers = request.containers.map { ($0.group, $0.folder.path, Optional($0.folder.identity)) }
      if containers.isEmpty { containers = [("", try makeContainer(run: id, server: server), nil)] }
      let writable = RunPath.writableFolders(of: policy, containers: containers.map(\.1))
      let manifest = try options.manifest.map { (path) throws(HostError) in
        try Manifest.open(path, writable: writable)
      }
      try check(policy)
      var plan = self.plan(image, policy, containers: containers, manifest: manifest)
      plan.writable = writable
      try checkName(of: plan)
      plan.grants = try Grant.all(of: policy, writable: writable, machine: plan.machine)
      try LateCode.check(plan)
      try refuseRootWithoutWalls(plan.machine)
      if isBare {
        let machine = Machine(landlockABI: 0, hasListener: false, hello: server.hello)
        plan = SpawnPlan(
          image: image, policy: policy, containers: GroupContainers(containers, hidesFiles: machine.hidesFiles),
          manifest: manifest, machine: machine)
      }
      plan.open = options.withoutWalls
      plan.showsPrivate = options.showsPrivate
      plan.reading = request.reading
      plan.hasMemoryCgroup = cgroups != nil && !isBare && !plan.open.contains(.cgroup)
      try checkCount(plan)
      let walls = plan.walls(cgroup: cgroupState, proof: request.proof)
      try require(policy, walls)
      let run = try spawn(id, plan, server, walls, request.requested)
      run.isExtension = options.isExtension
      if let services = options.services {
        run.relay = ServiceRelay(services, loop: loop) { [weak run] in run?.deliver($0) }
      }
      let places = plan.containers
      names.withLock { $0[id] = plan.view }
      run.start(request.ticket) { [self] result in
        switch result {
        case .success(let image):
          completion(.success(Plugin(core: self, run: id, image: image, containers: places)))
        case .failure(let error):
          forget(id) { completion(.failure(error)) }
        }
      }
    } catch {
      forget(id) { completion(.failure(error)) }
    }
  }

  /// What no file says, but a program may.
  private func check(_ policy: Policy) throws(HostError) {
    for (name, action) in policy.onDenied {
      if let rejectionReason = Policy.rejectionReason(for: action, of: name) {
        throw .usage("onDenied: \(rejectionReason)")
      }
    }
    if let rejectionReason = policy.limits.rejectionReason { throw .usage(rejectionReason) }
    let most = Files.maxOpen
    // The default is nobody's wish.
    guard policy.limits.openFiles <= most || policy.limits.openFiles == Limits().openFiles else {
      throw .usage("openFiles is \(policy.limits.openFiles), but this user may have at most \(most) (ulimit -Hn)")
    }
  }

  /// What is loaded has to be what was opened: the loader puts other names in the place of `$LIB` and the like (ld.so(8)).
  private func checkName(of plan: SpawnPlan) throws(HostError) {
    guard !plan.view.library.utf8.contains(UInt8(ascii: "$")) else {
      throw .input(
        "\(plan.image.library.path): the loader takes '$' in a library's path for more than a name; rename it")
    }
  }

  private static func refuseRoot(as found: FileIdentity) throws(HostError) {
    guard let root = try? Files.identity(of: "/") else { return }
    guard (root.device, root.inode) != (found.device, found.inode) else {
      throw .usage("the container leads to /, which is everything; name a folder of the plugin's own")
    }
  }

  /// A host that maps owners sends a descriptor for each file, and no more than so many go with one request.
  private func checkCount(_ plan: SpawnPlan) throws(HostError) {
    guard mounts != nil, plan.machine.hidesFiles else { return }
    let granted = plan.grants.count
    // Channels, output, cgroup; bundle, library, containers and manifest.
    let most = Int(OL_MOST_DESCRIPTORS) - 7 - plan.containers.places.count - plan.image.neighbours.count
    guard granted <= most else {
      throw .usage(
        "the policy grants \(granted) paths ('read', 'write' and 'libraries'), and as root at most \(most) fit a request; grant folders that hold them"
      )
    }
  }

  /// Root's runners have an id of their own only in a user namespace. Without one they have root's, and root's files are
  /// theirs unless something hides or guards them.
  private func refuseRootWithoutWalls(_ machine: Machine) throws(HostError) {
    guard geteuid() == 0, machine.lacks("user"), !machine.hidesFiles, machine.landlockABI == 0 else { return }
    throw .ended(
      .empty(
        Outcome(
          .wallUnavailable,
          "as root, without user namespaces and without Landlock nothing keeps a plugin from root's files; run as an ordinary user"
        )))
  }

  private func require(_ policy: Policy, _ walls: [Wall: WallState]) throws(HostError) {
    for wall in policy.require.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let state = walls[wall], state.state != .full else { continue }
      var report = RunReport.empty(
        Outcome(
          .wallUnavailable, "the policy requires \(wall.rawValue), which is \(state.state.rawValue): \(state.detail)"))
      report.walls = walls
      throw .ended(report)
    }
  }

  private func makeContainer(run: UInt64, server: ForkServerClient) throws(HostError) -> String {
    do throws(SystemCallError) {
      let folder = try Janitor.makeFolder(start: processStart)
      folders[run] = folder
      // Its own owner needs no id map.
      if server.hasOwnIdentity { try checkErrno("chown", folder) { chown(folder, server.uid, server.gid) } }
      return folder
    } catch {
      throw .failed(
        "\(error.subject): no folder can be made for the plugin to write in: \(SystemCallError.message(error.code)); make that possible, or name a folder (--container)"
      )
    }
  }

  /// On the caller's thread: plugins write there, so they may hold any number of files.
  static func open(
    containersOf options: PluginHost.LoadOptions, _ policy: Policy
  ) throws(HostError) -> [(group: String, folder: PluginImage.File)] {
    var wanted = options.containers.map { (group: $0.group, path: $0.path) }
    if let path = options.container {
      guard wanted.isEmpty else { throw .usage("name either one container, or one for each app group") }
      wanted = [("", path)]
    }
    if let rejectionReason = GroupContainers.rejectionReason(for: wanted.map(\.group)) { throw .usage(rejectionReason) }
    var opened: [(group: String, folder: PluginImage.File)] = []
    for (group, path) in wanted {
      // A plugin that may write to one may have made the way to another.
      let writable = RunPath.writableFolders(of: policy, containers: []) + opened.map(\.folder.identity)
      opened.append((group, try open(container: path, writable: writable)))
    }
    return opened
  }

  private static func open(container path: String, writable: [FileIdentity]) throws(HostError) -> PluginImage.File {
    let named = try RunPath(opening: path, writable: writable)
    guard named.identity.isDirectory else { throw .input("\(path): \(SystemCallError.message(ENOTDIR))") }
    try refuseRoot(as: named.identity)
    try named.mark()
    StagedFile.sweep(named.path)
    return PluginImage.File(path: named.path, identity: named.identity)
  }

  private func spawn(
    _ id: UInt64, _ plan: SpawnPlan, _ server: ForkServerClient, _ walls: [Wall: WallState], _ requested: Duration
  ) throws(HostError) -> Run {
    var cgroup: RunCgroup?
    var usesSpare = false
    var theirs: [Int32] = []
    var mine: [Int32] = []
    defer { for descriptor in theirs { close(descriptor) } }
    do throws(SystemCallError) {
      for _ in 0..<2 {
        let (host, runner) = try Sockets.pair(stream: true)
        mine.append(host)
        theirs.append(runner)
      }
      let pipe = try Sockets.pipe()
      mine.append(try pipe.first.duplicate().release())
      theirs.append(try pipe.second.duplicate().release())
      usesSpare = hasSpare(of: server, inCgroup: plan.hasMemoryCgroup)
      cgroup = !plan.hasMemoryCgroup ? nil : usesSpare ? spareCgroup : try cgroups?.take()
      if let cgroup { theirs.append(try cgroup.procs().release()) }
      var request = try self.request(id, plan, server, hasCgroup: cgroup != nil, &theirs)
      request.suitsSpare = usesSpare
      let message = ServerRequest.spawn(request).encoded()
      guard message.count <= ServerRequest.longest else {
        throw SystemCallError("sendmsg", code: EMSGSIZE, subject: "\(message.count)")
      }
      let run = Run(
        id: id, plan: plan, loop: loop, cgroup: cgroup, walls: walls, control: mine[0], service: mine[1],
        output: mine[2], requested: requested)
      run.server = server
      run.isAlone = { [weak self] in self?.runs.values.allSatisfy { $0.id == id || $0.report != nil } ?? false }
      run.onRest = { [weak self] in self?.rest() }
      run.onEnd = { [weak self, cgroup] in if let cgroup { self?.cgroups?.giveBack(cgroup) } }
      try server.spawn(message, descriptors: theirs)
      runs[id] = run
      if usesSpare { spareIsTaken() }
      return run
    } catch {
      if let cgroup, !usesSpare { cgroups?.giveBack(cgroup) }
      for descriptor in mine { close(descriptor) }
      guard error.code != EMSGSIZE else {
        throw .usage(Grant.tooMany(bytes: Int(error.subject) ?? 0))
      }
      guard !OpenFiles.isExhausted(error.code) else {
        throw .exhausted(DescriptorBudget.sentence(limit: OpenFiles.limit, needed: nil))
      }
      if let outcome = ReplacedFile.outcome(of: error, places: plan.places) { throw .ended(.empty(outcome)) }
      throw .failed(error.description + DetachedMounts.remedy(for: error))
    }
  }

  private func request(
    _ id: UInt64, _ plan: SpawnPlan, _ server: ForkServerClient, hasCgroup: Bool, _ descriptors: inout [Int32]
  ) throws(SystemCallError) -> SpawnRequest {
    var attachments: [SpawnRequest.Attachment]?
    if plan.machine.hidesFiles {
      var list: [SpawnRequest.Attachment] = []
      for part in plan.parts(containers: try plan.containerFolders()) {
        let source: SpawnRequest.Attachment.Source
        if let file = part.file {
          if let mounts {
            descriptors.append(try mounts.clone(file, mustMap: part.mustMap).release())
            source = .descriptor
          } else {
            source = .path(file.path, device: file.identity.device, inode: file.identity.inode)
          }
        } else {
          source = .memory(bytes: part.memory)
        }
        list.append(
          .init(source: source, target: part.target, attributes: part.attributes, createsFile: part.createsFile))
      }
      attachments = list
    }
    if server === bareServer {
      return SpawnRequest(
        run: id, environment: plan.environment, limits: [], landlock: nil, filter: [], hasListener: false,
        isDumpable: false, joinsCgroup: false, attachments: nil, freshPoints: [], suitsSpare: false,
        keepsDescriptors: false)
    }
    return SpawnRequest(
      run: id, environment: plan.environment, limits: plan.limits(), landlock: plan.landlock(),
      filter: plan.open.contains(.seccomp) ? [] : try program(plan.programOptions),
      hasListener: plan.machine.hasListener && !plan.open.contains(.seccomp),
      isDumpable: plan.policy.observesFiles && geteuid() != 0, joinsCgroup: hasCgroup, attachments: attachments,
      freshPoints: plan.freshPoints, suitsSpare: false, keepsDescriptors: plan.open.contains(.descriptors))
  }

  private func program(_ options: SeccompProgram.Options) throws(SystemCallError) -> [UInt8] {
    if let known = programs[options] { return known }
    do throws(SeccompProgram.CompileError) {
      let bytes = try SeccompProgram(options).bytes
      programs[options] = bytes
      return bytes
    } catch {
      throw SystemCallError("seccomp", code: EINVAL, subject: "compile: \(error)")
    }
  }
}
