internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// A job that holds a slot. Network thread only; its lanes do the slow work and report by its run number.
final class ActiveJob {
  var record: JobRecord
  /// Tells this activation from an earlier one of the same job.
  let run: UInt64
  /// What the record said when the activation began.
  let start: Start
  /// What the scheduler counts its transfers against.
  let origin: UInt32
  /// The origin that its last attempt failed at, at the end of however many redirects.
  var failedAt: UInt32?
  let file: JobFile
  var machine = JobMachine()
  /// Times that everything was given up because a server refused the rest, in this activation.
  var restarts = 0
  /// Something was asked of the network.
  var hasRequested = false
  /// A login page was looked for.
  var hasLookedForPortal = false
  var segments: [Segment] = []
  var sources: SourceTable
  /// Whether it was looked at which of them may be asked.
  var hasValidatedSources = false
  var planner = ConnectionPlanner()
  /// Over HTTP/2 its server gave no length.
  var avoidsHTTP2 = false
  var access: Authenticator
  /// Those that redirects set, in memory only.
  var cookies = CookieJar()
  var allowance: Allowance
  var meter: ProgressMeter

  /// Of an activation: when it began, on boot time, and what its record said then.
  struct Start {
    let moment: Duration
    let history: JobHistory
    let generation: Int
    let receivedBytes: Int64
  }

  init(_ record: JobRecord, origin: UInt32, run: UInt64, lanes: JobFile.Lanes, now: Duration) {
    self.record = record
    self.origin = origin
    self.run = run
    start = Start(
      moment: now, history: record.history, generation: record.generation, receivedBytes: record.receivedBytes)
    file = JobFile(lanes, now: now)
    sources = SourceTable(
      url: record.specification.url, mirrors: record.specification.mirrors, banned: record.history.bannedSources)
    access = Authenticator(hasMirrors: sources.urls.count > 1)
    allowance = Allowance()
    meter = ProgressMeter(now)
  }

  var id: JobID { record.id }
  var activation: Activation { Activation(job: record.id, run: run) }

  /// By which the file is found again; `boot`: the one that it was written in.
  func setIdentity(_ identity: FileIdentity, boot: String) {
    record.partial?.stagingName = file.staging?.name ?? ""
    record.partial?.device = identity.device
    record.partial?.inode = identity.inode
    if file.failure == nil { record.partial?.bootIdentifier = boot } else { distrust("") }
  }

  /// The next activation trusts what the journal says of the file, and nothing else.
  func distrust(_ marker: String) {
    if record.partial?.bootIdentifier != Partial.lostPages { record.partial?.bootIdentifier = marker }
  }

  func attempt(until clock: any TransferClock, _ status: Int?, _ outcome: String) -> Attempt {
    Attempt(
      wall: clock.wall, duration: (clock.boot - start.moment).inNanoseconds,
      bytes: record.receivedBytes - start.receivedBytes, status: status, outcome: outcome)
  }

  /// Bytes of the file that have arrived, durable or not.
  var arrivedBytes: Int64 {
    if let chunks = file.chunks {
      return segments.reduce(chunks.arrivedBytes) {
        $0 + chunks.claimedBytes(in: $1.chunks ?? 0..<0, before: $1.writer?.offset ?? $1.start)
      }
    }
    // What is compared with what is there is no part of it.
    return max(file.written.offset, segments.first?.writer?.offset ?? 0)
  }

  var durableBytes: Int64 { file.chunks?.journalledBytes ?? record.partial?.durableOffset ?? 0 }
  /// What a server says may be any number: beyond what is possible it is as good as none, but sums have to stay numbers.
  var total: Int64? {
    let told = record.specification.exactSize ?? record.partial?.entity.total ?? record.specification.declaredSize
    return told.map { min(max(0, $0), DownloadSpecification.largestSize) }
  }

  func progress(_ now: Duration) -> DownloadProgress {
    DownloadProgress(
      received: arrivedBytes, durable: durableBytes, total: total,
      bytesPerSecond: meter.speed.bytesPerSecond(at: now), connections: segments.count)
  }
}
