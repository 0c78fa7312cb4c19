import Foundation
import HostProtocol
import PluginHost
import Sandbox
import Synchronization
import TestSupport
import Testing

/// Callbacks that fill what the plugin has room for, and those that stay until they are released.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct LastingCallbackTests {
  private static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <pthread.h>
      #include <stdint.h>
      #include <string.h>
      #include <sys/mman.h>
      #include <unistd.h>
      typedef long (*reader)(void *, char *, long);
      typedef int (*simple)(int);
      struct table { int version; simple function; };
      static reader kept_reader;
      static struct table kept;
      static char before[4096], room[2 << 20], after[4096];
      int keep(simple f) { kept.function = f; return 0; }
      int keep_table(const struct table *t) { kept = *t; return kept.version; }
      int call_kept(int value) { return kept.function(value); }
      static void *from_thread(void *value) { return (void *)(intptr_t)kept.function((int)(intptr_t)value); }
      int call_on_thread(int value) {
        pthread_t thread; void *result;
        if (pthread_create(&thread, 0, from_thread, (void *)(intptr_t)value)) return -1;
        pthread_join(thread, &result);
        return (int)(intptr_t)result;
      }
      static void *late(void *value) { for (;;) from_thread(value); }
      int later(void) { pthread_t thread; return pthread_create(&thread, 0, late, 0); }
      int many_threads(int count) {
        pthread_t threads[16]; long sum = 0;
        for (int i = 0; i < count && i < 16; i++) pthread_create(&threads[i], 0, from_thread, (void *)(intptr_t)i);
        for (int i = 0; i < count && i < 16; i++) { void *result; pthread_join(threads[i], &result); sum += (intptr_t)result; }
        return (int)sum;
      }
      long fill(reader f, long size) { memset(before, 7, sizeof before); memset(room, 7, sizeof room); memset(after, 7, sizeof after); return f(0, room, size); }
      int is_untouched(long from) {
        for (long i = from; i < (long)sizeof room; i++) if (room[i] != 7) return 0;
        return !memcmp(before, after, sizeof before) && before[0] == 7;
      }
      void copy(char *to, long count) { memcpy(to, room, count); }
      long keep_reader(reader f) { kept_reader = f; return 0; }
      long read_all(long step) { long sum = 0, n; while ((n = kept_reader(0, room, step)) > 0) for (long i = 0; i < n; i++) sum += room[i]; return n < 0 ? n : sum; }
      long fill_null(reader f) { return f(0, 0, 16); }
      long fill_wild(reader f) { return f(0, (char *)0xdead000, 16); }
      long fill_constant(reader f) {
        char *page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return f(0, page, 16);
      }
      long value(int (*f)(int64_t *, struct table *)) {
        int64_t number = 1; struct table t = {2, 0};
        int result = f(&number, &t);
        return result + number * 10 + t.version * 1000 + (t.function ? 100000 : 0);
      }
      """, "-O1 -w -o fills.so -lpthread", in: folder)
    return folder + "/fills.so"
  }

  private func plugin(_ host: PluginHost, wall: Duration = .seconds(40)) async throws -> Plugin {
    try await host.load(
      Self.library.get(), policy: Policy(limits: Limits(wallTime: wall, cpu: .seconds(40), memory: 64 << 20)))
  }

  private func error(_ body: () async throws -> Void) async -> HostError? {
    do {
      try await body()
      return nil
    } catch { return error as? HostError }
  }

  // MARK: Filling

  @Test("a closure fills the plugin's buffer, up to what it has room for and no byte beyond") func fills() async throws
  {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    for (size, content) in [(8, 8), (8, 3), (8, 0), (1 << 20, 1 << 20)] {
      let bytes = (0..<content).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let reply = try await plugin.call(
        "fill", "i64(callback,i64)",
        .callback("i64(pointer,out(2),i64)") { values in
          let count = try values[2].int64
          #expect(count == Int64(size))
          return [.integer(Int64(content)), .bytes(bytes)]
        }, .integer(Int64(size)))
      #expect(try reply.int64 == Int64(content))
      #expect(try await plugin.call("is_untouched", "i32(i64)", .integer(Int64(content))).int32 == 1)
      if content > 0 {
        let memory = try await plugin.allocate(content)
        _ = try await plugin.call("copy", "void(pointer,i64)", .memory(memory), .integer(Int64(content)))
        #expect(try await plugin.read(memory) == bytes)
        try await plugin.free(memory)
      }
    }
    // Its result alone: nothing is filled.
    let none = try await plugin.call("fill", "i64(callback,i64)", .callback("i64(pointer,out(2),i64)") { _ in -1 }, 8)
    #expect(try none.int64 == -1)
    #expect(try await plugin.call("is_untouched", "i32(i64)", 0).int32 == 1)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("a closure writes values and structures") func values() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let reply = try await plugin.call(
      "value", "i64(callback)", .callback("i32(out i64,out {i32,pointer})") { _ in [3, 4, [5, nil]] })
    #expect(try reply.int64 == 5043)
    let half = try await plugin.call(
      "value", "i64(callback)", .callback("i32(out i64,out {i32,pointer})") { _ in [3, nil, nil] })
    #expect(try half.int64 == 2013)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test(
    "an answer that is too long, or none, ends its call, writes nothing, and the plugin goes on",
    arguments: [
      ([9, .bytes(Array(repeating: 1, count: 9))], "room for 8"), ([0, .bytes([]), .bytes([])], "3 parts"),
      ([8], "1 parts"), ([8, 5], "isn't bytes"), ([8, [256]], "isn't bytes"), (["x", .bytes([1])], "doesn't fit i64"),
      (.bytes([1]), "doesn't fit i64"),
    ] as [(CallArgument, String)])
  func misfits(_ answer: CallArgument, _ sentence: String) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let error = await error {
      _ = try await plugin.call(
        "fill", "i64(callback,i64)", .callback("i64(pointer,out(2),i64)") { _ in answer }, 8)
    }
    #expect("\(error as Any)".contains(sentence), "\(error as Any)")
    #expect(try await plugin.call("is_untouched", "i32(i64)", 0).int32 == 1)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test(
    "a buffer that isn't there, can't be written, or has less than no room ends the run, and nothing else",
    arguments: [
      ("fill_wild", nil, .crashed), ("fill_constant", nil, .crashed), ("fill", -1, .protocolViolation),
      ("fill", .integer(.min), .protocolViolation),
    ] as [(String, CallArgument?, Outcome.Kind)])
  func hostile(_ symbol: String, _ size: CallArgument?, _ kind: Outcome.Kind) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let (plugin, other) = (try await plugin(host), try await plugin(host))
    let callback = CallArgument.callback("i64(pointer,out(2),i64)") { _ in [4, .bytes([1, 2, 3, 4])] }
    let error = await error {
      _ = try await plugin.call(
        symbol, size == nil ? "i64(callback)" : "i64(callback,i64)", arguments: [callback] + (size.map { [$0] } ?? []))
    }
    #expect(error?.report?.outcome.kind == kind, "\(error as Any)")
    #expect(try await other.call("fill", "i64(callback,i64)", callback, 16).int64 == 4)
    // More than it has, which is never written to. NULL has room for nothing.
    #expect(try await other.call("fill", "i64(callback,i64)", callback, .integer(.max)).int64 == 4)
    let null = await self.error { _ = try await other.call("fill_null", "i64(callback)", callback) }
    #expect("\(null as Any)".contains("room for 0"), "\(null as Any)")
    #expect(await other.end().outcome.kind == .returned)
  }

  // MARK: Staying

  @Test("one that is registered is called in later calls, on any thread, also out of a structure, until it is released")
  func stays() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let callback = try await plugin.register("i32(i32)") { values in .integer(Int64(try values[0].int32) * 2) }
    _ = try await plugin.call("keep", "i32(callback)", .callback(callback))
    for value in 1...20 {
      #expect(try await plugin.call("call_kept", "i32(i32)", .integer(Int64(value))).int32 == Int32(value) * 2)
    }
    #expect(try await plugin.call("call_on_thread", "i32(i32)", 9).int32 == 18)
    #expect(try await plugin.call("many_threads", "i32(i32)", 16).int32 == 240)
    let other = try await plugin.register("i32(i32)") { _ in -5 }
    #expect(try await plugin.call("keep_table", "i32(&{i32,pointer})", [3, .callback(other)]).int32 == 3)
    #expect(try await plugin.call("call_kept", "i32(i32)", 1).int32 == -5)
    // Beside those of a call.
    let both = try await plugin.call(
      "fill", "i64(callback,i64)", .callback("i64(pointer,out(2),i64)") { _ in [1, .bytes([9])] }, 4)
    #expect(try both.int64 == 1)
    _ = try await plugin.call("keep", "i32(pointer)", .callback(callback))
    try await plugin.release(other)
    #expect(try await plugin.call("call_kept", "i32(i32)", 4).int32 == 8)
    try await plugin.release(callback)
    let error = await error { _ = try await plugin.call("call_kept", "i32(i32)", 1) }
    #expect(error?.report?.outcome.kind == .protocolViolation, "\(error as Any)")
    #expect(error?.report?.outcome.detail.contains("released") == true, "\(error as Any)")
  }

  @Test("a library reads as much as a registered closure has") func reads() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let left = Mutex(Array(repeating: UInt8(2), count: 1000))
    let reader = try await plugin.register("i64(pointer,out(2),i64)") { values in
      let room = try values[2].int64
      let part = left.withLock { left in
        defer { left = Array(left.dropFirst(Int(room))) }
        return Array(left.prefix(Int(room)))
      }
      return [.integer(Int64(part.count)), .bytes(part)]
    }
    _ = try await plugin.call("keep_reader", "i64(callback)", .callback(reader))
    #expect(try await plugin.call("read_all", "i64(i64)", 64).int64 == 2000)
    try await plugin.release(reader)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("SQLite tells of each row that later calls change") func updates() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let sqlite = try await host.load(
      "libsqlite3.so.0", policy: Policy(limits: Limits(wallTime: .seconds(40), memory: 32 << 20)))
    let database = try await sqlite.call("sqlite3_open", "i32(cstring,out handle)", ":memory:").output(0).handle
    let seen = Mutex<[String]>([])
    let changed = try await sqlite.register("void(pointer,i32,cstring,cstring,i64)") { values in
      let row = "\(try values[3].string) \(try values[4].int64)"
      seen.withLock { $0.append(row) }
      return nil
    }
    _ = try await sqlite.call(
      "sqlite3_update_hook", "pointer(handle,callback,pointer)", .handle(database), .callback(changed), nil)
    for statement in ["CREATE TABLE t(a)", "INSERT INTO t VALUES (7), (8)", "DELETE FROM t WHERE a = 8"] {
      let status = try await sqlite.call(
        "sqlite3_exec", "i32(handle,cstring,pointer,pointer,pointer)", .handle(database), .text(statement), nil, nil,
        nil)
      #expect(try status.int32 == 0)
    }
    #expect(seen.withLock { $0 } == ["t 1", "t 2", "t 2"])
    #expect(try await sqlite.call("sqlite3_close", "i32(handle)", .handle(database)).int32 == 0)
    try await sqlite.release(changed)
    #expect(await sqlite.end().outcome.kind == .returned)
  }

  @Test("what one throws is thrown by the call that was under way, and the next call asks again") func throwing()
    async throws
  {
    struct Refused: Error {}
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let calls = Mutex(0)
    let callback = try await plugin.register("i32(i32)") { _ in
      if calls.withLock({
        $0 += 1
        return $0
      }) == 1 {
        throw Refused()
      }
      return 6
    }
    _ = try await plugin.call("keep", "i32(callback)", .callback(callback))
    let error = await error { _ = try await plugin.call("call_kept", "i32(i32)", 1) }
    guard case .callback(let inner)? = error, inner is Refused else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(try await plugin.call("call_kept", "i32(i32)", 1).int32 == 6)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("its closure can't call its own plugin or release itself, and one that is called between calls ends the run")
  func outOfTurn() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(host)
    let sentences = Mutex<[String]>([])
    let itself = Mutex<PluginCallback?>(nil)
    let callback = try await plugin.register("i32(i32)") { [weak plugin] _ in
      guard let plugin, let callback = itself.withLock({ $0 }) else { return 0 }
      for attempt in [
        { _ = try await plugin.call("call_kept", "i32(i32)", 1) }, { try await plugin.release(callback) },
        { _ = try await plugin.register("void()") { _ in nil } },
      ] as [@Sendable () async throws -> Void] {
        do { try await attempt() } catch { sentences.withLock { $0.append("\(error)") } }
      }
      return 1
    }
    itself.withLock { $0 = callback }
    _ = try await plugin.call("keep", "i32(callback)", .callback(callback))
    #expect(try await plugin.call("call_kept", "i32(i32)", 1).int32 == 1)
    let all = sentences.withLock { $0 }
    #expect(all.count == 3 && all.allSatisfy { $0.contains("can't call the plugin that called it") }, "\(all)")
    // It is there as before.
    #expect(try await plugin.call("call_kept", "i32(i32)", 1).int32 == 1)
    let error = await error {
      _ = try await plugin.call("later", "i32()")
      // Not frozen, so that its thread comes to call.
      while true { _ = try await plugin.call("is_untouched", "i32(i64)", 2_097_152) }
    }
    #expect(error?.report?.outcome.kind == .protocolViolation, "\(error as Any)")
  }

  @Test("what isn't the plugin's, was released, or is one too many is refused before anything is called")
  func refusals() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let (plugin, other) = (try await plugin(host), try await plugin(host))
    let callback = try await plugin.register("i32(i32)") { _ in 1 }
    func refusal(_ body: () async throws -> Void) async -> String { "\(await error(body) as Any)" }
    #expect(
      await refusal { _ = try await other.call("keep", "i32(callback)", .callback(callback)) }
        .contains("another plugin"))
    #expect(await refusal { try await other.release(callback) }.contains("another plugin"))
    let ofACall = CallArgument.callback("i32(i32)") { _ in 1 }
    #expect(
      await refusal { _ = try await plugin.call("keep_table", "i32(&{i32,pointer})", [1, ofACall]) }
        .contains("isn't registered"))
    #expect(await refusal { _ = try await plugin.register("i32(") { _ in 1 } }.contains("isn't a type"))
    for _ in 1..<32 { _ = try await plugin.register("i32(i32)") { _ in 1 } }
    #expect(await refusal { _ = try await plugin.register("i32(i32)") { _ in 1 } }.contains("at most 32"))
    // A call has its own all the same.
    #expect(
      try await plugin.call("fill", "i64(callback,i64)", .callback("i64(pointer,out(2),i64)") { _ in -3 }, 4).int64
        == -3)
    try await plugin.release(callback)
    #expect(await refusal { try await plugin.release(callback) }.contains("has been released"))
    #expect(
      await refusal { _ = try await plugin.call("keep", "i32(callback)", .callback(callback)) }
        .contains("has been released"))
    _ = try await plugin.register("i32(i32)") { _ in 1 }
    for plugin in [plugin, other] { #expect(await plugin.end().outcome.kind == .returned) }
    let ended = await error { _ = try await plugin.register("i32(i32)") { _ in 1 } }
    #expect(ended?.report?.outcome.kind == .returned || "\(ended as Any)".contains("at most 32"), "\(ended as Any)")
  }

  @Test("a pool takes back callbacks that a borrower left") func pool() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    var configuration = PluginPool.Configuration()
    configuration.size = 1
    let pool = try PluginPool(
      host: host, library: try Self.library.get(),
      policy: Policy(limits: Limits(wallTime: .seconds(40), memory: 64 << 20)),
      configuration: configuration)
    let process = try await pool.withPlugin { plugin in
      _ = try await plugin.call("keep", "i32(callback)", .callback(try await plugin.register("i32(i32)") { _ in 8 }))
      #expect(try await plugin.call("call_kept", "i32(i32)", 1).int32 == 8)
      return await plugin.runnerProcess()
    }
    try await pool.withPlugin { plugin in #expect(await plugin.runnerProcess() == process) }
    // What the library remembers of it leads to no closure any more.
    let error = await error { _ = try await pool.call("call_kept", "i32(i32)", 1) }
    #expect(error?.report?.outcome.kind == .protocolViolation, "\(error as Any)")
    await pool.stop()
  }
}
