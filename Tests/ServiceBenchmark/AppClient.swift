import BackgroundAssets
import Foundation
import ServiceProtocol

/// An installed app, run by `outrider launch`: what its calls take, beside the same bytes between two bare processes.
enum AppClient {
  static func run() throws {
    let manager = BADownloadManager.shared
    // The first call connects.
    _ = try manager.fetchCurrentDownloads()
    let service = Placement.threads(named: "outrider.serve")
    let request = try FrameCodec.encode(ClientMessage.request(id: 1000, request: .currentDownloads)).count
    let answer = try FrameCodec.encode(ServiceMessage.reply(id: 1000, reply: .downloads([]))).count
    let peer = try BareSocket(request: request, answer: answer)
    for placement in Placement.allCases {
      guard let processors = placement.processors else {
        ServiceBenchmark.say("round trip \(placement.title): not measured, there is one")
        continue
      }
      try Placement.pin(getpid(), to: [processors.near])
      for thread in service + [peer.process] { try Placement.pin(thread, to: [processors.far]) }
      var (calls, bare): ([Double], [Double]) = ([], [])
      // In turn, so that both meet the same machine.
      for _ in 0..<20 {
        for _ in 0..<200 { calls.append(try microseconds { _ = try manager.fetchCurrentDownloads() }) }
        for _ in 0..<200 { bare.append(microseconds { peer.roundTrip() }) }
      }
      let ratio = percentile(50, calls) / percentile(50, bare)
      ServiceBenchmark.say(
        "round trip \(placement.title): a call \(text(calls)) µs; \(request) and \(answer) bytes between bare processes "
          + "\(text(bare)) µs; ratio of p50 \(String(format: "%.2f", ratio)) (bound: 2)")
    }
    for thread in service + [getpid(), peer.process] { try Placement.pin(thread, to: Placement.allowed) }
    let base = ProcessInfo.processInfo.environment["SESSIONS_URL"] ?? ""
    let scheduling = try ContinuousClock().measure {
      for number in 0..<1000 {
        try manager.scheduleDownload(
          BAURLDownload(
            identifier: "session-\(number)", request: URLRequest(url: URL(string: "\(base)session-\(number).mp4")!),
            fileSize: 65536, applicationGroupIdentifier: "group.com.example.sessions"))
      }
    }
    ServiceBenchmark.say("scheduling 1000 downloads one by one: \(ServiceBenchmark.seconds(scheduling)) s")
    let idle = try lists(manager, 200)
    ServiceBenchmark.say("fetchCurrentDownloads of 1000: \(text(idle)) µs (bound: 10000)")
    try abused(manager)
  }

  /// The same beside processes that mean ill, each with a quiet time before it.
  private static func abused(_ manager: BADownloadManager) throws {
    let state = ProcessInfo.processInfo.environment[ServicePaths.stateVariable] ?? ""
    for abuse in Abuse.allCases {
      let quiet = try lists(manager, 200)
      let hostile = Process()
      hostile.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      hostile.arguments = ["abuse", abuse.rawValue, ServicePaths(state: state).socket]
      try hostile.run()
      // Until it has all its connections.
      usleep(500_000)
      let beside = try lists(manager, 200)
      let isRunning = hostile.isRunning
      kill(hostile.processIdentifier, SIGKILL)
      hostile.waitUntilExit()
      guard isRunning else { throw BenchmarkWorld.Trouble(description: "\(abuse) ended by itself") }
      let ratio = percentile(99, beside) / percentile(99, quiet)
      ServiceBenchmark.say(
        "the same beside \(abuse.title): \(text(beside)) µs; before \(text(quiet)) µs; ratio of p99 "
          + "\(String(format: "%.2f", ratio)) (bound: 2)")
      usleep(500_000)
    }
  }

  private static func lists(_ manager: BADownloadManager, _ count: Int) throws -> [Double] {
    try (0..<count).map { _ in
      // Calls of an app that does something with the answer.
      usleep(2000)
      return try microseconds {
        let count = try manager.fetchCurrentDownloads().count
        guard count == 1000 else { throw BenchmarkWorld.Trouble(description: "\(count) downloads") }
      }
    }
  }

  private static func microseconds(_ body: () throws -> Void) rethrows -> Double {
    try ContinuousClock().measure(body) / .microseconds(1)
  }

  private static func percentile(_ percent: Int, _ all: [Double]) -> Double {
    all.sorted()[min(all.count - 1, all.count * percent / 100)]
  }

  private static func text(_ all: [Double]) -> String {
    "p50 \(String(format: "%.1f", percentile(50, all))), p99 \(String(format: "%.1f", percentile(99, all)))"
  }
}
