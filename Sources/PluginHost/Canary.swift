internal import HostProtocol
internal import Sandbox

/// Exceeds each limit on purpose, in a real runner: a limit that doesn't bite isn't in force, whatever was configured.
public struct Canary: Sendable {
  public struct Finding: Sendable, Codable, Equatable {
    public var limit: String
    public var isInForce: Bool
    public var detail: String
  }

  private let host: PluginHost

  public init(host: PluginHost) { self.host = host }

  /// Every limit and, as positive control, a call within all of them. Takes about half a second.
  public func run() async -> [Finding] {
    [
      await ending("nothing exceeded", .returned, Limits()) { (plugin) throws(HostError) in
        _ = try await plugin.call("abs", "i32(i32)", -5)
      },
      await ending("wall time", .wallTimeExceeded, Limits(wall: .milliseconds(50))) { (plugin) throws(HostError) in
        _ = try await plugin.call("sleep", "u32(u32)", 30)
      },
      await ending("CPU time", .cpuTimeExceeded, Self.cpuLimits) { (plugin) throws(HostError) in
        let memory = try await Self.address(plugin.call("calloc", "pointer(u64,u64)", 1, .integer(4 << 20)))
        for _ in 0..<10_000 { _ = try await plugin.call("memset", "pointer(pointer,i32,u64)", memory, 1, .integer(4 << 20)) }
      },
      await ending("memory", .memoryExceeded, Limits(wall: .seconds(10), memory: 4 << 20)) { (plugin) throws(HostError) in
        let memory = try await Self.address(plugin.call("calloc", "pointer(u64,u64)", 1, .integer(64 << 20)))
        _ = try await plugin.call("memset", "pointer(pointer,i32,u64)", memory, 1, .integer(64 << 20))
      },
      await refusing("open files", "EMFILE", Self.fileLimits) { (plugin) throws(HostError) in
        var last = RunnerMessage.CallResult(value: .void)
        for _ in 0..<16 where last.value != .signed(-1) { last = try await plugin.call("dup", "i32(i32)", 1) }
        return last
      },
      await refusing("system calls", "EAFNOSUPPORT", Limits()) { (plugin) throws(HostError) in
        try await plugin.call("socket", "i32(i32,i32,i32)", 2, 1, 0)
      },
    ]
  }

  private static var cpuLimits: Limits {
    var limits = Limits(wall: .seconds(10))
    limits.cpuTotal = .milliseconds(60)
    return limits
  }

  private static var fileLimits: Limits {
    var limits = Limits()
    limits.openFiles = 12
    return limits
  }

  private static func address(_ result: RunnerMessage.CallResult) throws(HostError) -> CallArgument {
    guard case .pointer(let address) = result.value, address != 0 else { throw .failed("no memory to use") }
    return .unsigned(address)
  }

  /// Expects a run to end as `kind`.
  private func ending(
    _ name: String, _ kind: Outcome.Kind, _ limits: Limits, _ body: (Plugin) async throws(HostError) -> Void
  ) async -> Finding {
    do throws(HostError) {
      let plugin = try await host.load("libc.so.6", policy: Policy(limits: limits))
      var failure: HostError?
      do throws(HostError) { try await body(plugin) } catch { failure = error }
      let outcome = await plugin.end().outcome
      if case .failed(let text)? = failure { return Finding(limit: name, isInForce: false, detail: text) }
      return Finding(
        limit: name, isInForce: outcome.kind == kind,
        detail: outcome.kind.rawValue + (outcome.detail.isEmpty ? "" : ": " + outcome.detail))
    } catch {
      return Finding(limit: name, isInForce: false, detail: "\(error)")
    }
  }

  /// Expects a call to answer -1.
  private func refusing(
    _ name: String, _ code: String, _ limits: Limits,
    _ body: (Plugin) async throws(HostError) -> RunnerMessage.CallResult
  ) async -> Finding {
    do throws(HostError) {
      let plugin = try await host.load("libc.so.6", policy: Policy(limits: limits))
      let result = try await body(plugin)
      _ = await plugin.end()
      let isRefused = result.value == .signed(-1)
      return Finding(limit: name, isInForce: isRefused, detail: isRefused ? "refused with \(code)" : "allowed")
    } catch {
      return Finding(limit: name, isInForce: false, detail: "\(error)")
    }
  }
}
