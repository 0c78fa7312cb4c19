import Foundation
import Glibc
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Files that nobody has read since the machine started, under a limit of memory that they exceed many times.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct ColdCacheTests {
  private static let bytes = 96 << 20
  private static let touches: UInt32 = 100_000

  /// Touches pages of a mapping at random, the same ones in the plugin and without walls.
  private static let source = """
    #include <fcntl.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <unistd.h>
    uint64_t touch(const char *path, uint32_t count) {
      struct stat status;
      int file = open(path, O_RDONLY);
      if (file < 0 || fstat(file, &status) < 0) return 0;
      volatile const char *memory = mmap(0, status.st_size, PROT_READ, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED) return 0;
      uint64_t state = 1, sum = 1, pages = status.st_size / 4096;
      for (uint32_t turn = 0; turn < count; turn++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += memory[(state >> 33) % pages * 4096];
      }
      munmap((void *)memory, status.st_size);
      close(file);
      return sum;
    }
    """

  private static func drop(_ path: String) {
    let file = open(path, O_RDONLY)
    fsync(file)
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
    close(file)
  }

  /// The limit is for the plugin's own memory. Reading from the disk is no use of the processor, either.
  @Test func aMappingIsReadAsQuicklyAsWithoutWalls() async throws {
    // Where the file lies in memory, nothing of it can be dropped.
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let data = "\(folder)/data"
    var content = Data(count: Self.bytes)
    content.withUnsafeMutableBytes { memory in
      for page in 0..<Self.bytes / 4096 { memset(memory.baseAddress! + page * 4096, Int32(page & 0xff), 4096) }
    }
    try content.write(to: URL(fileURLWithPath: data))
    try Self.source.write(toFile: "\(folder)/touch.c", atomically: true, encoding: .utf8)
    let compiled = try Workspace.run(
      ["-O1", "-shared", "-fPIC", "-o", "\(folder)/touch.so", "\(folder)/touch.c"], program: "/usr/bin/cc")
    try #require(compiled.status == 0, "\(compiled.errors)")
    let library = try #require(dlopen("\(folder)/touch.so", RTLD_NOW))
    defer { dlclose(library) }
    typealias Touch = @convention(c) (UnsafePointer<CChar>, UInt32) -> UInt64
    let touch = unsafeBitCast(try #require(dlsym(library, "touch")), to: Touch.self)
    let host = try Workspace.host()
    var policy = Policy(limits: Limits(wall: .seconds(60), cpu: .seconds(5), memory: 8 << 20))
    policy.read = [data]
    let clock = ContinuousClock()
    var (bare, walled) = ([Duration](), [Duration]())
    for _ in 0..<3 {
      Self.drop(data)
      var sum: UInt64 = 0
      bare.append(clock.measure { sum = touch(data, Self.touches) })
      try #require(sum > 1)
      let plugin = try await host.load("\(folder)/touch.so", policy: policy)
      Self.drop(data)
      let began = clock.now
      let reply = try await plugin.call("touch", "u64(cstring,u32)", .text(data), .unsigned(UInt64(Self.touches)))
      walled.append(clock.now - began)
      #expect(reply.value == .unsigned(sum))
      let report = await plugin.end()
      #expect(report.outcome.kind == .returned && report.usage.peakMemoryBytes <= 8 << 20)
    }
    // One that was disturbed says nothing.
    let (best, worst) = (try #require(walled.min()), try #require(bare.max()))
    #expect(best < worst * 4, "\(walled) beside \(bare)")
  }
}
