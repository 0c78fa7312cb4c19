import Foundation
import Glibc
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Files that weren't read since the machine started, under a limit of memory that they exceed many times.
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
    var policy = Policy(limits: Limits(wallTime: .seconds(60), cpu: .seconds(5), memory: 8 << 20))
    policy.read = [data]
    let clock = ContinuousClock()
    var (bare, walled) = ([Duration](), [Duration]())
    var (bareCPU, walledCPU) = ([Double](), [Double]())
    for _ in 0..<3 {
      Self.drop(data)
      var sum: UInt64 = 0
      let before = Self.threadSeconds
      bare.append(clock.measure { sum = touch(data, Self.touches) })
      bareCPU.append(Self.threadSeconds - before)
      try #require(sum > 1)
      let plugin = try await host.load("\(folder)/touch.so", policy: policy)
      Self.drop(data)
      let began = clock.now
      let reply = try await plugin.call("touch", "u64(cstring,u32)", .text(data), .unsigned(UInt64(Self.touches)))
      walled.append(clock.now - began)
      #expect(reply.value == .unsigned(sum))
      let report = await plugin.end()
      #expect(report.outcome.kind == .returned && report.usage.peakMemoryBytes <= 8 << 20)
      walledCPU.append(report.usage.cpuSeconds)
    }
    // One that was disturbed says nothing.
    let (best, worst) = (try #require(walled.min()), try #require(bare.max()))
    #expect(best < worst * 4, "\(walled) beside \(bare)")
    let (least, most) = (try #require(walledCPU.min()), try #require(bareCPU.max()))
    #expect(least < most * 4, "seconds of the processor: \(walledCPU) beside \(bareCPU)")
  }

  /// What this thread has used of the processor.
  private static var threadSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// A library whose constructor touches each of its pages, in an order that reading ahead doesn't help.
  private static let large = """
    #include <stdint.h>
    extern const char blob[], blob_end[];
    __asm__(".section .rodata\\n.balign 4096\\n.globl blob\\nblob:\\n.incbin \\"" DATA "\\"\\n.globl blob_end\\nblob_end:\\n.text");
    uint64_t touched;
    __attribute__((constructor)) static void touch(void) {
      uint64_t pages = (blob_end - blob) / 4096;
      for (uint64_t page = 0; page < pages; page++) touched += blob[page * 769 % pages * 4096];
    }
    """
  private static let loader = """
    #include <dlfcn.h>
    static int loaded;
    START static void load(void) {
      static const char *const names[] = {NAMES};
      for (int i = 0; i < 3; i++)
        if (dlopen(names[i], RTLD_NOW)) loaded++;
    }
    int count(void) {
      if (!loaded) load();
      return loaded;
    }
    """

  private static let bare = """
    #include <dlfcn.h>
    int main(int count, char **arguments) {
      void *library = dlopen(arguments[count - 1], RTLD_NOW);
      return library ? ((int (*)(void))dlsym(library, "count"))() : 0;
    }
    """

  /// What the host can't know before it loads the plugin.
  @Test("what a constructor or a call opens comes as quickly as without walls", arguments: [true, false])
  func whatIsOpened(byConstructor: Bool) async throws {
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let pages = (32 << 20) / 4096
    var content = Data(count: pages * 4096)
    content.withUnsafeMutableBytes { memory in
      for page in 0..<pages { memset(memory.baseAddress! + page * 4096, Int32(page & 0xff), 4096) }
    }
    try content.write(to: URL(fileURLWithPath: "\(folder)/data"))
    func compile(_ source: String, _ name: String, _ options: [String]) throws {
      try source.write(toFile: "\(folder)/\(name).c", atomically: true, encoding: .utf8)
      let end = try Workspace.run(
        ["-O1", "-shared", "-fPIC", "-o", "\(folder)/\(name).so"] + options + ["\(folder)/\(name).c"],
        program: "/usr/bin/cc")
      try #require(end.status == 0, "\(end.errors)")
    }
    let names = ["one", "two", "three"]
    for name in names { try compile(Self.large, name, ["-DDATA=\"\(folder)/data\""]) }
    let list = names.map { "\"\(folder)/\($0).so\"" }.joined(separator: ",")
    try compile(
      Self.loader, "loader", ["-DNAMES=\(list)", "-DSTART=\(byConstructor ? "__attribute__((constructor))" : "")"])
    try Self.bare.write(toFile: "\(folder)/bare.c", atomically: true, encoding: .utf8)
    let program = try Workspace.run(["-O1", "-o", "\(folder)/bare", "\(folder)/bare.c"], program: "/usr/bin/cc")
    try #require(program.status == 0, "\(program.errors)")
    func dropAll() { for name in names + ["loader"] { Self.drop("\(folder)/\(name).so") } }
    let host = try Workspace.host()
    var policy = Policy(limits: Limits(wallTime: .seconds(60), cpu: .seconds(10), memory: 8 << 20))
    let libraries = names.map { "\(folder)/\($0).so" }
    if byConstructor { policy.read = libraries } else { policy.libraries = libraries }
    // The server has started and its limits are proved.
    _ = await (try await host.load("libc.so.6")).end()
    let clock = ContinuousClock()
    var (bare, walled) = ([Duration](), [Duration]())
    for _ in 0..<3 {
      dropAll()
      let began = clock.now
      let end = try Workspace.run(["\(folder)/loader.so"], program: "\(folder)/bare")
      bare.append(clock.now - began)
      try #require(end.status == 3, "\(end)")
      dropAll()
      let begun = clock.now
      let plugin = try await host.load("\(folder)/loader.so", policy: policy)
      let count = try await plugin.call("count", "i32()").value
      walled.append(clock.now - begun)
      #expect(count == .signed(3))
      let report = await plugin.end()
      #expect(report.outcome.kind == .returned && report.usage.peakMemoryBytes <= 8 << 20, "\(report.outcome)")
    }
    // One that was disturbed says nothing.
    let (best, worst) = (try #require(walled.min()), try #require(bare.max()))
    #expect(best < worst * 4, "\(walled) beside \(bare)")
  }
}
