import AssetModel
import AssetStore
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

/// The kernel's file operations, of which the nth fails: before it happens or just after.
final class FailingFiles: FileOperations {
  struct Plan: Sendable {
    var number: Int
    var happens: Bool
  }
  private let system = SystemFiles()
  private let plan: Plan?
  private let count = Mutex(0)
  private let watch: (number: Int, body: @Sendable () -> Void)?

  init(_ plan: Plan?) { (self.plan, watch) = (plan, nil) }

  /// Nothing fails, but something else happens just before the nth.
  init(before number: Int, _ body: @escaping @Sendable () -> Void) { (plan, watch) = (nil, (number, body)) }
  var operations: Int { count.withLock { $0 } }

  private func perform<T: ~Copyable>(_ body: () throws(SystemCallError) -> T) throws(SystemCallError) -> T {
    let number = count.withLock { count in
      count += 1
      return count
    }
    if let watch, watch.number == number { watch.body() }
    if let plan, plan.number == number {
      if plan.happens { _ = try body() }
      throw SystemCallError("injected", code: EIO, subject: "\(number)")
    }
    return try body()
  }

  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  {
    try perform { () throws(SystemCallError) in try system.open(name, in: directory, flags, mode: mode) }
  }
  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.makeDirectory(name, in: directory, mode: mode) }
  }
  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
    try perform { () throws(SystemCallError) in try system.write(bytes, to: file, at: offset) }
  }
  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  {
    try perform { () throws(SystemCallError) in try system.read(buffer, from: file, at: offset) }
  }
  func status(of file: Int32) throws(SystemCallError) -> FileIdentity {
    try perform { () throws(SystemCallError) in try system.status(of: file) }
  }
  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.setMode(mode, of: file) }
  }
  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.truncate(file, to: size) }
  }
  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.preallocate(file, from: offset, count: count) }
  }
  func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {}
  func synchronizeData(_ file: Int32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.synchronizeData(file) }
  }
  func synchronize(_ file: Int32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.synchronize(file) }
  }
  func synchronizeVolume(of file: Int32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.synchronizeVolume(of: file) }
  }
  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in
      try system.rename(name, in: directory, to: newName, in: newDirectory)
    }
  }
  func remove(_ name: String, in directory: Int32) throws(SystemCallError) {
    try perform { () throws(SystemCallError) in try system.remove(name, in: directory) }
  }
  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace {
    try perform { () throws(SystemCallError) in try system.space(of: file) }
  }
}

