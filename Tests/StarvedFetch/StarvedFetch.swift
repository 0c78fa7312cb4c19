import AssetModel
import AssetStore
import Downloads
import Glibc
import LinuxSystem

/// Fetches files while the process may open no more descriptors, and goes on when it may again. Its arguments: the folder
/// and the URLs. Exit status 0: everything was fetched, and no descriptor was left behind.
@main
enum StarvedFetch {
  static func main() async throws {
    let folder = CommandLine.arguments[1]
    let urls = CommandLine.arguments.dropFirst(2)
    let store = try AssetStore(opening: "\(folder)/state")
    var addresses = AddressPolicy()
    addresses.allowsLoopback = true
    var hosts = HostRules()
    hosts.allowsPlainHTTPToLoopback = true
    hosts.allowsAnyPort = true
    var options = EngineOptions(transport: TransportOptions(addresses: addresses, hosts: hosts))
    options.freeSpace = FreeSpacePolicy(minimum: 0, percent: 0)
    let engine = try DownloadEngine(journal: store, options: options)
    let events = engine.events
    let specifications = urls.enumerated().map { number, url in
      DownloadSpecification(
        app: "app", identifier: "\(number)", url: url, transferClass: .background, directory: "\(folder)/files",
        fileName: "\(number)")
    }
    // The staging directory and a few sockets have room; not a file for each of those.
    try await wakeDispatch()
    let before = descriptors()
    limit((0...).first { !before.contains($0) }! + 5)
    let ids = Set(try await engine.add(specifications).compactMap(\.job))
    guard ids.count == urls.count else { fail("not all were added") }
    var starved = 0
    var finished: Set<JobID> = []
    var isStarving = true
    for await event in events {
      switch event {
      case .waiting(let id, let explanation):
        guard isStarving else {
          engine.resume(id)
          break
        }
        // No socket could be had, or no file.
        guard [.volume, .retrying, .lock].contains(explanation.code) else { break }
        starved += 1
        if starved == 4 {
          isStarving = false
          limit(1024)
          for id in ids { engine.resume(id) }
        }
      case .finished(let id, _): finished.insert(id)
      case .failed(let id, let failure): fail("\(id): \(failure)")
      default: break
      }
      if finished == ids { break }
    }
    await engine.close()
    try store.close()
    // The network thread lets go of its connections a moment later; its handle for waking it may have other numbers.
    var left = descriptors()
    let end = ContinuousClock.now + .seconds(10)
    while left.count > before.count, ContinuousClock.now < end {
      usleep(2000)
      left = descriptors()
    }
    guard left.count <= before.count else { fail("left open: \(left.subtracting(before).sorted().map(target))") }
    guard starved > 0 else { fail("there were enough descriptors") }
    print("waited \(starved) times for descriptors")
  }

  /// libdispatch makes what it waits with when something first waits, and ends the process where it can't. A program that runs out of
  /// descriptors has it by then.
  private static func wakeDispatch() async throws {
    try await Task.sleep(for: .milliseconds(1), clock: .continuous)
    try await Task.sleep(for: .milliseconds(1), clock: .suspending)
  }

  private static func descriptors() -> Set<rlim_t> {
    Set((0..<1024).filter { fcntl(Int32($0), F_GETFD) >= 0 })
  }

  private static func target(_ descriptor: rlim_t) -> String {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = buffer.withUnsafeMutableBytes { bytes in
      bytes.baseAddress.map { readlink("/proc/self/fd/\(descriptor)", $0, bytes.count) } ?? 0
    }
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  private static func limit(_ count: rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(7), &limit)
    limit.rlim_cur = min(count, limit.rlim_max)
    guard setrlimit(__rlimit_resource_t(7), &limit) == 0 else { fail("setrlimit: \(errno)") }
  }

  private static func fail(_ why: String) -> Never {
    print(why)
    exit(1)
  }
}
