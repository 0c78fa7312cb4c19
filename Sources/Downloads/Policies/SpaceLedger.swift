internal import AssetModel
internal import LinuxSystem

/// Room on volumes: what running jobs were admitted for, which volumes refused to take more, and who is told of it. A pure value:
/// its owner asks the volumes (statvfs(3)) and carries out what it decides. Sizes are bytes, times are boot time.
struct SpaceLedger {
  /// Where a job's file goes.
  struct Place: Equatable {
    /// The volume's device number (stat(2)).
    var device: UInt64
    var directory: String
  }

  /// What follows when a job finds too little room.
  struct Refusal: Equatable {
    /// When the volume is looked at again.
    var until: Duration
    /// An event, where it is news.
    var report: VolumeReport?
    /// The owner is asked to delete something.
    var asksForRoom: Bool
  }

  var policy: FreeSpacePolicy
  /// By device number; those that have room and work aren't in it.
  private var volumes: [UInt64: Volume] = [:]
  private var admitted: [JobID: Int64] = [:]
  /// The sum of what running jobs were admitted for: never less than what they have still to write.
  private(set) var admittedBytes: Int64 = 0

  /// Until a volume that fails is looked at again.
  static let failureDelay: Duration = .seconds(30)

  init(policy: FreeSpacePolicy) { self.policy = policy }

  // MARK: Admission

  /// Bytes that the job's file was to have when there was room for it; nil: it wasn't admitted.
  func admission(of job: JobID) -> Int64? { admitted[job] }

  mutating func admit(_ job: JobID, to total: Int64) {
    admittedBytes += total - (admitted[job] ?? 0)
    admitted[job] = total
  }

  mutating func release(_ job: JobID) { admittedBytes -= admitted.removeValue(forKey: job) ?? 0 }

  /// What is missing before a job may write what it needs; nil: nothing is. `running`: jobs that hold a slot. `reserved`: what
  /// those besides this one have still to write on its volume; asked for only where their admissions leave too little.
  func shortage(
    need: Int64, at place: Place, space: VolumeSpace, isBackground: Bool, running: Int,
    reserved: () -> DiskReservation
  ) -> SpaceShortage? {
    func isEnough(_ reserved: DiskReservation) -> Bool {
      policy.allows(
        need: need, free: space.free, reserved: reserved, total: space.total, freeInodes: space.freeInodes,
        isBackground: isBackground)
    }
    if isEnough(DiskReservation(bytes: admittedBytes, inodes: Int64(running))) { return nil }
    let reserved = reserved()
    if isEnough(reserved) { return nil }
    var shortage = refusal(
      need: need, at: place, space: space, lacksInodes: space.freeInodes.map { $0 <= reserved.inodes } ?? false)
    if isBackground { shortage.backgroundFloor = policy.backgroundFloor(total: space.total) }
    shortage.reserved = reserved.bytes
    return shortage
  }

  /// A volume refused to take more, though it may have said that it had room. `space`: nil when it doesn't say.
  func refusal(need: Int64, at place: Place, space: VolumeSpace?, lacksInodes: Bool) -> SpaceShortage {
    let total = space?.total ?? 0
    return SpaceShortage(
      directory: place.directory, device: place.device, need: need, free: space?.free ?? 0,
      floor: policy.floor(total: total), purgeUntil: policy.purgeTarget(need: need, total: total),
      lacksInodes: lacksInodes)
  }

  // MARK: Volumes

  /// A volume's free space was asked for. Returns a report when it becomes low, and one when it isn't low any more.
  mutating func checked(at place: Place, space: VolumeSpace) -> VolumeReport? {
    let before = volumes[place.device]?.state ?? .plenty
    switch policy.verdict(free: space.free, total: space.total) {
    case .plenty:
      guard before != .plenty else { return nil }
      volumes[place.device] = nil
      return .plenty(directory: place.directory)
    case .low, .short:
      guard before == .plenty else { return nil }
      volumes[place.device, default: Volume()].state = .low
      volumes[place.device]?.directories.insert(place.directory)
      return .low(directory: place.directory, free: space.free)
    }
  }

