import Foundation
import HostProtocol
import LinuxSystem
import Sandbox
import Synchronization
import TestSupport
import Testing

@testable import PluginHost

/// Too few descriptors: it is said at once, and no other run is harmed.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct DescriptorTests {
  private static func limited(_ count: Int, _ words: [String]) throws -> Workspace.Finished {
    let command = ([Workspace.outrider] + words).map { "'\($0)'" }.joined(separator: " ")
    return try Workspace.run(["-c", "ulimit -n \(count); exec \(command)"], program: "/bin/sh")
  }

  @Test(arguments: [16, 28, 40, 50, 56, 58, 60, 62, 64, 72]) func itWorksOrSaysSo(_ count: Int) throws {
    // What is open beforehand differs by one or two.
    func hasSaidSo(_ end: Workspace.Finished) -> Bool {
      end.status == 70 && end.errors.contains("(ulimit -n)") && end.output.isEmpty
    }
    let call = try Self.limited(count, ["call", "libc.so.6", "abs", "i32(i32)", "-5"])
    #expect(hasSaidSo(call) || call.status == 0 && call.output == "5\n", "\(call)")
    let doctor = try Self.limited(count, ["doctor"])
    #expect(hasSaidSo(doctor) || doctor.status == 0, "\(doctor)")
  }

  /// With so many beside those that a command has open at its start, everything works: every limit is proved.
  @Test func whatAHostTakesIsEnough() throws {
    let doctor = try Self.limited(PluginHost.descriptorsToStart + 12, ["doctor"])
    #expect(doctor.status == 0, "\(doctor)")
  }

  private static func limit(to count: Int) {
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    limits.rlim_cur = rlim_t(count)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  }

  @Test func oneTooManyIsRefusedAlone() async {
    let end = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Self.limit(to: 160)
      let host = try Workspace.host()
      var plugins: [Plugin] = []
      var refusal: String?
      while refusal == nil, plugins.count < 60 {
        do throws(HostError) {
          plugins.append(try await host.load("libc.so.6"))
        } catch {
          guard case .exhausted(let text) = error else { throw error }
          refusal = text
        }
      }
      // What a failure shows of the process is its status.
      guard let refusal else { exit(10) }
      guard refusal.contains("160"), refusal.contains("ulimit -n") else { exit(11) }
      guard plugins.count > 3 else { exit(20 + Int32(plugins.count)) }
      for plugin in plugins {
        guard try await plugin.call("abs", "i32(i32)", -5).value == .signed(5) else { exit(2) }
      }
      // One goes, and there is room again.
      _ = await plugins.removeLast().end()
      plugins.append(try await host.load("libc.so.6"))
      for plugin in plugins {
        guard await plugin.end().outcome.kind == .returned else { exit(3) }
      }
    }
    if let end, end.exitStatus != .exitCode(EXIT_SUCCESS) {
      Issue.record("\(String(decoding: end.standardErrorContent, as: UTF8.self))")
    }
  }

  /// Each leads a session, which the server itself and its rehearsals don't, or was stopped before it came to that: the server
  /// does so as soon as the lease is over, which nothing extends on this thread.
  private static func stopRunners(below server: Int32, but other: Int32) {
    var stopped = 0
    while stopped == 0 {
      for pid in Runners.descendants(of: server)
      where pid != other && (getsid(pid) == pid || Runners.isStopped(pid)) {
        guard kill(pid, SIGSTOP) == 0 else { exit(6) }
        stopped += 1
      }
    }
  }

  /// Admitted, and then the program that embeds the host takes every descriptor: what comes from the runner is lost.
  /// `stopped`: its server stops the runner before that, as it does where the host's lease has run out.
  @Test(arguments: [false, true], [false, true]) func lostHandlesEndThatLoadAlone(prepared: Bool, stopped: Bool) async {
    await #expect(processExitsWith: .success) { [prepared, stopped] in
      Self.limit(to: 200)
      let host = try Workspace.host()
      let other = try await host.load("libc.so.6")
      if prepared { try await host.prepare() }
      let image = try PluginImage(opening: "libc.so.6", searching: true)
      let core = host.core
      guard let server = await host.forkServerProcess(), let pid = await other.runnerProcess() else { exit(5) }
      let result: Result<Plugin, HostError> = await withCheckedContinuation { continuation in
        core.loop.submit {
          let taken = Mutex<[Int32]>([])
          var options = PluginHost.LoadOptions()
          options.container = nil
          let request = LoadRequest(image: image, policy: Policy(), options: options, isBare: false, proof: [])
          core.begin(request) { result in
            for number in taken.withLock({ $0 }) { close(number) }
            continuation.resume(returning: result)
          }
          if stopped { Self.stopRunners(below: server, but: pid) }
          while case let number = dup(2), number >= 0 { taken.withLock { $0.append(number) } }
        }
      }
      guard case .failure(.exhausted) = result else { exit(1) }
      guard try await other.call("abs", "i32(i32)", -5).value == .signed(5) else { exit(2) }
      let next = try await host.load("libc.so.6")
      guard try await next.call("abs", "i32(i32)", -6).value == .signed(6) else { exit(3) }
      guard await next.end().outcome.kind == .returned, await other.end().outcome.kind == .returned else { exit(4) }
    }
  }

  /// A program that was started without them opens its own files under their numbers.
  @Test(arguments: [">&-", "<&-", "2>&-", "<&- >&- 2>&-", "<&- 2>&-"]) func closedStandardDescriptors(_ how: String)
    throws
  {
    let end = try Workspace.run(
      ["-c", "'\(Workspace.outrider)' call libc.so.6 abs 'i32(i32)' -5 \(how)"], program: "/bin/sh")
    if how.contains(">&-"), !how.hasPrefix("2"), !how.hasSuffix("<&- 2>&-") || how.contains(" >&-") {
      #expect(end.status == 74 && end.output.isEmpty, "\(end)")
    } else {
      #expect(end.status == 0 && end.output == "5\n", "\(end)")
    }
  }
}
