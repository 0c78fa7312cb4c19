internal import ArgumentParser
internal import AssetModel
internal import Foundation
internal import HostProtocol
internal import PluginHost
internal import Sandbox

struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measures a wake, a warm call, or the time from a deadline to the process being gone.",
    discussion: """
      'wake' interleaves each wake with its baseline: the bare fork, dlopen and call of the same plugin from a preloaded
      process, without a wall. Compare within one run only.

      EXAMPLE
        outrider bench wake SessionsDownloader.so -n 500
      """)

  enum What: String, ExpressibleByArgument, CaseIterable { case wake, call, kill }

  @Argument(help: "wake, call or kill.") var what: What
  @Argument(help: "A .so or an .appex folder.") var `extension`: String
  @Option(name: .customShort("n"), help: "How often.") var count = 200
  @Option(help: "The manifest of the content request; ten assets by default.") var manifest: String?
  @Flag(help: "Print one JSON object on standard output.") var json = false

  struct Figures: Encodable {
    var name: String
    var p50: Double
    var p90: Double
    var p99: Double

    init(_ name: String, _ samples: [Double]) {
      let sorted = samples.sorted()
      func at(_ share: Double) -> Double {
        sorted.isEmpty ? 0 : sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)] * 1e6
      }
      self.name = name
      (p50, p90, p99) = (at(0.5), at(0.9), at(0.99))
    }
  }

  func run() async {
    do {
      guard count > 0 else { throw Failure(64, "-n must be at least 1") }
      let host = try SandboxOptions.parse([]).makeHost()
      var figures: [Figures]
      switch what {
      case .wake: figures = try await wake(host)
      case .call: figures = try await call(host)
      case .kill: figures = try await kill(host)
      }
      host.stop()
      if json {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        Output.line(String(decoding: try encoder.encode(["microseconds": figures]), as: UTF8.self))
      } else {
        Output.table(
          ["µs", "p50", "p90", "p99"],
          figures.map { figure in
            [figure.name] + [figure.p50, figure.p90, figure.p99].map { String(format: "%.1f", $0) }
          })
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private static func time(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    let (seconds, attoseconds) = start.duration(to: .now).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  private func wake(_ host: PluginHost) async throws -> [Figures] {
    let manifest = try self.manifest ?? Self.smallManifest()
    defer { if self.manifest == nil { try? FileManager.default.removeItem(atPath: manifest) } }
    var walled: [Double] = []
    var bare: [Double] = []
    for index in 0..<count + 5 {
      let one = try await Self.time {
        let plugin = try await host.load(`extension`, options: Self.options(manifest))
        _ = try await plugin.contentRequest(.install)
        _ = await plugin.end()
      }
      let other = try await host.bareWake(`extension`, manifest: manifest)
      // The first ones fault in what all later ones share.
      if index >= 5 {
        walled.append(one)
        bare.append(other)
      }
    }
    return [Figures("wake", walled), Figures("bare fork + dlopen + call", bare)]
  }

  private func call(_ host: PluginHost) async throws -> [Figures] {
    let plugin = try await host.load("libc.so.6")
    var calls: [Double] = []
    for index in 0..<count + 20 {
      let seconds = try await plugin.timedCall("abs", "i32(i32)", -5)
      if index >= 20 { calls.append(seconds) }
    }
    _ = await plugin.end()
    return [Figures("warm call", calls), Figures("socket ping-pong", try PingPong.run(count: count))]
  }

  private func kill(_ host: PluginHost) async throws -> [Figures] {
    var samples: [Double] = []
    for _ in 0..<count {
      let plugin = try await host.load("libc.so.6", policy: Policy(limits: Limits(wall: .milliseconds(5))))
      _ = try? await plugin.call("pause", "i32()")
      samples.append(await plugin.end().usage.overrunSeconds ?? 0)
    }
    return [Figures("deadline to gone", samples)]
  }

  private static func options(_ manifest: String) -> PluginHost.LoadOptions {
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = true
    return options
  }

  private static func smallManifest() throws -> String {
    let sessions = (1...10).map { index in
      #"{"id":"talk-\#(index)","title":"Talk \#(index)","url":"https://localhost/\#(index).mp4","size":1048576,"essential":false}"#
    }
    let path = FileManager.default.temporaryDirectory.path + "/outrider-bench-\(getpid()).json"
    try Data(#"{"sessions":[\#(sessions.joined(separator: ","))]}"#.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }
}
