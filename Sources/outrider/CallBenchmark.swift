internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import PluginHost
internal import Sandbox

/// `outrider bench call`: a warm call beside what it is made of. All of it is measured in turn, in short rows of each.
struct CallBenchmark {
  let host: PluginHost
  let count: Int

  /// Calls of a row; the first ones of each don't count, since what went before them was something else.
  private static let row = 60
  private static let notCounted = 10
  private static let pause = Duration.milliseconds(5)
  private static let large = 1 << 20
  private static let plugins = 50
  /// Of one plugin, for each round of them.
  private static let rareCalls = 10

  /// What every figure is of.
  private struct Samples {
    var names: [String] = []
    var seconds: [String: [Double]] = [:]

    mutating func add(_ name: String, _ found: some Sequence<Double>) {
      if seconds[name] == nil { names.append(name) }
      seconds[name, default: []] += found
    }

    func figures(times factor: Double = 1) -> [BenchmarkResult.Figures] {
      names.map { .init($0, (seconds[$0] ?? []).map { $0 * factor }) }
    }
  }

  func run() async throws -> BenchmarkResult {
    var samples = Samples()
    try await follow(&samples)
    try await apart(&samples)
    try await large(&samples)
    try await inTurn(&samples)
    if let peer = await WebAssemblyPeer.run(min(count, 1000) + Self.notCounted) {
      samples.add(WebAssemblyPeer.name, peer.wasm.dropFirst(Self.notCounted))
      samples.add(WebAssemblyPeer.baseline, peer.plain.dropFirst(Self.notCounted))
    }
    var result = BenchmarkResult()
    result.microseconds = samples.figures()
    return result
  }

  /// Calls that follow each other.
  private func follow(_ samples: inout Samples) async throws {
    var left = count
    while left > 0 {
      // New ones now and then: which cores the kernel put them on decides more than anything else, and it stays.
      let plugin = try await host.load("libc.so.6")
      let overSocket = try await host.load("libc.so.6", options: Self.overSocket)
      let socket = try PingPong(host)
      let asleep = try WordPingPong(.blocking)
      for _ in 0..<4 where left > 0 {
        samples.add("warm call", try await Self.row { try await Self.call(plugin) })
        samples.add("spinning on a word, thread to thread", try Self.spinning())
        samples.add("futex, thread to thread", Self.rowNow { asleep.roundTrip() })
        samples.add("warm call over the socket", try await Self.row { try await Self.call(overSocket) })
        samples.add("socket, thread to thread", try await Self.row { try await socket.roundTrip() })
        samples.add("the function itself", [Self.direct()])
        left -= Self.row - Self.notCounted
      }
      _ = await plugin.end()
      _ = await overSocket.end()
    }
  }

  /// Calls with pauses between them: cores sleep, and so does the plugin.
  private func apart(_ samples: inout Samples) async throws {
    let plugin = try await host.load("libc.so.6")
    let asleep = try WordPingPong(.blocking)
    for _ in 0..<min(count, 200) {
      try await Task.sleep(for: Self.pause)
      samples.add("call, 5 ms after the last", [try await Self.call(plugin)])
      try await Task.sleep(for: Self.pause)
      samples.add("futex, 5 ms after the last", [asleep.roundTrip()])
    }
    _ = await plugin.end()
  }

  /// 1 MiB there and 1 MiB back. The function ignores both.
  private func large(_ samples: inout Samples) async throws {
    let plugin = try await host.load(
      "libc.so.6", policy: Policy(limits: Limits(wallTime: .seconds(30), memory: 64 << 20)))
    let overSocket = try await host.load(
      "libc.so.6", policy: Policy(limits: Limits(wallTime: .seconds(30), memory: 64 << 20)), options: Self.overSocket)
    let bytes = [UInt8](repeating: 7, count: Self.large)
    func call(_ plugin: Plugin) async throws -> Double {
      let start = BootClock.now
      let reply = try await plugin.call("abs", "i32(i32,bytes,out(\(Self.large)))", -5, .bytes(bytes))
      let seconds = (BootClock.now - start).inSeconds
      guard reply.out.first?.count == Self.large else { throw Failure(70, "the answer is short") }
      return seconds
    }
    for _ in 0..<max(min(count / Self.row, 20), 1) {
      samples.add("call with 1 MiB in and out", try await Self.row { try await call(plugin) })
      samples.add("memcpy of 1 MiB, twice", Self.rowNow { Self.copies(bytes) })
      samples.add("call with 1 MiB in and out, over the socket", try await Self.row { try await call(overSocket) })
    }
    _ = await plugin.end()
    _ = await overSocket.end()
  }

  /// One after the other of many plugins, and one alone that is called as rarely as each of them.
  private func inTurn(_ samples: inout Samples) async throws {
    let alone = try await host.load("libc.so.6")
    var plugins: [Plugin] = []
    for _ in 0..<Self.plugins { plugins.append(try await host.load("libc.so.6")) }
    for round in 0..<max(min(count / Self.plugins, 20), 2) {
      var found: [Double] = []
      let start = BootClock.now
      for plugin in plugins { found.append(try await Self.call(plugin)) }
      let taken = BootClock.now - start
      var rare: [Double] = []
      for _ in 0..<Self.rareCalls {
        let due = BootClock.now + taken
        while BootClock.now < due {}
        rare.append(try await Self.call(alone))
      }
      if round > 0 {
        samples.add("call, \(Self.plugins) plugins in turn", found)
        samples.add("call, one plugin as rarely", rare)
      }
    }
    for plugin in plugins + [alone] { _ = await plugin.end() }
  }

  private static var overSocket: PluginHost.LoadOptions {
    var options = PluginHost.LoadOptions()
    options.sharesMemory = false
    return options
  }

  /// From a task's call to its answer.
  private static func call(_ plugin: Plugin) async throws -> Double {
    let start = BootClock.now
    _ = try await plugin.call("abs", "i32(i32)", -5)
    return (BootClock.now - start).inSeconds
  }

  private static func row(_ body: () async throws -> Double) async rethrows -> ArraySlice<Double> {
    var found: [Double] = []
    for _ in 0..<row { found.append(try await body()) }
    return found.dropFirst(notCounted)
  }

  /// The other thread spins for as long as it is there.
  private static func spinning() throws -> ArraySlice<Double> {
    let words = try WordPingPong(.spinning)
    return rowNow { words.roundTrip() }
  }

  private static func rowNow(_ body: () -> Double) -> ArraySlice<Double> {
    (0..<row).map { _ in body() }.dropFirst(notCounted)
  }

  /// So many of them that the clock can see it.
  private static func direct() -> Double {
    let function = dlsym(nil, "abs").map { unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self) }
    guard let function else { return 0 }
    var sum: Int32 = 0
    let start = BootClock.now
    for index in 0..<1000 as Range<Int32> { sum &+= function(-index) }
    let seconds = (BootClock.now - start).inSeconds / 1000
    return sum == 499_500 ? seconds : 0
  }

  private static func copies(_ bytes: [UInt8]) -> Double {
    var target = [UInt8](repeating: 1, count: bytes.count)
    let start = BootClock.now
    for _ in 0..<2 {
      bytes.withUnsafeBytes { source in target.withUnsafeMutableBytes { $0.copyMemory(from: source) } }
    }
    let seconds = (BootClock.now - start).inSeconds
    return target.last == bytes.last ? seconds : 0
  }
}
