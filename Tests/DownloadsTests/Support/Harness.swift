import AssetModel
import Downloads
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

/// An engine with a journal and a folder, for one test.
final class Harness: Sendable {
  let folder: String
  let journal: MemoryJournal
  let clock: TestClock
  let engine: DownloadEngine
  let files: any FileOperations

  init(
    folder: String? = nil, journal: MemoryJournal = MemoryJournal(), clock: TestClock = TestClock(),
    files: any FileOperations = SystemFiles(), store: (any DownloadJournal)? = nil,
    _ change: (inout EngineOptions) -> Void = { _ in }
  ) throws {
    self.folder = try folder ?? Files.temporaryDirectory(in: ProcessFolder.path, prefix: "downloads-")
    self.journal = journal
    self.clock = clock
    self.files = files
    var addresses = AddressPolicy()
    addresses.allowsLoopback = true
    var hosts = HostRules()
    hosts.allowsPlainHTTPToLoopback = true
    hosts.allowsAnyPort = true
    var options = EngineOptions(transport: TransportOptions(addresses: addresses, hosts: hosts))
    options.freeSpace = FreeSpacePolicy(minimum: 0, percent: 0)
    options.seed = 1
    // libcurl goes by real time, which a loaded machine has little of.
    options.transport.connectTimeout = .seconds(600)
    // The test clock stands in 2023.
    options.earliestWallTime = 0
    change(&options)
    // A store on the disk, where budgets and backups matter; otherwise the journal in memory.
    engine = try DownloadEngine(journal: store ?? journal, options: options, clock: clock, files: files)
  }

  deinit { Files.removeTree(folder) }

  func specification(
    _ url: String, name: String = "file", _ transferClass: TransferClass = .foreground, size: Int64? = nil,
    digest: ContentDigest? = nil, chunks: ChunkList? = nil, essential: Bool = false
  ) -> DownloadSpecification {
    DownloadSpecification(
      app: "app", identifier: name, url: url, transferClass: transferClass, isEssential: essential, declaredSize: size,
      digest: digest, chunks: chunks, directory: folder, fileName: name)
  }

  enum End: Equatable {
    case finished(String, Int64)
    case failed(TransferFailure)
    case cancelled
  }

  /// Adds one download and waits until it is settled.
  func fetch(_ specification: DownloadSpecification) async throws -> End {
    let events = engine.events
    let result = try await engine.add([specification])
    guard case .added(let id, _) = result[0] else { throw Unexpected("\(result)") }
    return try await end(of: id, in: events)
  }

  func end(of id: JobID, in events: AsyncStream<DownloadEvent>) async throws -> End {
    for await event in events {
      switch event {
      case .finished(id, let file): return .finished(file.path, file.size)
      case .failed(id, let failure): return .failed(failure)
      case .cancelled(id): return .cancelled
      default: break
      }
    }
    throw Unexpected("the engine was closed before the end")
  }

  func contents(_ name: String = "file") -> Data? { FileManager.default.contents(atPath: "\(folder)/\(name)") }

  /// Names of staging files, of every app.
  var staged: [String] {
    let base = "\(folder)/.outrider"
    return ((try? FileManager.default.subpathsOfDirectory(atPath: base)) ?? []).filter {
      var isDirectory: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(base)/\($0)", isDirectory: &isDirectory)
        && !isDirectory.boolValue
    }
  }
}

struct Unexpected: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A clock that a test moves. While the engine has nothing under way it jumps to the next deadline: waits cost no time.
final class TestClock: TransferClock {
  private let offset = Mutex<Duration>(.zero)
  /// Every wait that was jumped over.
  let jumps = Mutex<[Duration]>([])
  let bootIdentifier: String
  /// Otherwise it stands still until the test moves it.
  let jumpsWhenIdle: Bool
  private let start = SystemClock.boottime
  private let state = Mutex((isSynchronised: true, slept: Duration.zero))

  init(boot: String = "test-boot", jumpsWhenIdle: Bool = true) {
    bootIdentifier = boot
    self.jumpsWhenIdle = jumpsWhenIdle
  }

  var boot: Duration { (jumpsWhenIdle ? SystemClock.boottime : start) + offset.withLock { $0 } }
  /// What the wall clock is off by, in nanoseconds: it may be set at any time.
  let wallShift = Mutex<Int64>(0)
  var wall: Int64 { 1_700_000_000_000_000_000 + Int64(boot / .nanoseconds(1)) + wallShift.withLock { $0 } }
  var slept: Duration { state.withLock { $0.slept } }
  var isSynchronised: Bool {
    get { state.withLock { $0.isSynchronised } }
    set { state.withLock { $0.isSynchronised = newValue } }
  }

  /// The machine sleeps: boot time goes on, and the kernel knows why.
  func sleep(for time: Duration) {
    state.withLock { $0.slept += time }
    advance(by: time)
  }

  /// The wall clock is set by its user.
  func setWall(ahead seconds: Int64) { wallShift.withLock { $0 += seconds * 1_000_000_000 } }

  func advance(by step: Duration) { offset.withLock { $0 += step } }

  func idles(until deadline: Duration) {
    guard jumpsWhenIdle else { return }
    let step = deadline - boot
    guard step > .zero else { return }
    jumps.withLock { $0.append(step) }
    advance(by: step)
  }
}

extension SystemClock {
  static let shared = SystemClock()
  static var boottime: Duration { shared.boot }
}
