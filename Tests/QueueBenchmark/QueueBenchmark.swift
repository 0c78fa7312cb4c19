import AssetModel
import AssetStore
import DevelopmentOrigin
import Downloads
import Foundation
import LinuxSystem

/// What a hundred thousand queued downloads of two hundred apps cost: to add, to take over after a restart until the first
/// byte arrives, and in memory. Argument: the folder for the journal (default: /dev/shm).
@main
enum QueueBenchmark {
  static let count = 100_000

  static func main() async throws {
    let parent = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "/dev/shm"
    let folder = try Files.temporaryDirectory(in: parent, prefix: "outrider-queue-")
    defer { Files.removeTree(folder) }
    try FileManager.default.createDirectory(
      atPath: "\(folder)/state", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let origin = try Origin { $0.resources["/file"] = Resource(.pseudoRandom(seed: 1, count: 1000)) }
    defer { origin.stop() }
    var specifications: [DownloadSpecification] = []
    for number in 0..<count {
      specifications.append(
        DownloadSpecification(
          app: "com.example.app\(number % 200)", identifier: "asset-\(number)", url: origin.url("/file?\(number)"),
          transferClass: .background, declaredSize: Int64(number), directory: folder, fileName: "file-\(number)"))
    }
    var storeOptions = AssetStore.Options()
    storeOptions.maxOpenJobsPerApp = count
    let clock = ContinuousClock()

    var store = try AssetStore(opening: "\(folder)/state", options: storeOptions)
    let adding = try clock.measure { _ = try store.add(specifications, now: SystemClock().now) }
    try store.close()
    specifications = []

    let before = Memory.inUse
    let start = clock.now
    store = try AssetStore(opening: "\(folder)/state", options: storeOptions)
    let opened = clock.now
    var addresses = AddressPolicy()
    addresses.allowsLoopback = true
    var hosts = HostRules()
    hosts.allowsPlainHTTPToLoopback = true
    let engine = try DownloadEngine(
      journal: store, options: EngineOptions(transport: TransportOptions(addresses: addresses, hosts: hosts)))
    _ = await origin.requests(count: 1, within: .seconds(60))
    let asked = clock.now
    let memory = Memory.inUse - before
    await engine.close()
    try store.close()
    print(
      """
      \(count) downloads of 200 apps, journal in \(parent)
        add, one transaction                 \(seconds(adding)) s
        open the journal (and check it)      \(seconds(opened - start)) s
        from there to the first request      \(seconds(asked - opened)) s
        memory for each that waits           \(max(0, memory) / count) bytes
        a scheduling decision, one origin    \(decisions(origins: 1))
        a scheduling decision, 200 origins   \(decisions(origins: 200))
      """)
  }

  private static func seconds(_ duration: Duration) -> String { String(format: "%.3f", duration / .seconds(1)) }

  /// A slot is free and another job takes it, with everything else waiting.
  private static func decisions(origins: Int) -> String {
    var scheduler = Scheduler()
    for number in 0..<count {
      scheduler.enqueue(
        Scheduler.Entry(
          id: JobID(Int64(number)), app: UInt32(number % 200), origin: UInt32(number % origins),
          transferClass: .background, priority: 0, remaining: Int64(number), since: .seconds(number / 1000)),
        now: .seconds(100))
    }
    var running: [JobID] = []
    var ended = 0
    var samples: [Duration] = []
    while running.count < 10_000 {
      let start = ContinuousClock.now
      let decision = scheduler.next(
        now: .seconds(100), isClassBlocked: { _ in false }, isOriginBlocked: { _, _ in false })
      let taken = start.duration(to: .now)
      if case .start(let entry) = decision {
        running.append(entry.id)
        samples.append(taken)
      } else {
        // Every slot is in use: the oldest ends.
        scheduler.remove(running[ended])
        ended += 1
      }
    }
    samples.sort()
    func microseconds(_ part: Int) -> Double { samples[samples.count * part / 100] / .microseconds(1) }
    return String(format: "p50 %.1f µs, p99 %.1f µs", microseconds(50), microseconds(99))
  }
}
