import Foundation
import HostProtocol
import PluginHost
import Sandbox
import Synchronization
import TestSupport
import Testing

/// Functions of the host's that plugins call.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CallbackTests {
  private static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(CallbackPlugin.source, "-O1 -w -o calls.so -lpthread", in: folder)
    return folder + "/calls.so"
  }

  private func plugin(
    _ library: String? = nil, _ host: PluginHost, wall: Duration = .seconds(40), cpu: Duration = .seconds(40)
  ) async throws -> Plugin {
    try await host.load(
      library ?? Self.library.get(), policy: Policy(limits: Limits(wallTime: wall, cpu: cpu, memory: 64 << 20)))
  }

  private func report(_ body: () async throws -> Void) async -> RunReport? {
    do {
      try await body()
      return nil
    } catch { return (error as? HostError)?.report }
  }

  @Test("qsort compares by a closure, on whatever it points to") func sorting() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let libc = try await plugin("libc.so.6", host)
    let compared = Mutex(0)
    let reply = try await libc.call(
      "qsort", "void(inout [6]i32,u64,u64,callback)", [5, -3, 9, 0, 9, 1], 6, 4,
      .callback("i32(&i32,&i32)") { values in
        compared.withLock { $0 += 1 }
        let (one, other) = (try values[0].int32, try values[1].int32)
        return one < other ? -1 : one > other ? 1 : 0
      })
    #expect(
      try reply.output(0).fields.map { (value) throws(CallValueError) in try value.int32 } == [-3, 0, 1, 5, 9, 9])
    #expect(compared.withLock { $0 } >= 5)
    let found = try await libc.call(
      "bsearch", "handle(&{u8,[3]u8},&[3]{u8,[3]u8},u64,u64,callback)", [2, .bytes([])],
      [[1, .bytes([])], [2, .bytes([7, 8, 9])], [3, .bytes([])]], 3, 4,
      .callback("i32(&{u8,[3]u8},&{u8,[3]u8})") { values in
        .integer(Int64(try values[0].fields[0].int32 - values[1].fields[0].int32))
      })
    #expect(try found.handle.description == "handle 1")
    #expect(await libc.end().outcome.kind == .returned)
  }

  @Test("SQLite's rows come as strings") func rows() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let sqlite = try await plugin("libsqlite3.so.0", host)
    let database = try await sqlite.call("sqlite3_open", "i32(cstring,out handle)", ":memory:").output(0).handle
    let rows = Mutex<[[String]]>([])
    let run: @Sendable (String) async throws -> CallResult = { statement in
      try await sqlite.call(
        "sqlite3_exec", "i32(handle,cstring,callback,pointer,out pointer)", .handle(database), .text(statement),
        .callback("i32(pointer,i32,cstrings(1),cstrings(1))") { values in
          let (texts, names) = (try values[2].fields, try values[3].fields)
          rows.withLock { rows in
            rows.append(zip(names, texts).map { "\((try? $0.string) ?? "?"): \((try? $1.string) ?? "NULL")" })
          }
          return 0
        }, nil)
    }
    #expect(try await run("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'one'), (2, NULL)").int32 == 0)
    #expect(try await run("SELECT a, b FROM t").int32 == 0)
    #expect(rows.withLock { $0 } == [["a: 1", "b: one"], ["a: 2", "b: NULL"]])
    // Without one.
    #expect(
      try await sqlite.call(
        "sqlite3_exec", "i32(handle,cstring,callback,pointer,out pointer)", .handle(database), "DELETE FROM t", nil, nil
      ).int32 == 0)
    #expect(await sqlite.end().outcome.kind == .returned)
  }

  @Test("every kind of argument and result arrives exactly, in registers and on the stack") func everyKind()
    async throws
  {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let seen = Mutex<[CallValue]>([])
    let result = try await plugin.call(
      "every", "f64(callback)",
      .callback("f64(i8,u8,i16,u16,i32,u32,i64,u64,f32,f64,pointer,cstring,f32,f64)") { values in
        seen.withLock { $0 = values }
        return 0.1
      })
    #expect(try result.double == 0.1)
    #expect(
      seen.withLock { $0 } == [
        .signed(-1), .unsigned(255), .signed(-2), .unsigned(65535), .signed(-3), .unsigned(4_294_967_295),
        .signed(.min), .unsigned(.max), .single(1.5), .double(2.5), .pointer(77), .cstring(Array("text".utf8)),
        .single(-0.5), .double(1e300),
      ])
    #expect(try await plugin.call("single", "f32(callback)", .callback("f32()") { _ in -1.25 }).float == -1.25)
    #expect(try await plugin.call("small", "i8(callback)", .callback("i8()") { _ in -128 }).int8 == -128)
    let mine = try await plugin.call("mine", "handle()").handle
    let same = try await plugin.call(
      "self", "handle(callback)", .callback("handle(handle)") { values in .handle(try values[0].handle) })
    #expect(try same.handle == mine)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("a closure that throws ends its call with that error, and the plugin goes on") func throwing() async throws {
    struct Refused: Error {}
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let calls = Mutex(0)
    do throws(HostError) {
      _ = try await plugin.call(
        "many", "i32(callback,i32)",
        .callback("i32(i32)") { _ in
          calls.withLock { $0 += 1 }
          throw Refused()
        }, 10)
      Issue.record("no error")
    } catch {
      guard case .callback(let inner) = error, inner is Refused else {
        Issue.record("\(error)")
        return
      }
    }
    // What follows isn't asked: the plugin is given 0.
    #expect(calls.withLock { $0 } == 1)
    do throws(HostError) {
      _ = try await plugin.call("call", "i32(callback,i32)", .callback("i32(i32)") { _ in "text" }, 1)
      Issue.record("text was an i32")
    } catch { #expect("\(error)".contains("the callback's result doesn't fit i32"), "\(error)") }
    #expect(try await plugin.call("call", "i32(callback,i32)", .callback("i32(i32)") { _ in 3 }, 1).int32 == 3)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("a closure may take its time: it isn't the plugin's processor time, but the call's") func time() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let busy = try await plugin(nil, host, cpu: .milliseconds(300))
    let reply = try await busy.call(
      "call", "i32(callback,i32)",
      .callback("i32(i32)") { _ in
        let end = ContinuousClock.now + .seconds(1)
        while ContinuousClock.now < end {}
        return 4
      }, 1)
    #expect(try reply.int32 == 4)
    let report = await busy.end()
    #expect(report.outcome.kind == .returned && report.usage.cpuSeconds < 0.3, "\(report.usage)")
    let slow = try await plugin(nil, host, wall: .milliseconds(300))
    let isCancelled = Mutex(false)
    let ended = await self.report {
      _ = try await slow.call(
        "call", "i32(callback,i32)",
        .callback("i32(i32)") { _ in
          try? await Task.sleep(for: .seconds(100))
          isCancelled.withLock { $0 = Task.isCancelled }
          return 4
        }, 1)
    }
    #expect(ended?.outcome.kind == .wallTimeExceeded)
    while !isCancelled.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test("cancelling a call ends the run while its callback is under way") func cancelling() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let (began, tell) = AsyncStream.makeStream(of: Void.self)
    let call = Task {
      await report {
        _ = try await plugin.call(
          "call", "i32(callback,i32)",
          .callback("i32(i32)") { _ in
            tell.yield()
            try await Task.sleep(for: .seconds(100))
            return 4
          }, 1)
      }
    }
    for await _ in began { break }
    call.cancel()
    #expect(await call.value?.outcome.kind == .cancelled)
    #expect(await plugin.end().outcome.kind == .cancelled)
  }

  @Test("a callback can't call its own plugin, and may call another one") func nesting() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let (plugin, other) = (try await plugin(nil, host), try await plugin("libc.so.6", host))
    let sentence = Mutex("")
    let reply = try await plugin.call(
      "call", "i32(callback,i32)",
      .callback("i32(i32)") { _ in
        do throws(HostError) {
          _ = try await plugin.call("call_kept", "i32(i32)", 1)
        } catch { sentence.withLock { $0 = "\(error)" } }
        // By way of another plugin's callback neither.
        let compared = try await other.call(
          "bsearch", "pointer(&i32,&i32,u64,u64,callback)", 1, 1, 1, 4,
          .callback("i32(&i32,&i32)") { _ in
            do throws(HostError) {
              _ = try await plugin.allocate(1)
              return 1
            } catch { return 0 }
          })
        return try await compared.isNull ? -1 : .integer(Int64(other.call("abs", "i32(i32)", -6).int32))
      }, 1)
    #expect(try reply.int32 == 6)
    #expect(sentence.withLock { $0 }.contains("a callback can't call the plugin that called it"))
    for plugin in [plugin, other] { #expect(await plugin.end().outcome.kind == .returned) }
  }

  @Test("any thread of the plugin's may call it while its call is under way") func threads() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let reply = try await plugin.call(
      "on_thread", "i32(callback)", .callback("i32(i32)") { values in .integer(Int64(try values[0].int32 * 2)) })
    #expect(try reply.int32 == 10)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("one whose call is over ends the run, in another call and between calls") func afterItsCall() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let first = try await plugin(nil, host)
    _ = try await first.call("keep", "i32(callback)", .callback("i32(i32)") { _ in 1 })
    let inAnother = await report { _ = try await first.call("call_kept", "i32(i32)", 1) }
    #expect(inAnother?.outcome.kind == .protocolViolation, "\(String(describing: inAnother?.outcome))")
    let second = try await plugin(nil, host)
    _ = try await second.call("keep", "i32(callback)", .callback("i32(i32)") { _ in 1 })
    // A number of its own: the old function isn't taken for the new one.
    let another = await report {
      _ = try await second.call("keep", "i32(callback)", .callback("i32(i32)") { _ in 2 })
      _ = try await second.call("many", "i32(callback,i32)", .callback("i32(i32)") { _ in 3 }, 2)
      _ = try await second.call("call_kept", "i32(i32)", 1)
    }
    #expect(another?.outcome.kind == .protocolViolation)
    let third = try await plugin(nil, host)
    _ = try await third.call("later", "i32(callback)", .callback("i32(i32)") { _ in 1 })
    // Not frozen, so that its thread comes to call.
    let between = await report {
      while true { _ = try await third.call("many", "i32(callback,i32)", .callback("i32(i32)") { _ in 1 }, 1) }
    }
    #expect(between?.outcome.kind == .protocolViolation)
  }

  @Test("a signal handler that calls it while the same thread waits for it is the plugin's mistake") func reentered()
    async throws
  {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let ended = await report {
      _ = try await plugin.call(
        "interrupts", "i32(callback)",
        .callback("i32(i32)") { _ in
          try await Task.sleep(for: .seconds(100))
          return 1
        })
    }
    #expect(
      ended?.outcome.kind == .crashed
        && ended?.outcome.detail.hasPrefix("it called a function of the host's on a thread on which one was") == true,
      "\(String(describing: ended?.outcome))")
  }

  @Test("a call that returns while its callback is under way ends the run") func leaving() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let ended = await report {
      _ = try await plugin.call(
        "leaves", "i32(callback)",
        .callback("i32(i32)") { _ in
          try await Task.sleep(for: .seconds(100))
          return 1
        })
    }
    #expect(ended?.outcome.kind == .protocolViolation)
    #expect(ended?.outcome.detail.contains("callback is under way") == true, "\(String(describing: ended?.outcome))")
  }

  @Test(
    "wild addresses, counts that lie and forged calls end the run, and nothing else",
    arguments: [
      ("wild", "i32(callback,i32)", "i32(&i32)", [1], .crashed),
      ("wild_text", "i32(callback)", "i32(cstring)", [], .crashed),
      ("count", "i32(callback,i32,i32)", "i32(i32,cstrings(0))", [-1, 0], .protocolViolation),
      ("count", "i32(callback,i32,i32)", "i32(i32,cstrings(0))", [4097, 5000], .protocolViolation),
      ("bytes", "i32(callback,i64)", "i32(bytes(1),i64)", [-1], .protocolViolation),
      ("bytes", "i32(callback,i64)", "i32(bytes(1),i64)", [1_048_577], .protocolViolation),
      ("bytes", "i32(callback,i64)", "i32(bytes(1),i64)", [.integer(.max)], .protocolViolation),
      ("forges", "i32(callback,i32,i32)", "i32(i32)", [63, 0], .protocolViolation),
      ("forges", "i32(callback,i32,i32)", "void()", [0, 0], .protocolViolation),
      ("forges", "i32(callback,i32,i32)", "i32(i64)", [0, 1], .protocolViolation),
    ] as [(String, String, String, [CallArgument], Outcome.Kind)])
  func hostile(
    _ symbol: String, _ signature: String, _ callback: String, _ arguments: [CallArgument], _ kind: Outcome.Kind
  ) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let ended = await report {
      _ = try await plugin.call(
        symbol, signature,
        arguments: [
          .callback(callback) { _ in
            try await Task.sleep(for: .milliseconds(200))
            return 0
          }
        ] + arguments)
    }
    #expect(ended?.outcome.kind == kind, "\(String(describing: ended?.outcome))")
    let next = try await self.plugin(nil, host)
    #expect(try await next.call("call", "i32(callback,i32)", .callback("i32(i32)") { _ in 9 }, 1).int32 == 9)
    _ = await next.end()
  }

  @Test("NULL, 4,096 strings and 1 MiB are within the bounds") func withinBounds() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let null = try await plugin.call(
      "wild", "i32(callback,i32)", .callback("i32(&i32)") { values in values[0].isNull ? 1 : 0 }, 0)
    #expect(try null.int32 == 1)
    let texts = try await plugin.call(
      "count", "i32(callback,i32,i32)",
      .callback("i32(i32,cstrings(0))") { values in .integer(Int64(try values[1].fields.count)) }, 4096, 4096)
    #expect(try texts.int32 == 4096)
    let bytes = try await plugin.call(
      "bytes", "i32(callback,i64)",
      .callback("i32(bytes(1),i64)") { values in .integer(Int64(try values[0].data.count)) },
      1_048_576)
    #expect(try bytes.int32 == 1 << 20)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("a million calls of it end by the call's time, and a thousand return") func often() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let sum = try await plugin.call(
      "many", "i32(callback,i32)", .callback("i32(i32)") { values in .integer(Int64(try values[0].int32)) }, 1000)
    #expect(try sum.int32 == 499_500)
    #expect(await plugin.end().outcome.kind == .returned)
    let endless = try await self.plugin(nil, host, wall: .seconds(1))
    let ended = await report {
      _ = try await endless.call("many", "i32(callback,i32)", .callback("i32(i32)") { _ in 0 }, 1_000_000)
    }
    #expect(ended?.outcome.kind == .wallTimeExceeded)
  }

  @Test("what is no callback is refused before anything is called") func refusals() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await plugin(nil, host)
    let one = CallArgument.callback("i32(i32)") { _ in 1 }
    func refusal(_ signature: String, _ arguments: [CallArgument]) async -> String {
      do throws(HostError) {
        _ = try await plugin.call("call", signature, arguments: arguments)
        return ""
      } catch { return "\(error)" }
    }
    #expect(await refusal("i32(pointer,i32)", [one, 1]).contains("argument 1 doesn't fit pointer"))
    #expect(await refusal("i32(callback,i32)", [5, 1]).contains("argument 1 doesn't fit callback"))
    #expect(
      await refusal("i32(callback)", [.callback("cstring()") { _ in 1 }]).contains("can't be returned by a callback"))
    let all = "i32(" + Array(repeating: "callback", count: 17).joined(separator: ",") + ")"
    #expect(await refusal(all, Array(repeating: one, count: 17)).contains("at most 16 callbacks"))
    #expect(await plugin.end().outcome.kind == .returned)
  }
}
