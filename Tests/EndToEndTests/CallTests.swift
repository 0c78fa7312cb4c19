import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What a program that embeds the host may expect of its calls.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CallTests {
  private static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <stdint.h>
      #include <unistd.h>
      int number = 7;
      int next(void) { static int count; return count++; }
      int wait_for_ever(void) { for (;;) pause(); }
      uint64_t sum(const uint8_t *bytes, uint64_t count) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < count; i++) sum += bytes[i];
        return sum;
      }
      """, "-O1 -o calls.so", in: folder)
    return folder + "/calls.so"
  }

  private func plugin(_ limits: Limits = Limits(wallTime: .seconds(40))) async throws -> (PluginHost, Plugin) {
    let host = try Workspace.host()
    return (host, try await host.load(try Self.library.get(), policy: Policy(limits: limits)))
  }

  private func failure(_ body: () async throws(HostError) -> RunnerMessage.CallResult) async -> HostError? {
    do throws(HostError) {
      _ = try await body()
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "a symbol that isn't there, or is data, is an error of that call, and the plugin goes on",
    arguments: [("nexxt", "has no nexxt"), ("number", "is data")])
  func misspelt(symbol: String, says: String) async throws {
    let (host, plugin) = try await plugin()
    defer { host.stop() }
    let error = await failure { () throws(HostError) in try await plugin.call(symbol, "i32()") }
    guard case .entryPointMissing(let detail) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(detail.contains(says))
    #expect(try await plugin.call("next", "i32()").value == .signed(0))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("calls that are made at the same time take turns, in their order") func turns() async throws {
    let (host, plugin) = try await plugin()
    defer { host.stop() }
    let calls = (0..<200).map { _ in Task.immediate { try await plugin.call("next", "i32()").value } }
    for (index, call) in calls.enumerated() { #expect(try await call.value == .signed(Int64(index))) }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("a cancelled task leaves the line; one whose call is under way ends the run, and the line with it")
  func cancelling() async throws {
    let (host, plugin) = try await plugin()
    defer { host.stop() }
    func start(_ symbol: String) -> Task<HostError?, Never> {
      Task.immediate { await failure { () throws(HostError) in try await plugin.call(symbol, "i32()") } }
    }
    let (underWay, second, third) = (start("wait_for_ever"), start("next"), start("next"))
    second.cancel()
    guard case .cancelled = await second.value else {
      Issue.record("the second call wasn't cancelled")
      return
    }
    underWay.cancel()
    for call in [underWay, third] { #expect(await call.value?.report?.outcome.kind == .cancelled) }
    #expect(await plugin.end().outcome.kind == .cancelled)
  }

  @Test(
    "a cancelled load ends at once, however long its constructor may take", arguments: [false, true])
  func cancelledLoad(isUnderWay: Bool) async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <unistd.h>
      static __attribute__((constructor)) void begin(void) {
        open("/container/begun", O_CREAT | O_WRONLY, 0600);
        for (;;) pause();
      }
      """, "-O1 -o sleeps.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    // The server's start isn't what is waited for.
    _ = try await host.walls()
    var options = PluginHost.LoadOptions()
    options.container = try LibraryTests.folder()
    let begun = try #require(options.container) + "/begun"
    let load = Task { [options] () -> HostError? in
      if !isUnderWay { withUnsafeCurrentTask { $0?.cancel() } }
      do throws(HostError) {
        let plugin = try await host.load(
          folder + "/sleeps.so", policy: Policy(limits: Limits(wallTime: .seconds(3000))), options: options)
        _ = await plugin.end()
        return nil
      } catch {
        return error
      }
    }
    if isUnderWay {
      while !FileManager.default.fileExists(atPath: begun) { try await Task.sleep(for: .milliseconds(5)) }
      load.cancel()
    }
    let error = await load.value
    if isUnderWay {
      #expect(error?.report?.outcome.kind == .cancelled, "\(String(describing: error))")
    } else if case .cancelled = error {
      #expect(!FileManager.default.fileExists(atPath: begun))
    } else {
      Issue.record("\(String(describing: error))")
    }
  }

  @Test("a task that was cancelled before makes no call") func cancelledBefore() async throws {
    let (host, plugin) = try await plugin()
    defer { host.stop() }
    let call = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await failure { () throws(HostError) in try await plugin.call("next", "i32()") }
    }
    guard case .cancelled = await call.value else {
      Issue.record("a call was made")
      return
    }
    #expect(try await plugin.call("next", "i32()").value == .signed(0))
    _ = await plugin.end()
  }

  @Test("frameBytes bounds arguments and out(N), to the byte where the plugin's memory holds them") func longFrames()
    async throws
  {
    var limits = Limits(wallTime: .seconds(40), memory: 128 << 20)
    limits.frameBytes = 16 << 20
    let (host, plugin) = try await plugin(limits)
    defer { host.stop() }
    let bytes = (0..<15 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let sum = bytes.reduce(UInt64(0)) { $0 + UInt64($1) }
    let called = try await plugin.call("sum", "u64(bytes,u64)", .bytes(bytes), .unsigned(UInt64(bytes.count)))
    #expect(called.value == .unsigned(sum))
    // The value, three lists, no decision, and the size of the one buffer.
    let count = limits.frameBytes - 9 - 12 - 1 - 4
    let filled = try await plugin.call("memset", "pointer(out(\(count)),i32,u64)", 65, .unsigned(UInt64(count)))
    #expect(filled.out.first?.count == count && filled.out.first?.allSatisfy { $0 == 65 } == true)
    let error = await failure { () throws(HostError) in
      try await plugin.call("memset", "pointer(out(\(count + 1)),i32,u64)", 65, 0)
    }
    guard case .usage = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("@FILE and out(N) beyond 1 MiB work from the command line within --memory") func longFromTheCommandLine() throws
  {
    let file = try Workspace.temporaryFile(String(repeating: "a", count: 6_000_000), suffix: ".txt")
    defer { try? FileManager.default.removeItem(atPath: file) }
    let arguments = ["libc.so.6", "strnlen", "u64(bytes,u64)", "@\(file)", "9000000"]
    let called = try Workspace.run(["call"] + arguments + ["--memory", "64MiB"])
    #expect(called.output == "6000000\n", "\(called.errors)")
    // It has the memory of a plugin that wasn't given any.
    #expect(try Workspace.run(["call"] + arguments).status == 14)
    let out = try Workspace.run(["call", "libc.so.6", "memset", "pointer(out(2000000),i32,u64)", "65", "2000000"])
    #expect(out.status == 0 && out.output.contains(String(repeating: "41", count: 1000)), "\(out.errors)")
  }
}