@Suite(.ownThreads, .timeLimit(.minutes(1))) struct PurgeTests {
  /// A store with finished files of one kilobyte each.
  static func finished(_ count: Int, in folder: AssetStoreTests.Folder) throws -> AssetStore {
    try FileManager.default.createDirectory(atPath: "\(folder.path)/files", withIntermediateDirectories: false)
    let store = try AssetStore(opening: folder.path)
    for number in 0..<count {
      let path = "\(folder.path)/files/\(number)"
      _ = FileManager.default.createFile(atPath: path, contents: Data(count: 1024))
      let specification = DownloadSpecification(
        app: "app", identifier: "\(number)", url: "https://a.example/", transferClass: .background,
        directory: "\(folder.path)/files", fileName: "\(number)")
      let id = try #require(try store.add([specification], now: AssetStoreTests.moment())[0].job)
      var job = try #require(try store.job(id))
      job.state = .finished
      job.publishedInode = try Files.identity(of: path).inode
      job.finalSize = 1024
      try store.commit([.job(job)])
    }
    return store
  }

  @Test("F-53 a crash at any operation of a purge is finished at the next start") func crash() throws {
    var number = 0
    var reached = true
    while reached {
      number += 1
      for happens in [false, true] {
        let folder = try AssetStoreTests.Folder()
        let files = FailingFiles(.init(number: number, happens: happens))
        do {
          let store = try Self.finished(2, in: folder)
          let plan = try store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
          reached = try store.removal.purge(plan, files: files).failure != nil
          #expect(reached == (files.operations >= number))
        }
        let store = try AssetStore(opening: folder.path)
        #expect(store.recovery.wasChecked)
        _ = try store.removal.replayTombstones()
        #expect(try store.removal.replayTombstones() == PurgeReport(), "a second time changes nothing")
        let names = try Files.names(in: "\(folder.path)/files")
        #expect(try store.files.all().map(\.name) == names, "operation \(number), \(happens)")
        for id in 1...2 as ClosedRange<Int64> {
          let file = try #require(try store.files.file(of: JobID(id)))
          #expect(file.size == 1024 && (file.state == .present) == names.contains(file.name))
        }
        #expect(try store.removal.reconcile(staging: []).missing.isEmpty)
      }
    }
    #expect(number > 8)
  }

  @Test("F-53 what is pinned, exchanged or in a callback stays [B59]") func whatIsPinnedOrExchangedStays() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try Self.finished(3, in: folder)
    let plan = try store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    // Pinned, exchanged and in a callback after the plan was made.
    try store.files.pin(file: plan[0].file ?? 0, connection: 7, reason: "lease")
    let path = "\(folder.path)/files/1"
    try FileManager.default.moveItem(atPath: path, toPath: "\(folder.path)/moved")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "\(folder.path)/moved")
    try store.deliveries.begin(of: JobID(3), to: "app")
    let report = try store.removal.purge(plan)
    #expect(report.removed == 0 && report.skipped == 2 && report.exchanged == [path])
    #expect(try Files.names(in: "\(folder.path)/files") == ["0", "1", "2"])
    #expect(FileManager.default.fileExists(atPath: "\(folder.path)/moved"))
    try store.files.unpinAll(connection: 7)
    #expect(try store.deliveries.acknowledge(of: JobID(3), fileMoved: true) == .consumed)
    #expect(try store.removal.purge(plan).removed == 2)
  }

  @Test func theOrderIsTheRules() {
    func candidate(
      _ name: String, _ kind: PurgeCandidate.Kind, pinned: Bool = false, marked: Bool = true, preservation: Int = 0,
      use: Int64 = 0, launch: Bool = false
    ) -> PurgeCandidate {
      PurgeCandidate(
        kind: kind, directory: "/", name: name, inode: 1, size: 10, isPinned: pinned, isPurgeable: marked,
        preservation: preservation, lastUse: use, isNeededForLaunch: launch)
    }
    let all = [
      candidate("launch", .finished, preservation: -5, launch: true), candidate("high", .finished, preservation: 9),
      candidate("recent", .finished, use: 5), candidate("old", .finished, use: 1),
      candidate("partial", .partialWithoutJob), candidate("orphan", .orphan), candidate("quarantine", .quarantined),
      candidate("pinned", .quarantined, pinned: true), candidate("own", .finished, marked: false),
    ]
    let order = ["quarantine", "orphan", "partial", "old", "recent", "high", "launch"]
    #expect(PurgePlanner.order(all.shuffled()).map(\.name) == order)
    for needed in 0...8 {
      let plan = PurgePlanner.plan(all, free: 100, target: 100 + Int64(needed * 10))
      #expect(plan.map(\.name) == Array(order.prefix(needed)))
    }
  }

  struct Space {
    var free: Int64
    var total: Int64
    var verdict: FreeSpacePolicy.Verdict
  }
  static let mebibyte: Int64 = 1 << 20
  static let spaces: [Space] = [
    Space(free: 512 * mebibyte, total: 1024 * mebibyte, verdict: .low),
    Space(free: 512 * mebibyte - 1, total: 1024 * mebibyte, verdict: .short(purgeUntil: 563_714_457)),
    Space(free: 1024 * mebibyte, total: 1024 * mebibyte, verdict: .plenty),
    Space(free: 3072 * mebibyte, total: 102_400 * mebibyte, verdict: .low),
    Space(free: 6144 * mebibyte, total: 102_400 * mebibyte, verdict: .plenty),
    Space(free: 3072 * mebibyte - 1, total: 102_400 * mebibyte, verdict: .short(purgeUntil: 3_382_286_745)),
  ]

  @Test(arguments: spaces) func freeSpace(_ space: Space) {
    #expect(FreeSpacePolicy().verdict(free: space.free, total: space.total) == space.verdict)
  }

  @Test func reservationsCountAsWritten() {
    let policy = FreeSpacePolicy(minimum: 100, percent: 0)
    #expect(policy.allows(need: 50, free: 250, reserved: .init(bytes: 100), total: 1000, freeInodes: nil))
    #expect(!policy.allows(need: 51, free: 250, reserved: .init(bytes: 100), total: 1000, freeInodes: nil))
    #expect(!policy.allows(need: 0, free: 250, reserved: .init(inodes: 3), total: 1000, freeInodes: 3))
  }

  @Test func orphansAndLostFilesAreFound() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try Self.finished(2, in: folder)
    try FileManager.default.removeItem(atPath: "\(folder.path)/files/0")
    try FileManager.default.createDirectory(atPath: "\(folder.path)/staging", withIntermediateDirectories: false)
    for name in ["known", "unknown"] {
      _ = FileManager.default.createFile(atPath: "\(folder.path)/staging/\(name)", contents: Data(count: 5))
    }
    mkfifo("\(folder.path)/staging/fifo", 0o600)
    symlink("/etc/passwd", "\(folder.path)/staging/link")
    let id = try #require(try store.add([AssetStoreTests.specification()], now: AssetStoreTests.moment())[0].job)
    var job = try #require(try store.job(id))
    job.partial = Partial(
      stagingName: "known", entity: Entity(finalURL: ""), bootIdentifier: "", device: 0, inode: 0)
    try store.commit([.job(job)])
    let found = try store.removal.reconcile(staging: ["\(folder.path)/staging", "\(folder.path)/none"])
    #expect(found.orphans.map(\.name) == ["unknown"] && found.missing.map(\.name) == ["0"])
    #expect(try store.removal.purge(found.orphans).freed == 5)
    #expect(try store.removal.reconcile(staging: ["\(folder.path)/staging"]) == Reconciliation())
    #expect(try store.files.file(of: JobID(1))?.state == .missing)
  }
}
