internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Asks a fork server for the runner of a plan: opens its channels, takes its cgroup, attaches its mounts. Loop thread only.
final class RunnerSpawner {
  private let loop: EventLoop
  private let pool: ForkServerPool
  private let cgroups: CgroupSupply
  private let alarm: LaneAlarm
  private let filters: FilterSupply

  init(loop: EventLoop, pool: ForkServerPool, cgroups: CgroupSupply, filters: FilterSupply, alarm: LaneAlarm) {
    self.filters = filters
    self.alarm = alarm
    self.loop = loop
    self.pool = pool
    self.cgroups = cgroups
  }

  /// The run, whose runner the server has been asked for.
  func spawn(
    _ id: UInt64, _ plan: SpawnPlan, _ server: ForkServerClient, _ walls: [Wall: WallState], _ wanted: LoadRequest
  ) throws(HostError) -> Run {
    var cgroup: RunCgroup?
    var usesSpare = false
    var theirs: [Int32] = []
    var isSpawned = false
    defer {
      for descriptor in theirs { close(descriptor) }
      if let cgroup, !usesSpare, !isSpawned { cgroups.giveBack(cgroup) }
    }
    let spare = pool.spare(in: server)
    let channels = try self.channels(of: plan, &theirs)
    let (lane, network, message): (CallLane, RunNetwork?, [UInt8])
    do throws(SystemCallError) {
      lane = try self.lane(of: plan, &theirs)
      usesSpare = spare?.suits(inCgroup: plan.options.hasMemoryCgroup) ?? false
      cgroup = !plan.options.hasMemoryCgroup ? nil : usesSpare ? spare?.itsCgroup : try cgroups.take()
      if let cgroup { theirs.append(try cgroup.procs().release()) }
      network = try self.network(of: plan, &theirs)
      var request = try request(id, plan, server, hasCgroup: cgroup != nil, lane.isShared, &theirs)
      request.suitsSpare = usesSpare
      message = ServerRequest.spawn(request).encoded()
    } catch {
      throw Self.failure(error, plan)
    }
    guard message.count <= ServerRequest.longest else {
      throw .excess(GrantRoom.rejectionReason(bytes: message.count))
    }
    let run = Run(
      id: id, plan: plan, cgroup: cgroup, walls: walls, channels: channels, lane: lane, network: network,
      ticket: wanted.ticket, requested: wanted.requested)
    run.server.client = server
    run.meter.callInode = lane.inode
    do throws(SystemCallError) { try server.spawn(message, descriptors: theirs) } catch {
      throw Self.failure(error, plan)
    }
    isSpawned = true
    if usesSpare { spare?.taken() }
    return run
  }

  private static func failure(_ error: SystemCallError, _ plan: SpawnPlan) -> HostError {
    if OpenFiles.isExhausted(error.code) {
      return .exhausted(DescriptorBudget.sentence(limit: OpenFiles.limit, needed: nil))
    }
    if let outcome = ReplacedFile.outcome(of: error, places: plan.places) { return .ended(.empty(outcome)) }
    return .failed(
      error.description + DetachedMounts.remedy(for: error) + RefusedSystemCall.remedy(for: error.call, error.code))
  }

  private func channels(of plan: SpawnPlan, _ theirs: inout [Int32]) throws(HostError) -> RunChannels {
    do throws(SystemCallError) { return try channels(frameBytes: plan.policy.limits.frameBytes, &theirs) } catch {
      throw Self.failure(error, plan)
    }
  }

  /// `theirs`: the runner's ends.
  private func channels(frameBytes: Int, _ theirs: inout [Int32]) throws(SystemCallError) -> RunChannels {
    let (control, runnersControl) = try Sockets.pair(stream: true)
    let controlEnd = OwnedDescriptor(taking: control)
    theirs.append(runnersControl)
    let (service, runnersService) = try Sockets.pair(stream: true)
    let serviceEnd = OwnedDescriptor(taking: service)
    theirs.append(runnersService)
    let pipe = try Sockets.pipe()
    theirs.append(try pipe.second.duplicate().release())
    return RunChannels(
      control: controlEnd, service: serviceEnd, output: try pipe.first.duplicate(), frameBytes: frameBytes, loop: loop)
  }

  private func lane(of plan: SpawnPlan, _ theirs: inout [Int32]) throws(SystemCallError) -> CallLane {
    let limits = plan.policy.limits
    guard plan.options.sharesMemory, let region = try CallRegion.make() else {
      return CallLane(nil, wallTime: limits.wallTime, frameBytes: limits.frameBytes, alarm: alarm)
    }
    theirs.append(try region.duplicate().release())
    return CallLane(CallLink(region), wallTime: limits.wallTime, frameBytes: limits.frameBytes, alarm: alarm)
  }

  private func network(of plan: SpawnPlan, _ theirs: inout [Int32]) throws(SystemCallError) -> RunNetwork? {
    guard let network = plan.network else { return nil }
    let (mine, runners) = try Sockets.pair(stream: false)
    let channel = OwnedDescriptor(taking: mine)
    theirs.append(runners)
    return RunNetwork(network, channel: channel)
  }

  private func request(
    _ id: UInt64, _ plan: SpawnPlan, _ server: ForkServerClient, hasCgroup: Bool, _ sharesMemory: Bool,
    _ descriptors: inout [Int32]
  ) throws(SystemCallError) -> SpawnRequest {
    let attachments = plan.machine.hidesFiles ? try attachments(of: plan, server.mounts, &descriptors) : nil
    if plan.options.isBare {
      return SpawnRequest(
        run: id, environment: plan.environment, limits: [], landlock: nil, filter: [], hasListener: false,
        isDumpable: true, joinsCgroup: false, sharesMemory: false, attachments: nil, freshPoints: [],
        suitsSpare: false,
        keepsDescriptors: false)
    }
    return SpawnRequest(
      run: id, environment: plan.environment, limits: plan.limits(), landlock: plan.landlock(),
      filter: plan.options.open.contains(.seccomp) ? [] : try filters.program(plan.programOptions).bytes,
      hasListener: plan.expectsListener,
      isDumpable: plan.isReadable, joinsCgroup: hasCgroup,
      sharesMemory: sharesMemory, attachments: attachments, freshPoints: plan.freshPoints, suitsSpare: false,
      network: plan.network?.request, keepsDescriptors: plan.options.open.contains(.descriptors),
      tellsFileLimit: plan.tellsFileLimit)
  }

  /// `descriptors`: those of what the host clones are added, in their order.
  private func attachments(
    of plan: SpawnPlan, _ mounts: DetachedMounts?, _ descriptors: inout [Int32]
  ) throws(SystemCallError) -> [SpawnRequest.Attachment] {
    var list: [SpawnRequest.Attachment] = []
    for part in plan.parts {
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
    return list
  }
}
