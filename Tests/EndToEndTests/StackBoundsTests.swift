import PluginHost
import TestSupport
import Testing

/// Garbage collectors (libgc, which Guile has) and interpreters ask the C library where the stack of their thread is, which reads
/// /proc/self/maps for the first one.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct StackBoundsTests {
  @Test("A plugin learns where its first thread's stack is, and nothing else of /proc", arguments: [false, true])
  func bounds(grantsPath: Bool) async throws {
    let host = try Workspace.host()
    var policy = Policy()
    // A root of its own is built for such a run.
    if grantsPath { policy.read = ["/etc/hostname"] }
    let plugin = try await host.load("libc.so.6", policy: policy)
    let thread = try await plugin.call("pthread_self", "u64()").uint64
    let attributes = try await plugin.call("pthread_getattr_np", "i32(u64,out(56))", .unsigned(thread))
    #expect(try attributes.int32 == 0)
    let stack = try await plugin.call(
      "pthread_attr_getstack", "i32(bytes,out(8),out(8))", .bytes(attributes.out[0]))
    let (start, size) = (Self.integer(stack.out[0]), Self.integer(stack.out[1]))
    #expect(size >= 64 << 10)
    // The kernel puts the bytes of AT_RANDOM, arguments and environment above the first frame, where the C library's count may
    // have ended: execve(2) takes at most 128 KiB of one.
    let random = try await plugin.call("getauxval", "u64(u64)", 25).uint64
    #expect((start..<start + size + 1 << 17).contains(random), "AT_RANDOM lies on the first thread's stack")
    for name in ["self", "1", "self/status", "self/mem", "cpuinfo"] {
      #expect(
        try await plugin.call("access", "i32(cstring,i32)", .text("/proc/\(name)"), 4).int32
          == (name == "self" ? 0 : -1))
    }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  private static func integer(_ bytes: [UInt8]) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
