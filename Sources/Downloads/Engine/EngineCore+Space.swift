internal import AssetModel
internal import Glibc
internal import LinuxSystem

/// Room on volumes: the ledger of what running jobs have still to write, and what happens when it gets short.
extension EngineCore {
  /// Bytes that the volume has still to find for a job, by what it says of the job's file at this moment: blocks that were
  /// preallocated, by this run or an earlier one, are written already, as far as the volume is concerned.
  private func need(of job: ActiveJob) -> Int64 {
    guard !job.isPreallocated, let total = job.total else { return 0 }
    return FreeSpacePolicy.need(total: total, arrived: job.arrivedBytes, allocated: job.file?.allocatedBytes ?? 0)
  }

  /// What the running jobs other than this one have still to write on a volume.
  private func reserved(on device: UInt64, besides id: JobID) -> DiskReservation {
    var sum = DiskReservation()
    for job in active.values where job.id != id && job.destination?.device == device && job.admittedTotal != nil {
      sum.bytes += need(of: job)
      // Compared with nil it would be copied.
      if case nil = job.record.partial { sum.inodes += 1 }
    }
    return sum
  }

  /// What is missing before a job may write the rest of its file; nil: nothing is.
  func shortage(of job: ActiveJob, starts: Bool) -> SpaceShortage? {
    guard let destination = job.destination, let space = try? files.space(of: destination.target.number) else {
      return nil
    }
    let policy = options.freeSpace
    // After the volume: what its file allocates in between is missing from neither.
    let need = need(of: job)
    tell(space, destination)
    func isEnough(_ reserved: DiskReservation) -> Bool {
      policy.allows(
        need: need, free: space.free, reserved: reserved, total: space.total, freeInodes: space.freeInodes,
        isBackground: starts && job.record.transferClass.isBackground)
    }
    // Mostly there is room for more than all of them could want, and nobody need be asked.
    if isEnough(DiskReservation(bytes: admittedBytes, inodes: Int64(active.count))) { return nil }
    let reserved = reserved(on: destination.device, besides: job.id)
    if isEnough(reserved) { return nil }
    return SpaceShortage(
      directory: destination.path, device: destination.device, need: need, free: space.free,
      floor: policy.floor(total: space.total), purgeUntil: policy.purgeTarget(need: need, total: space.total),
      lacksInodes: space.freeInodes.map { $0 <= reserved.inodes } ?? false)
  }

  /// What is missing for a file that is longer than was known when its job was admitted: a server says what it likes,
  /// and nothing of it is taken before there is room for all.
  func shortageOfNews(_ job: ActiveJob) -> SpaceShortage? {
    guard let total = job.total, let admitted = job.admittedTotal, total > admitted else { return nil }
    if let shortage = shortageOfAll(of: job, starts: false) { return shortage }
    note(job, admittedTo: total)
    return nil
  }

  /// Likewise before it starts, or when its length is told. What earlier runs left of it, and no run will go on with, gives
  /// way first.
  func shortageOfAll(of job: ActiveJob, starts: Bool) -> SpaceShortage? {
    guard shortage(of: job, starts: starts) != nil else { return nil }
    let older = stagingNames(job.record.specification, upTo: job.record.generation)
    job.file?.removeUnused(older)
    return shortage(of: job, starts: starts)
  }

  func note(_ job: ActiveJob, admittedTo total: Int64) {
    admittedBytes += total - (job.admittedTotal ?? 0)
    job.admittedTotal = total
  }

  /// A volume refused to take more, whatever it said before.
  func shortage(after job: ActiveJob) -> SpaceShortage {
    // What is verified lacks a name, and no byte.
    let allocated = job.file?.allocatedBytes ?? 0
    let need =
      job.record.state == .verified
      ? 0 : job.total.map { FreeSpacePolicy.need(total: $0, arrived: job.durableBytes, allocated: allocated) } ?? 0
    let space = job.destination.flatMap { try? files.space(of: $0.target.number) }
    return SpaceShortage(
      directory: job.record.specification.directory, device: job.destination?.device ?? 0, need: need,
      free: space?.free ?? 0, floor: options.freeSpace.floor(total: space?.total ?? 0),
      purgeUntil: options.freeSpace.purgeTarget(need: need, total: space?.total ?? 0),
      lacksInodes: space?.freeInodes == 0)
  }

  /// Holds a job until there is room, and asks the owner for some.
  func holdForSpace(_ entry: Scheduler.Entry, _ shortage: SpaceShortage) {
    var volume = volumes[shortage.device] ?? Volume()
    volume.directories.insert(shortage.directory)
    volume.shortages += 1
    volume.leastRefused = min(volume.leastRefused, shortage.need)
    let delay = Self.spaceDelay(after: volume.shortages)
    volume.blockedUntil = clock.boot + delay
    (volume.lastFree, volume.lastFloor) = (shortage.free, shortage.floor)
    if volume.state != .short {
      volume.state = .short
      events.send(.volume(.short(shortage)))
    }
    let asksForRoom = options.makeRoom != nil && !volume.isMakingRoom
    volume.isMakingRoom = volume.isMakingRoom || asksForRoom
    volumes[shortage.device] = volume
    hold(entry, .disk(shortage), until: clock.boot + delay)
    guard asksForRoom, let makeRoom = options.makeRoom else { return }
    let mailbox = mailbox
    Task {
      let hasDeleted = await makeRoom(shortage)
      mailbox.post { core in core.madeRoom(on: shortage.device, hasDeleted: hasDeleted) }
    }
  }

