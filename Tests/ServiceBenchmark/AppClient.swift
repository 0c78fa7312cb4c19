import BackgroundAssets
import Foundation
import ServiceProtocol

/// An installed app, run by `outrider launch`: what its calls take, beside the same bytes between two bare processes.
enum AppClient {
  static func run() throws {
    let manager = BADownloadManager.shared
    // The first call connects.
    _ = try manager.fetchCurrentDownloads()
    let request = try FrameCodec.encode(ClientMessage.request(id: 1000, request: .currentDownloads)).count
    let answer = try FrameCodec.encode(ServiceMessage.reply(id: 1000, reply: .downloads([]))).count
    let peer = try BareSocket(request: request, answer: answer)
    var (calls, bare): ([Double], [Double]) = ([], [])
    // In turn, so that both meet the same machine.
    for _ in 0..<20 {
      for _ in 0..<200 { calls.append(try microseconds { _ = try manager.fetchCurrentDownloads() }) }
      for _ in 0..<200 { bare.append(microseconds { peer.roundTrip() }) }
    }
    let ratio = percentile(50, calls) / percentile(50, bare)
    ServiceBenchmark.say(
      "round trip of a call: \(text(calls)) µs; \(request) and \(answer) bytes between bare processes: \(text(bare)) µs; "
        + "ratio of p50 \(String(format: "%.2f", ratio)) (bound: 2)")
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
    var lists: [Double] = []
    for _ in 0..<100 {
      lists.append(
        try microseconds {
          let count = try manager.fetchCurrentDownloads().count
          guard count == 1000 else { throw BenchmarkWorld.Trouble(description: "\(count) downloads") }
        })
    }
    ServiceBenchmark.say("fetchCurrentDownloads of 1000: \(text(lists)) µs (bound: 10000)")
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
