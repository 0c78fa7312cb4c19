import AssetModel
import AssetStore
import Downloads
import Glibc
import LinuxSystem
import Synchronization

/// Fetches one file and dies by SIGKILL at the nth operation that leaves a trace. Its arguments: the folder, the URL, the
/// number (0: never), and whether the operation itself is still done (`after`) or not (`before`; half of a write is).
@main
enum InterruptedFetch {
  static func main() async throws {
    let arguments = CommandLine.arguments
    let folder = arguments[1]
    let fuse = Fuse(at: Int(arguments[3]) ?? 0, Fuse.Manner(rawValue: arguments[4]) ?? .before)
    let store = try AssetStore(opening: "\(folder)/state")
    var addresses = AddressPolicy()
    addresses.allowsLoopback = true
    var hosts = HostRules()
    hosts.allowsPlainHTTPToLoopback = true
    var options = EngineOptions(transport: TransportOptions(addresses: addresses, hosts: hosts))
    options.freeSpace = FreeSpacePolicy(minimum: 0, percent: 0)
    // Otherwise what an earlier run left could be settled before it is asked for.
    options.takesUpOpenJobs = false
    let engine = try DownloadEngine(
      journal: InterruptedJournal(store: store, fuse: fuse), options: options, clock: HurriedClock(),
      files: InterruptedFiles(fuse: fuse))
    let events = engine.events
    let specification = DownloadSpecification(
      app: "app", identifier: "file", url: arguments[2], transferClass: .background, directory: folder, fileName: "file"
    )
    if try store.job(app: "app", identifier: "file")?.state != .finished {
      if case .alreadyScheduled(let id) = try await engine.add([specification])[0] { engine.resume(id) }
      for await event in events {
        if case .finished = event { break }
        if case .failed(_, let failure) = event {
          print("\(failure)")
          exit(1)
        }
      }
    }
    await engine.close()
    try store.close()
    print("operations \(fuse.count)")
  }
}

/// Counts operations; at its number the process is gone.
final class Fuse: Sendable {
  enum Manner: String { case before, after }

  private let number: Int
  private let manner: Manner
  private let counter = Atomic<Int>(0)

  init(at number: Int, _ manner: Manner) {
    self.number = number
    self.manner = manner
  }

  var count: Int { counter.load(ordering: .relaxed) }

  func around<T, E: Error>(half: () -> Void = {}, _ operation: () throws(E) -> T) throws(E) -> T {
    let isIt = counter.add(1, ordering: .relaxed).newValue == number
    if isIt, manner == .before {
      half()
      kill(getpid(), SIGKILL)
    }
    // One that fails is over as well.
    defer { if isIt { kill(getpid(), SIGKILL) } }
    return try operation()
  }
}

/// A hundred seconds pass in one, so that checkpoints come while a small file is fetched.
struct HurriedClock: TransferClock {
  private let clock = SystemClock()
  var boot: Duration { clock.boot * 100 }
  var wall: Int64 { clock.wall }
  var bootIdentifier: String { clock.bootIdentifier }
}

struct InterruptedJournal: DownloadJournal {
  let store: AssetStore
  let fuse: Fuse

  func add(_ specifications: [DownloadSpecification], now: StoredMoment) throws -> [AddResult] {
    try fuse.around { () throws in try store.add(specifications, now: now) }
  }

  func commit(_ changes: [JournalChange]) throws { try fuse.around { () throws in try store.commit(changes) } }
  func reserve(_ bytes: Int64, for job: JobID) throws -> Int64? {
    try fuse.around { () throws in try store.reserve(bytes, for: job) }
  }
  func job(_ id: JobID) throws -> JobRecord? { try store.job(id) }
  func job(app: String, identifier: String) throws -> JobRecord? { try store.job(app: app, identifier: identifier) }
  func forEachOpenJob(_ body: (JobSummary) -> Void) throws { try store.forEachOpenJob(body) }
  func origins() throws -> [OriginRecord] { try store.origins() }
}

struct InterruptedFiles: FileOperations {
  private let system = SystemFiles()
  let fuse: Fuse

  init(fuse: Fuse) { self.fuse = fuse }

  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  {
    let number = try fuse.around { () throws(SystemCallError) in
      try system.open(name, in: directory, flags, mode: mode).release()
    }
    return OwnedDescriptor(taking: number)
  }

  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.makeDirectory(name, in: directory, mode: mode) }
  }

  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
    try fuse.around(
      half: {
        _ = try? system.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), to: file, at: offset)
      },
      { () throws(SystemCallError) in try system.write(bytes, to: file, at: offset) })
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  {
    try system.read(buffer, from: file, at: offset)
  }

  func status(of file: Int32) throws(SystemCallError) -> FileIdentity { try system.status(of: file) }

  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.setMode(mode, of: file) }
  }

  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.truncate(file, to: size) }
  }

  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.preallocate(file, from: offset, count: count) }
  }

  func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {
    fuse.around { system.startWriteback(file, from: offset, count: count) }
  }

  func synchronizeData(_ file: Int32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.synchronizeData(file) }
  }

  func synchronize(_ file: Int32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.synchronize(file) }
  }

  func synchronizeVolume(of file: Int32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.synchronizeVolume(of: file) }
  }

  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in
      try system.rename(name, in: directory, to: newName, in: newDirectory)
    }
  }

  func remove(_ name: String, in directory: Int32) throws(SystemCallError) {
    try fuse.around { () throws(SystemCallError) in try system.remove(name, in: directory) }
  }

  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace { try system.space(of: file) }
}
