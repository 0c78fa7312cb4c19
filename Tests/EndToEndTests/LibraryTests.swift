import Basics
import Foundation
import Hashing
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Which file is loaded, and what it finds beside it.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct LibraryTests {
  static func folder() throws -> String {
    let path = ProcessFolder.path + "/\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  static func compile(_ source: String, _ arguments: String, in folder: String, isProgram: Bool = false) throws {
    try source.write(toFile: "\(folder)/source.c", atomically: true, encoding: .utf8)
    let finished = try Workspace.run(
      ["-c", "cd '\(folder)' && cc \(isProgram ? "" : "-shared -fPIC") source.c \(arguments)"], program: "/bin/bash")
    try #require(finished.status == 0, "\(finished.errors)")
  }

  /// The usual layout: the name that is needed is a link to the file with its version.
  @Test func findsANeighbourThroughItsLink() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile("int deep(void) { return 42; }", "-Wl,-soname,libdeep.so.1 -o libdeep.so.1.2", in: folder)
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/libdeep.so.1", withDestinationPath: "libdeep.so.1.2")
    try Self.compile(
      "int deep(void); int use(void) { return deep(); }",
      "-o use.so -L. -l:libdeep.so.1.2 -Wl,-rpath,'$ORIGIN'",
      in: folder)
    let finished = try Workspace.run(["call", "\(folder)/use.so", "use", "i32()"])
    #expect(finished.output == "42\n", "\(finished.errors)")
  }

  /// The user who unpacked a plugin may read more than the plugin: a link in its folder would bring that along.
  @Test func followsNoNeighbourOutOfTheFolder() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["private", "plugin"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    try Self.compile("int deep(void) { return 42; }", "-Wl,-soname,libdeep.so.1 -o private/deep", in: folder)
    try Self.compile(
      "int open(const char *, int, ...); int opened(void) { return open(\"/bundle/libdeep.so.1\", 0); }",
      "-o plugin/reads.so -Wl,--no-as-needed -L. -l:private/deep -Wl,-rpath,'$ORIGIN'", in: folder)
    for target in ["../private/deep", "\(folder)/private/deep"] {
      let link = "\(folder)/plugin/libdeep.so.1"
      try? FileManager.default.removeItem(atPath: link)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      let called = try Workspace.run(["call", "\(folder)/plugin/reads.so", "opened", "i32()"])
      #expect(called.status == 10 && called.errors.contains("libdeep.so.1"), "\(called)")
      let inspected = try Workspace.run(["inspect", "\(folder)/plugin/reads.so", "--json"])
      #expect(!inspected.output.contains("private"), "\(inspected.output)")
    }
  }

  /// The loader maps shared objects only; of anything else that bears a library's name a plugin would just read.
  @Test func takesOnlySharedObjectsAsNeighbours() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile("int deep(void) { return 42; }", "-Wl,-soname,libdeep.so.1 -o libdeep.so.1", in: folder)
    try Self.compile(
      "int use(void) { return 1; }", "-o use.so -Wl,--no-as-needed -L. -l:libdeep.so.1 -Wl,-rpath,'$ORIGIN'", in: folder
    )
    #expect(try Workspace.run(["inspect", "\(folder)/use.so"]).output.contains("beside it"))
    // e_type of elf(5): ET_CORE.
    let handle = try #require(FileHandle(forUpdatingAtPath: "\(folder)/libdeep.so.1"))
    try handle.seek(toOffset: 16)
    try handle.write(contentsOf: Data([4, 0]))
    try handle.close()
    #expect(try !Workspace.run(["inspect", "\(folder)/use.so"]).output.contains("beside it"))
  }

  /// Much longer than what is kept of it; the difference lies near the end.
  @Test func hashesAllOfAFile() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/long.so"
    try Self.compile("int one(void) { return 1; }", "-o long.so", in: folder)
    try #require(truncate(path, 300 << 20) == 0)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    try handle.seek(toOffset: 299 << 20)
    try handle.write(contentsOf: Data("different".utf8))
    try handle.close()
    var hash = RunningHash(.sha256)
    let reader = try #require(FileHandle(forReadingAtPath: path))
    while let part = try reader.read(upToCount: 1 << 20), !part.isEmpty {
      part.withUnsafeBytes { hash.update($0) }
    }
    let digest = Hexadecimal.text(hash.digest)
    let finished = try Workspace.run(["call", path, "one", "i32()", "--json"])
    #expect(finished.output.contains(digest), "\(finished.errors)")
  }

  /// A file has the length that its author gave it, and reading it has no deadline.
  @Test func refusesLibrariesBeyondTheirLimit() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile("int deep(void) { return 42; }", "-Wl,-soname,libdeep.so.1 -o libdeep.so.1", in: folder)
    try Self.compile(
      "int use(void) { return 1; }", "-o use.so -Wl,--no-as-needed -L. -l:libdeep.so.1 -Wl,-rpath,'$ORIGIN'", in: folder
    )
    // Alone it may be as long as that; with the one that needs it it's more.
    for (name, size) in [("libdeep.so.1", 2 << 30), ("use.so", 20 << 30)] {
      try #require(truncate("\(folder)/\(name)", size) == 0)
      let called = try Workspace.run(["call", "\(folder)/use.so", "use", "i32()", "--wall", "300ms"])
      #expect(called.status == 66 && called.errors.contains(name) && called.errors.contains("2048 MiB"), "\(called)")
    }
  }

  @Test func keepsLittleOfALongLibrary() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile("int one(void) { return 1; }", "-o long.so", in: folder)
    let before = try Workspace.measure(["inspect", "\(folder)/long.so"])
    try #require(truncate("\(folder)/long.so", 300 << 20) == 0)
    let after = try Workspace.measure(["inspect", "\(folder)/long.so"])
    #expect(before.status == 0 && after.status == 0)
    #expect(after.peak - before.peak < 32 << 20, "\(before.peak) \(after.peak)")
  }

  @Test func searchesWhereTheLoaderDoes() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile("int mine(void) { return 7; }", "-o libmine.so.1", in: folder)
    let finished = try Workspace.run(
      ["-c", "LD_LIBRARY_PATH='\(folder)' '\(Workspace.outrider)' call libmine.so.1 mine 'i32()'"], program: "/bin/bash"
    )
    #expect(finished.output == "7\n", "\(finished.errors)")
  }

  /// A host that is killed while an extension holds a file leaves the copy; the next run in that container removes it.
  @Test func removesWhatAKilledHostHandedOver() async throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let container = "\(folder)/container"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    try Self.compile(
      """
      #include "background_assets_extension.h"
      #include <unistd.h>
      static ba_status request(const ba_host *host, const ba_content_request *request) { return BA_OK; }
      static ba_status finished(const ba_host *host, const ba_download *download, const char *path) {
        return pause();
      }
      static const ba_entry_point entries[] = {
        {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))request},
        {BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, (void (*)(void))finished}};
      static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "slow", entries, 2};
      BA_EXPORT const ba_extension *background_assets_extension(uint32_t version) { return &extension; }
      """, "-I '\(Workspace.root)/Sources/CExtension/include' -o slow.so", in: folder)
    try Workspace.manifest.write(toFile: "\(folder)/m.json", atomically: true, encoding: .utf8)
    let words = [
      "run", "\(folder)/slow.so", "--request", "install", "--manifest", "\(folder)/m.json", "--container", container,
    ]
    for signal in [SIGKILL, SIGINT] {
      let process = TestProcess()
      process.executableURL = URL(fileURLWithPath: Workspace.outrider)
      process.arguments = words + ["--finished", "a=\(folder)/m.json"]
      process.standardError = FileHandle.nullDevice
      try process.run()
      while try FileManager.default.contentsOfDirectory(atPath: container).isEmpty, process.isRunning {
        usleep(1000)
      }
      kill(process.processIdentifier, signal)
      process.waitUntilExit()
      if signal == SIGKILL { _ = try Workspace.run(words) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: container) == [])
    }
  }

  /// The loader has its own idea of such names, and another library may lie there.
  @Test func namesThatTheLoaderExpands() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (place, number) in [("$LIB", 1), ("lib/x86_64-linux-gnu", 2)] {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/x.appex/\(place)", withIntermediateDirectories: true)
      try Self.compile("int who(void) { return \(number); }", "-o 'x.appex/\(place)/x.so'", in: folder)
    }
    let list = ["CFBundleExecutable": "$LIB/x.so"]
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: "\(folder)/x.appex/Info.plist"))
    let end = try Workspace.run(["call", "\(folder)/x.appex", "who", "i32()"])
    #expect(end.status == 66 && end.output.isEmpty && end.errors.contains("the loader takes '$'"), "\(end)")
  }

  /// A policy that a program makes is held to what a file's is.
  @Test func policiesOfPrograms() async throws {
    let host = try Workspace.host()
    func refusal(_ change: (inout Policy) -> Void) async -> String {
      var policy = Policy()
      change(&policy)
      do throws(HostError) {
        _ = await (try await host.load("libc.so.6", policy: policy)).end()
        return ""
      } catch {
        return "\(error)"
      }
    }
    #expect(
      await refusal { $0.systemCalls.onDenied = ["sokket": .kill] }.contains("isn't a system call that this host knows")
    )
    #expect(await refusal { $0.systemCalls.onDenied = ["read": .kill] }.contains("never denies read"))
    let rules = (0...64 as ClosedRange<UInt64>).compactMap { try? CallRule(.kill, "prctl", argument: 0, equals: [$0]) }
    #expect(await refusal { $0.systemCalls.rules = Set(rules) }.contains("at most 64 rules"))
    #expect(await refusal { $0.systemCalls.rules = Set(rules.suffix(16)) } == "")
    for path in ["etc/hostname", "/usr/../etc", "/etc/hostname\0/x", ""] {
      #expect(await refusal { $0.read = [path] }.contains("isn't an absolute path without '..'"), "\(path)")
    }
    #expect(await refusal { $0.read = ["/etc/hostname"] } == "")
  }

  @Test func theRootIsNoContainer() throws {
    let end = try Workspace.run(["call", "libc.so.6", "abs", "i32(i32)", "1", "--container", "/proc/self/root/."])
    #expect(end.status == 64 && end.errors.contains("the container leads to /"), "\(end)")
  }

  /// The first of several threads that crash at the same moment says where.
  @Test func manyCrashesAreOne() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile(
      """
      #include <pthread.h>
      static pthread_barrier_t barrier;
      void *falls(void *nothing) {
        pthread_barrier_wait(&barrier);
        *(volatile int *)8 = 1;
        return 0;
      }
      int crash(int count) {
        pthread_t thread;
        pthread_barrier_init(&barrier, 0, count);
        for (int index = 1; index < count; index++) pthread_create(&thread, 0, falls, 0);
        falls(0);
        return 0;
      }
      """, "-pthread -O1 -o falls.so", in: folder)
    for count in 1...16 {
      let end = try Workspace.run(["call", "\(folder)/falls.so", "crash", "i32(i32)", "\(count)"])
      #expect(end.status == 11 && end.errors.contains("SIGSEGV in falls"), "\(count): \(end.errors)")
    }
  }

  /// A file that can't be handed over is refused before anything runs.
  @Test func filesToHandOver() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let container = "\(folder)/container"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    try Workspace.manifest.write(toFile: "\(folder)/m.json", atomically: true, encoding: .utf8)
    let words = [
      "run", "\(Workspace.root)/Plugins/catalog-c/catalog.so", "--request", "install", "--manifest", "\(folder)/m.json",
      "--container", container,
      "--cpu", "60s", "--wall", "60s",
    ]
    for (file, sentence) in [("none", "No such file"), ("container", "not a regular file")] {
      let end = try Workspace.run(words + ["--finished", "a=\(folder)/\(file)"])
      #expect(end.status == 66 && end.output.isEmpty && end.errors.contains(sentence), "\(end)")
    }
  }
}
