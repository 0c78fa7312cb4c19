internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Volumes are asked what is free, and jobs wait until it is enough: what `SpaceLedger` and `Allowance` decide is done here.
/// Network thread only.
final class RoomKeeper: EnginePart {
  unowned let engine: TransferEngine
  var space: SpaceLedger

  init(_ engine: TransferEngine) {
    self.engine = engine
    space = SpaceLedger(policy: engine.options.freeSpace)
  }

  /// Bytes that the volume has still to find for a job, by what it says of the job's file at this moment: blocks that were
  /// preallocated, by this run or an earlier one, are written already, as far as the volume is concerned.
  func need(of job: ActiveJob) -> Int64 {
    guard !job.file.isPreallocated, let total = job.total else { return 0 }
    return FreeSpacePolicy.need(
      total: total, arrived: job.arrivedBytes, allocated: job.file.staging?.allocatedBytes ?? 0)
  }

  /// What the running jobs other than this one have still to write on a volume.
  func reserved(on device: UInt64, besides id: JobID) -> DiskReservation {
    var sum = DiskReservation()
    for job in engine.active.values
    where job.id != id && job.file.destination?.device == device && space.admission(of: job.id) != nil {
      sum.bytes += need(of: job)
      // Compared with nil it would be copied.
      if case nil = job.record.partial { sum.inodes += 1 }
    }
    return sum
  }

  /// What is missing before a job may write the rest of its file; nil: nothing is.
  func shortage(of job: ActiveJob, starts: Bool) -> SpaceShortage? {
    guard let destination = job.file.destination, let free = try? files.space(of: destination.target.number) else {
      return nil
    }
    let place = SpaceLedger.Place(device: destination.device, directory: destination.path)
    // After the volume: what its file allocates in between is missing from neither.
    let need = need(of: job)
    if let report = space.checked(at: place, space: free) { events.send(.volume(report)) }
    return space.shortage(
      need: need, at: place, space: free, isBackground: starts && job.record.transferClass.isBackground,
      running: engine.active.count
    ) { reserved(on: place.device, besides: job.id) }
  }

  /// A volume refused to take more, though it may have said that it had room.
  func shortage(after job: ActiveJob) -> SpaceShortage {
    // What is verified lacks a name, and no byte.
    let allocated = job.file.staging?.allocatedBytes ?? 0
    let need =
      job.record.state == .verified
      ? 0 : job.total.map { FreeSpacePolicy.need(total: $0, arrived: job.durableBytes, allocated: allocated) } ?? 0
    let free = job.file.destination.flatMap { try? files.space(of: $0.target.number) }
    let place = SpaceLedger.Place(
      device: job.file.destination?.device ?? 0, directory: job.record.specification.directory)
    return space.refusal(need: need, at: place, space: free, lacksInodes: free?.freeInodes == 0)
  }

  /// What is missing for a file that is longer than was known when its job was admitted: a server says what it likes,
  /// and nothing of it is taken before there is room for all.
  func shortageOfNews(_ job: ActiveJob) -> SpaceShortage? {
    guard let total = job.total, let admitted = space.admission(of: job.id), total > admitted else { return nil }
    if let shortage = shortageOfAll(of: job, starts: false) { return shortage }
    space.admit(job.id, to: total)
    return nil
  }

  /// Before a job starts, or when its length is told: what earlier runs left of it, and no run will go on with, gives way
  /// first.
  func shortageOfAll(of job: ActiveJob, starts: Bool) -> SpaceShortage? {
    guard shortage(of: job, starts: starts) != nil else { return nil }
    let older = engine.options.stagingNames(job.record.specification, upTo: job.record.generation)
    job.file.staging?.removeUnused(older)
    return shortage(of: job, starts: starts)
  }

  /// Holds a job until there is room, and asks the owner for some.
  func holdForSpace(_ entry: Scheduler.Entry, _ shortage: SpaceShortage) {
    let refusal = space.refused(shortage, now: clock.boot, canAsk: engine.options.makeRoom != nil)
    if let report = refusal.report { events.send(.volume(report)) }
    engine.hold(entry, .disk(shortage), until: refusal.until)
    guard refusal.asksForRoom, let makeRoom = engine.options.makeRoom else { return }
    let mailbox = mailbox
    Task {
      let hasDeleted = await makeRoom(shortage)
      mailbox.post(.control(.madeRoom(onDevice: shortage.device, hasDeleted: hasDeleted)))
    }
  }

  func madeRoom(on device: UInt64, hasDeleted: Bool) {
    guard space.madeRoom(on: device, hasDeleted: hasDeleted) else { return }
    for (id, hold) in engine.holds {
      if case .disk(let shortage) = hold.reason, shortage.device == device { engine.release(id) }
    }
  }
}
