import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What stays between calls: memory of the plugin's, and handles to what its functions returned.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct HandleAndMemoryTests {
  private func load(
    _ library: String, _ host: PluginHost, memory: Int = 64 << 20, frameBytes: Int = 4 << 20
  ) async throws -> Plugin {
    var limits = Limits(wallTime: .seconds(40), memory: memory)
    limits.frameBytes = frameBytes
    return try await host.load(library, policy: Policy(limits: limits))
  }

  private func refusal(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return ""
    } catch {
      guard case HostError.usage(let sentence) = error else { return "not a usage error: \(error)" }
      return sentence
    }
  }

  @Test("a file of zlib is opened, written, closed and read by its handles") func zlib() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load("libz.so.1", host)
    let file = plugin.containerView + "/hello.gz"
    let written = try await plugin.call("gzopen", "handle(cstring,cstring)", .text(file), "wb").handle
    #expect(try await plugin.call("gzwrite", "i32(handle,bytes,u32)", .handle(written), "hello", 5).int32 == 5)
    #expect(try await plugin.call("gzclose", "i32(handle)", .handle(written)).int32 == 0)
    try plugin.release(written)
    #expect(
      await refusal { _ = try await plugin.call("gzclose", "i32(handle)", .handle(written)) }
        == "argument 1: handle 1 has been released")
    #expect(await refusal { try plugin.release(written) } == "handle 1 has been released")
    let read = try await plugin.call("gzopen", "handle(cstring,cstring)", .text(file), "rb").handle
    #expect(read != written)
    let reply = try await plugin.call("gzread", "i32(handle,out(16),u32)", .handle(read), 16)
    #expect(try reply.int32 == 5)
    #expect(try reply.output(0).string == "hello")
    #expect(try await plugin.call("gzclose", "i32(handle)", .handle(read)).int32 == 0)
    let missing = try await plugin.call("gzopen", "handle(cstring,cstring)", "/no/such/file", "rb")
    #expect(missing.isNull)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("SQLite's database and statements are handles that it writes to an address") func sqlite() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load("libsqlite3.so.0", host)
    let opened = try await plugin.call("sqlite3_open", "i32(cstring,out handle)", ":memory:")
    #expect(try opened.int32 == 0)
    let database = try opened.output(0).handle
    // Its number, and not its address.
    #expect(opened.out == [[1, 0, 0, 0, 0, 0, 0, 0]])
    for statement in ["CREATE TABLE t(a, b)", "INSERT INTO t VALUES (1, 'one'), (2, 'two')"] {
      let reply = try await plugin.call(
        "sqlite3_exec", "i32(handle,cstring,pointer,pointer,out pointer)", .handle(database), .text(statement), nil, nil
      )
      #expect(try reply.int32 == 0)
    }
    let prepared = try await plugin.call(
      "sqlite3_prepare_v2", "i32(handle,cstring,i32,out handle,out pointer)", .handle(database),
      "SELECT a, b FROM t ORDER BY a DESC", -1)
    let statement = try prepared.output(0).handle
    var rows: [String] = []
    while try await plugin.call("sqlite3_step", "i32(handle)", .handle(statement)).int32 == 100 {
      let number = try await plugin.call("sqlite3_column_int", "i32(handle,i32)", .handle(statement), 0).int32
      let text = try await plugin.call("sqlite3_column_text", "cstring(handle,i32)", .handle(statement), 1).string
      rows.append("\(number) \(text)")
    }
    #expect(rows == ["2 two", "1 one"])
    // The same address is the same handle.
    let owner = try await plugin.call("sqlite3_db_handle", "handle(handle)", .handle(statement)).handle
    #expect(owner == database)
    #expect(try await plugin.call("sqlite3_finalize", "i32(handle)", .handle(statement)).int32 == 0)
    #expect(try await plugin.call("sqlite3_close", "i32(handle)", .handle(database)).int32 == 0)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("libpng's handles are passed by their addresses, and come back as NULL") func png() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load("libpng16.so.16", host)
    let version = try await plugin.call("png_get_libpng_ver", "cstring(pointer)", nil).string
    let png = try await plugin.call(
      "png_create_read_struct", "handle(cstring,pointer,pointer,pointer)", .text(version), nil, nil, nil
    ).handle
    let info = try await plugin.call("png_create_info_struct", "handle(handle)", .handle(png)).handle
    let reply = try await plugin.call(
      "png_destroy_read_struct", "void(inout handle,inout handle,pointer)", .handle(png), .handle(info), nil)
    #expect(reply.outputs == [.handle(nil), .handle(nil)])
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("another plugin's handles and memory are refused, and both plugins go on") func foreign() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let (one, other) = (try await load("libc.so.6", host), try await load("libc.so.6", host))
    let theirs = try await other.call("fmemopen", "handle(pointer,u64,cstring)", nil, 100, "w+").handle
    let memory = try await other.allocate(100)
    _ = try await one.call("fmemopen", "handle(pointer,u64,cstring)", nil, 100, "w+").handle
    _ = try await one.allocate(100)
    #expect(
      await refusal { _ = try await one.call("fclose", "i32(handle)", .handle(theirs)) }
        == "argument 1: handle 1 belongs to another plugin")
    for wrong in [
      { () async throws in _ = try await one.call("strlen", "u64(pointer)", .memory(memory)) },
      { () async throws in _ = try await one.call("strlen", "u64(&{pointer})", [.memory(memory)]) },
      { () async throws in try await one.write([1], to: memory) },
      { () async throws in _ = try await one.read(memory) }, { () async throws in try await one.free(memory) },
    ] { #expect(await refusal { try await wrong() }.contains("memory 1 of 100 bytes belongs to another plugin")) }
    #expect(try await other.call("fclose", "i32(handle)", .handle(theirs)).int32 == 0)
    for plugin in [one, other] { #expect(await plugin.end().outcome.kind == .returned) }
  }

  @Test("memory is written, passed, read and freed, and nothing beyond it", arguments: [4 << 20, 1000])
  func memory(frameBytes: Int) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load("libc.so.6", host, frameBytes: frameBytes)
    let count = frameBytes > 1000 ? 3_000_000 : 3000
    let memory = try await plugin.allocate(count)
    #expect(try await plugin.read(memory, count: 100) == [UInt8](repeating: 0, count: 100))
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 | 1) }
    try await plugin.write(bytes, to: memory)
    #expect(try await plugin.read(memory) == bytes)
    try await plugin.write([0x68, 0x69, 0], to: memory, at: count - 3)
    #expect(try await plugin.call("strlen", "u64(pointer)", .memory(memory, offset: count - 3)).int == 2)
    #expect(try await plugin.call("strlen", "u64(cstring)", .memory(memory)).int == count - 1)
    let found = try await plugin.call("memchr", "handle(pointer,i32,u64)", .memory(memory), 0, .integer(Int64(count)))
    #expect(try await plugin.call("strlen", "u64(handle)", .handle(found.handle)).int == 0)
    #expect(try await plugin.read(memory, at: count - 3) == [0x68, 0x69, 0])
    #expect(try await plugin.read(memory, at: count).isEmpty)
    for wrong in [
      { () async throws in try await plugin.write([1, 2], to: memory, at: count - 1) },
      { () async throws in try await plugin.write([1], to: memory, at: -1) },
      { () async throws in _ = try await plugin.read(memory, at: count + 1) },
      { () async throws in _ = try await plugin.read(memory, at: -1) },
      { () async throws in _ = try await plugin.read(memory, count: count + 1) },
      { () async throws in _ = try await plugin.call("strlen", "u64(pointer)", .memory(memory, offset: count + 1)) },
      { () async throws in _ = try await plugin.call("strlen", "u64(&[4]u8)", .memory(memory, offset: count - 3)) },
    ] { #expect(await refusal { try await wrong() }.contains("memory 1 of \(count) bytes has no")) }
    try await plugin.free(memory)
    for wrong in [
      { () async throws in try await plugin.free(memory) }, { () async throws in _ = try await plugin.read(memory) },
      { () async throws in _ = try await plugin.call("strlen", "u64(pointer)", .memory(memory)) },
    ] { #expect(await refusal { try await wrong() }.contains("memory 1 of \(count) bytes has been freed")) }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("the plugin's memory limit bounds what is allocated, and what is touched of it is the plugin's")
  func memoryLimit() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load("libc.so.6", host, memory: 16 << 20)
    #expect(await refusal { _ = try await plugin.allocate((16 << 20) + 1) }.contains("memory limit of 16777216"))
    #expect(await refusal { _ = try await plugin.allocate(0) }.contains("at least 1 byte"))
    let memory = try await plugin.allocate(12 << 20)
    #expect(await refusal { _ = try await plugin.allocate(5 << 20) }.contains("are more than"))
    try await plugin.free(memory)
    let again = try await plugin.allocate(12 << 20)
    try await plugin.write([UInt8](repeating: 1, count: 8 << 20), to: again)
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    // Less what the runner had before its plugin came, and has given back since.
    #expect(report.usage.peakMemoryBytes >= 7 << 20)
  }

  @Test("what the last short calls before a plugin's end have touched is in its report")
  func lastCalls() async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <stdlib.h>
      #include <string.h>
      char *touch(unsigned bytes) { char *start = malloc(bytes); return start ? memset(start, 1, bytes) : 0; }
      """, "-O1 -o touch.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    for _ in 0..<20 {
      let plugin = try await load(folder + "/touch.so", host, memory: 64 << 20)
      for _ in 0..<20 { _ = try await plugin.call("touch", "pointer(u32)", 1) }
      for _ in 0..<8 { _ = try await plugin.call("touch", "pointer(u32)", 262_144) }
      let report = await plugin.end()
      #expect(report.outcome.kind == .returned)
      #expect(report.usage.peakMemoryBytes >= 7 * 262_144)
    }
  }

  @Test("a stream of zlib lies in memory, with pointers to other memory") func stream() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load("libz.so.1", host)
    let type = "{pointer,u32,u64,pointer,u32,u64,pointer,handle,pointer,pointer,pointer,i32,u64,u64}"
    let (stream, input, output) = (
      try await plugin.allocate(112), try await plugin.allocate(1 << 16), try await plugin.allocate(1000)
    )
    try await plugin.write([UInt8](repeating: 0x41, count: 1 << 16), to: input)
    try await plugin.write(
      [.memory(input), 65_536, 0, .memory(output), 1000, 0, nil, nil, nil, nil, nil, 0, 0, 0], as: type, to: stream)
    let version = try await plugin.call("zlibVersion", "cstring()").string
    #expect(
      try await plugin.call("deflateInit_", "i32(pointer,i32,cstring,i32)", .memory(stream), 9, .text(version), 112)
        .int32 == 0)
    #expect(try await plugin.call("deflate", "i32(pointer,i32)", .memory(stream), 4).int32 == 1)
    let after = try await plugin.read(stream, as: type).fields
    #expect(try after[1].uint32 == 0)
    #expect(try after[2].uint64 == 65_536)
    let length = try after[5].int
    let again = try await plugin.read(stream, as: type).fields
    #expect(try again[7].handle == after[7].handle)
    #expect(try await plugin.call("deflateEnd", "i32(pointer)", .memory(stream)).int32 == 0)
    let packed = try await plugin.read(output, count: length)
    let back = try await plugin.call(
      "uncompress", "i32(out(65536),inout u64,bytes,u64)", 65_536, .bytes(packed), .integer(Int64(length)))
    #expect(try back.output(0).data == [UInt8](repeating: 0x41, count: 1 << 16))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  private static let hostile = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      """
      #include <stdint.h>
      #include <stdlib.h>
      #include <sys/mman.h>
      #include <unistd.h>
      int unmap(char *p, unsigned long count) { return munmap((void *)((uintptr_t)p & ~4095ul), count + 4096); }
      int seal(char *p, unsigned long count) { return mprotect((void *)(((uintptr_t)p + 4095) & ~4095ul), count - 8192, PROT_READ); }
      void release(void *p) { free(p); }
      void *wild(void) { return (void *)0xdeadbeef000; }
      int touch(int *p) { return *p; }
      int wait_a_while(char *p) { usleep(300000); return p[0]; }
      """, "-O1 -o holds.so", in: folder)
    return folder + "/holds.so"
  }

  @Test(
    "a plugin that takes away its memory, or lies about a handle, harms itself alone",
    arguments: ["read", "write", "seal", "free", "wild"])
  func hostile(attempt: String) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load(try Self.hostile.get(), host)
    let memory = try await plugin.allocate(1 << 20)
    let report: RunReport?
    do {
      switch attempt {
      case "read":
        #expect(try await plugin.call("unmap", "i32(pointer,u64)", .memory(memory), 1_048_576).int32 == 0)
        _ = try await plugin.read(memory)
      case "write":
        #expect(try await plugin.call("unmap", "i32(pointer,u64)", .memory(memory), 1_048_576).int32 == 0)
        try await plugin.write([1, 2, 3], to: memory)
      case "seal":
        #expect(try await plugin.call("seal", "i32(pointer,u64)", .memory(memory), 1_048_576).int32 == 0)
        try await plugin.write([1, 2, 3], to: memory, at: 100_000)
      case "free":
        _ = try await plugin.call("release", "void(pointer)", .memory(memory))
        let second = try await plugin.allocate(32)
        _ = try await plugin.call("release", "void(pointer)", .memory(second))
        try await plugin.free(second)
      default:
        let handle = try await plugin.call("wild", "handle()").handle
        _ = try await plugin.call("touch", "i32(handle)", .handle(handle))
      }
      report = nil
    } catch { report = (error as? HostError)?.report }
    #expect(report?.outcome.kind == .crashed, "\(attempt): \(String(describing: report?.outcome))")
    // The host is none the worse.
    let next = try await load("libc.so.6", host)
    #expect(try await next.call("abs", "i32(i32)", -3).int32 == 3)
    _ = await next.end()
  }

  @Test("memory that a call under way was given isn't freed under it") func usedMemory() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await load(try Self.hostile.get(), host)
    let memory = try await plugin.allocate(100)
    try await plugin.write([42], to: memory)
    let call = Task.immediate { try await plugin.call("wait_a_while", "i32(pointer)", .memory(memory)).int32 }
    #expect(await refusal { try await plugin.free(memory) }.contains("is used by a call that is under way"))
    #expect(try await call.value == 42)
    try await plugin.free(memory)
    #expect(await plugin.end().outcome.kind == .returned)
  }
}