  private func madeRoom(on device: UInt64, hasDeleted: Bool) {
    volumes[device]?.isMakingRoom = false
    // The same question would have the same answer.
    guard hasDeleted else { return }
    volumes[device]?.shortages = 0
    unblock(device)
    for (id, hold) in holds {
      if case .disk(let shortage) = hold.reason, shortage.device == device { release(id) }
    }
  }

  /// 5 s, then twice as long each time, up to a minute.
  private static func spaceDelay(after shortages: Int) -> Duration {
    min(.seconds(60), .seconds(5) * (1 << min(4, shortages - 1)))
  }

  /// The volume is looked at again for whoever comes next.
  private func unblock(_ device: UInt64) {
    volumes[device]?.blockedUntil = .zero
    volumes[device]?.leastRefused = .max
    volumes[device]?.failure = nil
  }

  /// Somebody says that a volume is worth a look.
  func unblockVolume(of hold: Hold) {
    switch hold.reason {
    case .disk(let shortage): unblock(shortage.device)
    case .volume: for device in volumes.keys { unblock(device) }
    default: break
    }
  }

  /// Why a job need not even be opened: its volume is broken, or refused a smaller one a moment ago. A queue of thousands
  /// doesn't look at a full disk one by one.
  func standingHold(_ record: JobRecord, rest: Int64, _ now: Duration) -> (reason: Hold.Reason, until: Duration)? {
    guard
      let (device, volume) = volumes.first(where: { $0.value.directories.contains(record.specification.directory) })
    else { return nil }
    guard volume.blockedUntil > now else {
      unblock(device)
      return nil
    }
    if let code = volume.failure { return (.volume(code), volume.blockedUntil) }
    guard volume.state == .short, rest != .max, rest >= volume.leastRefused, record.transferClass.isBackground else {
      return nil
    }
    let shortage = SpaceShortage(
      directory: record.specification.directory, device: device, need: rest, free: volume.lastFree,
      floor: volume.lastFloor, purgeUntil: rest + volume.lastFloor)
    return (.disk(shortage), volume.blockedUntil)
  }

  /// Tells once when a volume gets low, and once when it isn't any more.
  private func tell(_ space: VolumeSpace, _ destination: Destination) {
    let verdict = options.freeSpace.verdict(free: space.free, total: space.total)
    let before = volumes[destination.device]?.state ?? .plenty
    switch verdict {
    case .plenty:
      guard before != .plenty else { return }
      volumes[destination.device] = nil
      events.send(.volume(.plenty(directory: destination.path)))
    case .low, .short:
      guard before == .plenty else { return }
      volumes[destination.device, default: Volume()].state = .low
      volumes[destination.device]?.directories.insert(destination.path)
      events.send(.volume(.low(directory: destination.path, free: space.free)))
    }
  }

  /// A read-only or dying volume: all its jobs stop, one event tells it, and it is looked at again later.
  func volumeFailed(_ job: ActiveJob, _ code: Int32) {
    settle(job, .hold(.volume(code), Self.volumeDelay))
    guard let device = job.destination?.device else { return }
    if volumes[device]?.state != .failing {
      volumes[device, default: Volume()].state = .failing
      events.send(.volume(.failing(directory: job.record.specification.directory, errno: code)))
    }
    volumes[device]?.directories.insert(job.record.specification.directory)
    volumes[device]?.failure = code
    volumes[device]?.blockedUntil = clock.boot + Self.volumeDelay
    for other in Array(active.values) where other.id != job.id && other.destination?.device == device {
      if other.phase == .transferring || other.phase == .opening {
        settle(other, .hold(.volume(code), Self.volumeDelay))
      }
    }
  }

  static let volumeDelay: Duration = .seconds(30)
}

/// What the engine remembers of a volume that isn't as it should be.
struct Volume {
  enum State { case plenty, low, short, failing }

  var state = State.plenty
  /// Looks at it that found too little.
  var shortages = 0
  /// Of downloads that it was looked at for.
  var directories: Set<String> = []
  /// errno of a volume that fails.
  var failure: Int32?
  /// Until then it isn't looked at again for what it refused.
  var blockedUntil: Duration = .zero
  /// Bytes of the smallest job that had no room, and what was free then.
  var leastRefused: Int64 = .max
  var lastFree: Int64 = 0
  var lastFloor: Int64 = 0
  var isMakingRoom = false
}
