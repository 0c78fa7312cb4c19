internal import HostProtocol
internal import LinuxSystem
package import Sandbox

/// Exceeds each limit on purpose, in a real runner: a limit that doesn't bite isn't in force, no matter what was configured.
package struct Canary: Sendable {
  package struct Finding: Sendable, Codable, Equatable {
    package var limit: String
    package var isInForce: Bool
    package var detail: String
    /// The wall that the limit is part of; nil where none is lost with it.
    package var wall: Wall?
    /// Whether a runner came so far as to be stopped by it. What couldn't be tried isn't known to be in force.
    package var wasTried = true

    static func untried(_ limit: String, _ wall: Wall?, _ error: HostError) -> Finding {
      // That is where most findings are read.
      let referral = "; 'outrider doctor' says what this machine has"
      let text = "\(error)"
      let reason = text.hasSuffix(referral) ? String(text.dropLast(referral.count)) : text
      return Finding(
        limit: limit, isInForce: false, detail: "it couldn't be tried: \(reason)", wall: wall, wasTried: false)
    }
  }

  private typealias Probe = @Sendable () async -> Finding
  private let core: HostCore
  /// Which fork server its plugins come from.
  private let preload: Preload
  private let open: Set<Wall>

  package init(host: PluginHost) { self.init(core: host.core, preload: .runtime, open: []) }

  /// `open`: walls that are left open, which it then has to find so.
  init(core: HostCore, preload: Preload, open: Set<Wall>) {
    self.preload = preload
    self.core = core
    self.open = open
  }

  /// Every limit and, as positive control, a call within all of them, all at once where there are descriptors for that.
  package func run() async -> [Finding] {
    let probes = probes
    let free = OpenFiles.free(upTo: DescriptorBudget.enough(for: probes.count))
    let atOnce = DescriptorBudget.runsAtOnce(free: free, wanted: probes.count)
    return await withTaskGroup(of: (Int, Finding).self) { group in
      var next = 0
      func begin() {
        guard next < probes.count else { return }
        let (index, probe) = (next, probes[next])
        next += 1
        group.addTask { (index, await probe()) }
      }
      for _ in 0..<atOnce { begin() }
      var findings: [(Int, Finding)] = []
      for await finding in group {
        findings.append(finding)
        begin()
      }
      return findings.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private var probes: [Probe] {
    [
      {
        await ending("nothing exceeded", nil, .returned, Limits()) { (plugin) throws(HostError) in
          _ = try await plugin.call("abs", "i32(i32)", -5)
        }
      },
      {
        await ending("wall time", .watchdog, .wallTimeExceeded, Limits(wallTime: .milliseconds(20))) {
          (plugin) throws(HostError) in
          _ = try await plugin.call("sleep", "u32(u32)", 30)
        }
      },
      {
        await ending("CPU time", .watchdog, .cpuTimeExceeded, Self.cpuLimits) { (plugin) throws(HostError) in
          let memory = try await Self.address(plugin.call("calloc", "pointer(u64,u64)", 1, .integer(4 << 20)))
          for _ in 0..<10_000 {
            _ = try await plugin.call("memset", "pointer(pointer,i32,u64)", memory, 1, .integer(4 << 20))
          }
        }
      },
      {
        await ending("memory", .cgroup, .memoryExceeded, Limits(wallTime: .seconds(10), memory: 4 << 20)) {
          (plugin) throws(HostError) in
          let memory = try await Self.address(plugin.call("calloc", "pointer(u64,u64)", 1, .integer(64 << 20)))
          _ = try await plugin.call("memset", "pointer(pointer,i32,u64)", memory, 1, .integer(64 << 20))
        }
      },
      {
        await refusing("open files", .rlimits, "EMFILE", Self.fileLimits) { (plugin) throws(HostError) in
          var last = RunnerMessage.CallResult(value: .void)
          for _ in 0..<16 where last.value != .signed(-1) { last = try await plugin.call("dup", "i32(i32)", 1) }
          return last
        }
      },
      {
        await refusing("file size", .rlimits, "EFBIG", Self.fileLimits) { (plugin) throws(HostError) in
          try await plugin.call("truncate", "i32(cstring,i64)", .text(try await Self.file(of: plugin)), 1_048_576)
        }
      },
      {
        // Counted where `clone` is notified; a kernel that can't do so still has the rest of the filter.
        await refusing("threads", nil, "EAGAIN", Self.threadLimits) { (plugin) throws(HostError) in
          let pause = try await Self.address(plugin.call("dlsym", "pointer(pointer,cstring)", 0, "pause"))
          var last = RunnerMessage.CallResult(value: .void)
          for _ in 0..<8 where last.value != .signed(-1) {
            let code = try await plugin.call(
              "pthread_create", "i32(out(8),pointer,pointer,pointer)", 0, pause, 0)
            if code.value == .signed(11) { last.value = .signed(-1) }
          }
          return last
        }
      },
      {
        await refusing("system calls", .seccomp, "EAFNOSUPPORT", Limits()) { (plugin) throws(HostError) in
          try await plugin.call("socket", "i32(i32,i32,i32)", 2, 1, 0)
        }
      },
    ]
  }

  private static var cpuLimits: Limits {
    var limits = Limits(wallTime: .seconds(10))
    limits.cpuTotal = .milliseconds(20)
    return limits
  }

  private static var fileLimits: Limits {
    var limits = Limits()
    limits.openFiles = 12
    limits.fileSize = 4096
    return limits
  }

  private static var threadLimits: Limits {
    var limits = Limits()
    limits.threads = 4
    return limits
  }

  private static func address(_ result: RunnerMessage.CallResult) throws(HostError) -> CallArgument {
    guard case .pointer(let address) = result.value, address != 0 else { throw .failed("no memory to use") }
    return .unsigned(address)
  }

  /// An empty file in the plugin's container, as the plugin sees it.
  private static func file(of plugin: Plugin) async throws(HostError) -> String {
    let path = plugin.containers.places[0].view + "/canary"
    guard case .signed(0...) = try await plugin.call("creat", "i32(cstring,i32)", .text(path), 0o600).value else {
      throw .failed("no file to write")
    }
    return path
  }

  private func load(_ limits: Limits) async throws(HostError) -> Plugin {
    var options = PluginHost.LoadOptions()
    options.withoutWalls = open
    options.isProof = true
    return try await core.load(
      try PluginImage(opening: "libc.so.6", searching: true), policy: Policy(limits: limits), options: options,
      preload: preload)
  }

  /// Whether a run ended for want of something that no limit has to do with.
  private static func isOfMachine(_ report: RunReport) -> Bool {
    [.wallUnavailable, .hostFailed].contains(report.outcome.kind)
  }

  /// Expects a run to end as `kind`.
  private func ending(
    _ name: String, _ wall: Wall?, _ kind: Outcome.Kind, _ limits: Limits,
    _ body: (Plugin) async throws(HostError) -> Void
  ) async -> Finding {
    do throws(HostError) {
      let plugin = try await load(limits)
      var failure: HostError?
      do throws(HostError) { try await body(plugin) } catch { failure = error }
      let outcome = await plugin.end().outcome
      if let failure, case .failed = failure { return .untried(name, wall, failure) }
      return Finding(
        limit: name, isInForce: outcome.kind == kind,
        detail: outcome.kind.rawValue + (outcome.detail.isEmpty ? "" : ": " + outcome.detail), wall: wall)
    } catch {
      guard let report = error.report, !Self.isOfMachine(report) else { return .untried(name, wall, error) }
      // What is exceeded before the library is loaded is exceeded.
      return Finding(limit: name, isInForce: report.outcome.kind == kind, detail: "\(error)", wall: wall)
    }
  }

  /// Expects a call to answer -1.
  private func refusing(
    _ name: String, _ wall: Wall?, _ code: String, _ limits: Limits,
    _ body: (Plugin) async throws(HostError) -> RunnerMessage.CallResult
  ) async -> Finding {
    let plugin: Plugin
    do throws(HostError) {
      plugin = try await load(limits)
    } catch {
      return error.report.map { !Self.isOfMachine($0) } == true
        ? Finding(limit: name, isInForce: false, detail: "\(error)", wall: wall) : .untried(name, wall, error)
    }
    do throws(HostError) {
      let result = try await body(plugin)
      _ = await plugin.end()
      let isRefused = result.value == .signed(-1)
      return Finding(
        limit: name, isInForce: isRefused, detail: isRefused ? "refused with \(code)" : "allowed", wall: wall)
    } catch {
      // What it takes couldn't be had, as a file where the umask keeps everyone from writing it.
      if case .failed = error { return .untried(name, wall, error) }
      return Finding(limit: name, isInForce: false, detail: "\(error)", wall: wall)
    }
  }
}

extension PluginHost {
  /// Every wall, with what was just found of the limits: what is remembered of them says what an earlier host could do.
  package func walls(provedBy findings: [Canary.Finding]) async throws(HostError) -> [Wall: WallState] {
    try await core.walls(Policy(), proof: findings)
  }
}
