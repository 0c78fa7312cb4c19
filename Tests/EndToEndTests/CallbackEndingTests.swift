import Foundation
import HostProtocol
import PluginHost
import Sandbox
import Synchronization
import TestSupport
import Testing

/// Callbacks of other threads when a call ends, and what is said of those that lie.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CallbackEndingTests {
  private static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <pthread.h>
      #include <stdint.h>
      #include <unistd.h>
      static int (*kept)(int);
      static _Atomic int answered, calls;
      void keep(int (*f)(int)) { kept = f; }
      static void *work(void *unused) { for (int left = calls; left > 0; left--) answered += kept(1); return 0; }
      int leave(int count) {
        pthread_t thread;
        calls = count;
        if (pthread_create(&thread, 0, work, 0)) return -1;
        pthread_detach(thread);
        usleep(100000);
        return 7;
      }
      int so_far(void) { return answered; }
      int lies(int (*f)(char *, int), int count) { char room[8]; return f(room, count); }
      int lies_unsigned(int (*f)(char *, uint64_t), uint64_t count) { static char room[2 << 20]; return f(room, count); }
      """, "-O1 -w -o ends.so -lpthread", in: folder)
    return folder + "/ends.so"
  }

  private func plugin(_ host: PluginHost) async throws -> Plugin {
    try await host.load(
      Self.library.get(), policy: Policy(limits: Limits(wallTime: .seconds(40), cpu: .seconds(40), memory: 64 << 20)))
  }

  @Test("a call that returns while another thread's callback is under way, which stays, waits for that and goes on")
  func waits() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let answers = Atomic(0)
    let callback = try await plugin.register("i32(i32)") { values in
      try await Task.sleep(for: .milliseconds(400))
      return .integer(Int64(answers.add(1, ordering: .relaxed).newValue))
    }
    _ = try await plugin.call("keep", "void(callback)", .callback(callback))
    for round in 1...3 {
      #expect(try await plugin.call("leave", "i32(i32)", 1).int32 == 7)
      #expect(answers.load(ordering: .relaxed) == round)
    }
    // Its thread has the answer, or has it soon.
    #expect(try await eventually { try await plugin.call("so_far", "i32()").int32 == 6 })
    try await plugin.release(callback)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("what such a callback throws is the call's, which has its time") func failsAndEnds() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    struct Refused: Error {}
    let isSlow = Atomic(false)
    let callback = try await plugin.register("i32(i32)") { values in
      try await Task.sleep(for: isSlow.load(ordering: .relaxed) ? .seconds(100) : .milliseconds(300))
      throw Refused()
    }
    _ = try await plugin.call("keep", "void(callback)", .callback(callback))
    let thrown = await #expect(throws: HostError.self) { try await plugin.call("leave", "i32(i32)", 1) }
    if case .callback(let cause)? = thrown { #expect(cause is Refused) } else { Issue.record("\(thrown as Any)") }
    #expect(try await plugin.call("so_far", "i32()").int32 == 0)
    isSlow.store(true, ordering: .relaxed)
    let ended = await #expect(throws: HostError.self) {
      try await plugin.call("leave", "i32(i32)", 1, within: .milliseconds(500))
    }
    guard case .ended(let report)? = ended else {
      Issue.record("\(ended as Any)")
      return
    }
    #expect(report.outcome.kind == .wallTimeExceeded, "\(report.outcome)")
  }

  @Test(
    "a count that can't be one is named, with what it counts",
    arguments: [
      ("lies", "i32(out(1),i32)", [-1], "callback 0 with -1 as argument 1, which counts argument 0, out(1)"),
      (
        "lies", "i32(bytes(1),i32)", [-2],
        "-2 as argument 1, which counts argument 0, bytes(1), of which there are at most 1048576"
      ),
      ("lies_unsigned", "i32(bytes(1),u64)", [1_048_577], "1048577 as argument 1, which counts argument 0, bytes(1)"),
    ] as [(String, String, [CallArgument], String)])
  func lies(_ symbol: String, _ signature: String, _ arguments: [CallArgument], _ sentence: String) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let type = symbol == "lies" ? "i32(callback,i32)" : "i32(callback,u64)"
    let error = await #expect(throws: HostError.self) {
      try await plugin.call(symbol, type, arguments: [.callback(signature) { _ in 0 }] + arguments)
    }
    guard case .ended(let report)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(report.outcome.kind == .protocolViolation)
    #expect(report.outcome.detail.contains(sentence), "\(report.outcome)")
  }
}