  /// A job waits until there is room. `canAsk`: the owner of files may be asked to delete some.
  mutating func refused(_ shortage: SpaceShortage, now: Duration, canAsk: Bool) -> Refusal {
    var volume = volumes[shortage.device] ?? Volume()
    volume.directories.insert(shortage.directory)
    volume.shortages += 1
    volume.smallestRefused = min(volume.smallestRefused, shortage.need)
    volume.blockedUntil = now + Self.delay(after: volume.shortages)
    (volume.lastFree, volume.lastFloor) = (shortage.free, shortage.floor)
    (volume.lastBackgroundFloor, volume.lastReserved) = (shortage.backgroundFloor, shortage.reserved)
    let isNews = volume.state != .short
    volume.state = .short
    let asksForRoom = canAsk && !volume.isMakingRoom
    volume.isMakingRoom = volume.isMakingRoom || asksForRoom
    volumes[shortage.device] = volume
    return Refusal(
      until: volume.blockedUntil, report: isNews ? .short(shortage) : nil, asksForRoom: asksForRoom)
  }

  /// 5 s, then twice as long each time, up to a minute.
  private static func delay(after shortages: Int) -> Duration {
    min(.seconds(60), .seconds(5) * (1 << min(4, shortages - 1)))
  }

  /// The owner of files was asked to make room, and has answered. Whether the volume is worth another look: without a deletion the same
  /// question would have the same answer.
  mutating func madeRoom(on device: UInt64, hasDeleted: Bool) -> Bool {
    volumes[device]?.isMakingRoom = false
    guard hasDeleted else { return false }
    volumes[device]?.shortages = 0
    unblock(device)
    return true
  }

  /// The next job asks the volume again.
  mutating func unblock(_ device: UInt64) {
    volumes[device]?.blockedUntil = .zero
    volumes[device]?.smallestRefused = .max
    volumes[device]?.failure = nil
  }

  /// The room that a job waits for is to be checked now.
  mutating func unblock(for reason: Hold.Reason) {
    switch reason {
    case .disk(let shortage): unblock(shortage.device)
    case .volume: for device in volumes.keys { unblock(device) }
    default: break
    }
  }

  /// Why a job need not even be opened: its volume is broken, or refused a smaller one a moment ago. A queue of thousands
  /// doesn't look at a full disk one by one. `remaining`: bytes that it has still to write; `.max` where that isn't known.
  mutating func standingHold(
    directory: String, remaining: Int64, isBackground: Bool, now: Duration
  ) -> (reason: Hold.Reason, until: Duration)? {
    guard let (device, volume) = volumes.first(where: { $0.value.directories.contains(directory) }) else { return nil }
    guard volume.blockedUntil > now else {
      unblock(device)
      return nil
    }
    if let code = volume.failure { return (.volume(code), volume.blockedUntil) }
    guard volume.state == .short, remaining != .max, remaining >= volume.smallestRefused, isBackground else {
      return nil
    }
    var shortage = SpaceShortage(
      directory: directory, device: device, need: remaining, free: volume.lastFree, floor: volume.lastFloor,
      purgeUntil: remaining + volume.lastFloor)
    (shortage.backgroundFloor, shortage.reserved) = (volume.lastBackgroundFloor, volume.lastReserved)
    return (.disk(shortage), volume.blockedUntil)
  }

  /// A read-only or dying volume is looked at again after `failureDelay`. `code`: errno. What is told, where it is news.
  mutating func failed(at place: Place, code: Int32, now: Duration) -> VolumeReport? {
    let isNews = volumes[place.device]?.state != .failing
    volumes[place.device, default: Volume()].state = .failing
    volumes[place.device]?.directories.insert(place.directory)
    volumes[place.device]?.failure = code
    volumes[place.device]?.blockedUntil = now + Self.failureDelay
    return isNews ? .failing(directory: place.directory, errno: code) : nil
  }
}

/// What is remembered of a volume that isn't as it should be.
private struct Volume {
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
  var smallestRefused: Int64 = .max
  var lastFree: Int64 = 0
  var lastFloor: Int64 = 0
  /// Where it was a background one.
  var lastBackgroundFloor: Int64?
  var lastReserved: Int64 = 0
  var isMakingRoom = false
}
