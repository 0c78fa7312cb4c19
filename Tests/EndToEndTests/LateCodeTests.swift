import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// `libraries` of a policy: code that is mapped while a plugin runs.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct LateCodeTests {
  static let loader = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <unistd.h>
    int provided(void) { return 43; }
    int load(const char *path) {
      void *library = dlopen(path, RTLD_NOW);
      if (!library) return -1;
      int (*answer)(void) = (int (*)(void))dlsym(library, "answer");
      return answer ? answer() : -2;
    }
    static int copy(const char *from, const char *to) {
      char bytes[4096];
      int source = open(from, O_RDONLY), target = open(to, O_RDWR | O_CREAT | O_TRUNC, 0755);
      if (source < 0 || target < 0) return -3;
      for (ssize_t count; (count = read(source, bytes, sizeof bytes)) > 0;) if (write(target, bytes, count) != count) return -4;
      close(source);
      return target;
    }
    int copied(const char *from, const char *variable) {
      char to[512];
      snprintf(to, sizeof to, "%s/copy.so", getenv(variable));
      int target = copy(from, to);
      if (target < 0) return target;
      close(target);
      return load(to);
    }
    int written(const char *variable) {
      char to[512];
      snprintf(to, sizeof to, "%s/code", getenv(variable));
      int file = open(to, O_RDWR | O_CREAT, 0755);
      unsigned char code[4096] = {0xb8, 42, 0, 0, 0, 0xc3};
      if (file < 0 || write(file, code, sizeof code) != sizeof code) return -3;
      void *page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
      return page == MAP_FAILED ? errno : ((int (*)(void))page)();
    }
    int unnamed(void) {
      void *page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return page == MAP_FAILED ? errno : 0;
    }
    int writable(const char *path) {
      int file = open(path, O_RDONLY);
      void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, file, 0);
      return page == MAP_FAILED ? errno : 0;
    }
    static int descriptor, good, evil;
    static volatile int is_over;
    static void *swap(void *unused) {
      while (!is_over) { dup2(evil, descriptor); dup2(good, descriptor); }
      return unused;
    }
    /* What the host looks at and what the kernel maps may be two files: the second is one that was written. */
    int raced(const char *path) {
      char to[512];
      snprintf(to, sizeof to, "%s/race", getenv("HOME"));
      unsigned char code[4096] = "evil";
      good = open(path, O_RDONLY);
      evil = open(to, O_RDWR | O_CREAT, 0755);
      if (good < 0 || evil < 0 || write(evil, code, sizeof code) != sizeof code) return -3;
      descriptor = dup(good);
      pthread_t thread;
      if (pthread_create(&thread, 0, swap, 0)) return -4;
      int mapped = 0, through = 0;
      for (int i = 0; i < 3000; i++) {
        char *page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0);
        if (page == MAP_FAILED) continue;
        mapped++;
        if (!memcmp(page, "evil", 4)) through++;
        munmap(page, 4096);
      }
      is_over = 1;
      pthread_join(thread, 0);
      return through ? -through : mapped;
    }
    """

  struct Scene {
    /// Holds libraries, which only the test writes.
    let libraries: String
    /// Holds data.
    let data: String
    let plugin: String

    init() throws {
      let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
      (libraries, data, plugin) = ("\(folder)/libraries", "\(folder)/data", "\(folder)/plugin")
      for path in [libraries, data, plugin] {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      }
      try LibraryTests.compile("int answer(void) { return 42; }", "-o late.so", in: libraries)
      try FileManager.default.copyItem(atPath: "\(libraries)/late.so", toPath: "\(data)/late.so")
      try LibraryTests.compile(LateCodeTests.loader, "-O1 -pthread -o loader.so", in: plugin)
    }

    func remove() { try? FileManager.default.removeItem(atPath: (libraries as NSString).deletingLastPathComponent) }

    func policy(_ libraries: [String]) -> Policy {
      var policy = Policy()
      policy.libraries = libraries
      policy.read = [data]
      return policy
    }
  }

  private func value(_ scene: Scene, _ policy: Policy, _ symbol: String, _ argument: String? = nil) async throws
    -> (Int64, RunReport)
  {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load("\(scene.plugin)/loader.so", policy: policy)
    let result =
      if let argument {
        try await plugin.call(symbol, "i32(cstring)", .text(argument))
      } else {
        try await plugin.call(symbol, "i32()")
      }
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    guard case .signed(let value) = result.value else { throw CocoaError(.formatting) }
    return (value, report)
  }

  @Test("a plugin maps while it runs what the policy names, and nothing else") func named() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let late = scene.libraries + "/late.so"
    for libraries in [[scene.libraries], [late]] {
      let (value, report) = try await value(scene, scene.policy(libraries), "load", late)
      #expect(value == 42 && report.denials.isEmpty, "\(report.denials)")
    }
    // What it may read, it can't map as code; without the key it can't map anything.
    #expect(try await value(scene, scene.policy([scene.libraries]), "load", scene.data + "/late.so").0 == -1)
    var observing = scene.policy([])
    observing.observesFiles = true
    let (denied, report) = try await value(scene, observing, "load", scene.data + "/late.so")
    #expect(denied == -1)
    #expect(
      report.denials.contains { $0.operation == "mmap" && $0.target == scene.data + "/late.so" }, "\(report.denials)")
  }

  @Test("what a plugin may read it also maps while it is loaded, which no report calls denied") func whileLoading()
    async throws
  {
    let scene = try Scene()
    defer { scene.remove() }
    let file = scene.data + "/late.so"
    let source = """
      #include <dlfcn.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdlib.h>
      #include <sys/mman.h>
      static int found, own;
      __attribute__((constructor)) static void open_library(void) {
        void *library = dlopen("\(file)", RTLD_NOW);
        int (*answer)(void) = library ? (int (*)(void))dlsym(library, "answer") : 0;
        found = answer ? answer() : -1;
        int home = open(getenv("HOME"), O_TMPFILE | O_RDWR, 0700);
        own = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, home, 0) == MAP_FAILED ? errno : 0;
      }
      int load(const char *unused) { return unused ? own : found; }
      """
    try LibraryTests.compile(source, "-D_GNU_SOURCE -o loader.so", in: scene.plugin)
    var policy = scene.policy([])
    policy.observesFiles = true
    let (value, report) = try await value(scene, policy, "load", "own")
    #expect(value == Int64(EPERM))
    // Its own folder is mounted without execution also then.
    #expect(report.denials.map(\.operation) == ["mmap"], "\(report.denials)")
    #expect(report.denials.allSatisfy { !$0.target.hasSuffix("late.so") }, "\(report.denials)")
  }

  @Test("what plugins may have written isn't mapped while another one is loaded either, wherever it may be read")
  func readOfPlugins() async throws {
    let scene = try Scene()
    let file = "\(scene.data)/late.so"
    let source = """
      #include <dlfcn.h>
      static int found;
      __attribute__((constructor)) static void open_library(void) {
        void *library = dlopen("\(file)", RTLD_NOW);
        int (*answer)(void) = library ? (int (*)(void))dlsym(library, "answer") : 0;
        found = answer ? answer() : -1;
      }
      int load(const char *unused) { return found; }
      """
    try LibraryTests.compile(source, "-o loader.so", in: scene.plugin)
    #expect(try await value(scene, scene.policy([]), "load", "x").0 == 42, "nobody may write there yet")
    var writing = Policy()
    writing.write = [scene.data]
    _ = try await value(scene, writing, "load", "x")
    #expect(try await value(scene, scene.policy([]), "load", "x").0 == -1)
  }

  @Test("a file that a plugin could write to alone is never code later, nor is a folder that holds what is")
  func writtenFile() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let file = "\(scene.data)/late.so"
    var writing = Policy()
    writing.write = [file]
    _ = try await value(scene, writing, "writable", file)
    for libraries in [file, scene.data] {
      await #expect {
        try await Workspace.host().load("\(scene.plugin)/loader.so", policy: scene.policy([libraries]))
      } throws: { "\($0)".contains("plugins may write to") }
    }
    let deep = "\(scene.libraries)/a/b"
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    #expect(try await value(scene, scene.policy([scene.libraries]), "load", "\(scene.libraries)/late.so").0 == 42)
    writing.write = [deep]
    _ = try await value(scene, writing, "writable", file)
    await #expect {
      try await Workspace.host().load("\(scene.plugin)/loader.so", policy: scene.policy([scene.libraries]))
    } throws: { "\($0)".contains("holds \(deep)") }
  }

  @Test(
    "code that is granted to be read alone is in the report where other code may be mapped, and recording grants it")
  func readAlone() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let file = scene.data + "/late.so"
    var policy = scene.policy([scene.libraries])
    policy.observesFiles = true
    let (denied, report) = try await value(scene, policy, "load", file)
    let denial = try #require(report.denials.first { $0.operation == "mmap" }, "\(report.denials)")
    #expect(denied == -1 && denial.wall == "files" && denial.target == file)
    #expect(
      try await value(scene, policy, "load", scene.libraries + "/late.so").1.denials.allSatisfy {
        $0.operation != "mmap"
      })
    let (recorded, base) = (scene.data + "/recorded.yaml", scene.data + "/base.yaml")
    try "version: 2\nexecutableMemory: later\n".write(toFile: base, atomically: true, encoding: .utf8)
    let call = ["\(scene.plugin)/loader.so", "load", "i32(cstring)", file]
    let end = try Workspace.run(["policy", "record", "--output", recorded, "call", "--policy", base] + call)
    let text = try String(contentsOfFile: recorded, encoding: .utf8)
    #expect(end.status == 0 && text.contains("late.so  # mmap"), "\(end) \(text)")
    let proof = try Workspace.run(["call", "--policy", recorded] + call)
    #expect(proof.status == 0 && proof.output == "42\n", "\(proof)")
  }

  @Test("a module finds the functions of the plugin that loads it, as those of an interpreter do") func modules()
    async throws
  {
    let scene = try Scene()
    defer { scene.remove() }
    let module = "extern int provided(void); int answer(void) { return provided(); }"
    try LibraryTests.compile(module, "-o module.so", in: scene.libraries)
    let (value, report) = try await value(
      scene, scene.policy([scene.libraries]), "load", scene.libraries + "/module.so")
    #expect(value == 43 && report.denials.isEmpty, "\(report.denials)")
  }

  @Test("nothing that a plugin can write becomes code", arguments: ["HOME", "TMPDIR"])
  func written(variable: String) async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let policy = scene.policy([scene.libraries])
    #expect(try await value(scene, policy, "written", variable).0 == Int64(EPERM))
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load("\(scene.plugin)/loader.so", policy: policy)
    let copied = try await plugin.call(
      "copied", "i32(cstring,cstring)", .text(scene.libraries + "/late.so"), .text(variable))
    #expect(copied.value == .signed(-1))
    _ = await plugin.end()
    #expect(try await value(scene, policy, "unnamed").0 == Int64(EACCES))
    #expect(try await value(scene, policy, "writable", scene.libraries + "/late.so").0 == Int64(EACCES))
  }

  /// The scratch folder is mounted without execution whatever the policy is.
  @Test("code that a constructor wrote to its scratch folder and can't load is in the report")
  func writtenWhileLoading()
    async throws
  {
    let scene = try Scene()
    defer { scene.remove() }
    let source = """
      #include <dlfcn.h>
      static int found;
      \(Self.loader)
      __attribute__((constructor)) static void begin(void) { found = copied("/bundle/loader.so", "TMPDIR"); }
      int told(void) { return found; }
      """
    try LibraryTests.compile(source, "-O1 -pthread -o loader.so", in: scene.plugin)
    var policy = Policy()
    policy.observesFiles = true
    let (value, report) = try await value(scene, policy, "told")
    let denial = try #require(report.denials.first { $0.operation == "mmap" }, "\(report.denials)")
    #expect(value == -1 && denial.wall == "files" && denial.target == "/tmp/copy.so")
  }

  @Test("a library of the bundle is opened in a call where code is mapped later, which its report and recording say")
  func ofBundle() throws {
    let scene = try Scene()
    defer { scene.remove() }
    let bundle = scene.data + "/b.appex"
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    try """
    <plist version="1.0"><dict>
      <key>CFBundleExecutable</key><string>loader.so</string>
      <key>CFBundleIdentifier</key><string>com.example.app.extension</string>
    </dict></plist>
    """.write(toFile: bundle + "/Info.plist", atomically: true, encoding: .utf8)
    for (folder, name) in [(scene.plugin, "loader.so"), (scene.libraries, "late.so")] {
      try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(bundle)/\(name)")
    }
    let call = [bundle, "load", "i32(cstring)", "/bundle/late.so"]
    let denied = try Workspace.run(["call", "--observe"] + call)
    #expect(denied.output == "-1\n" && denied.errors.contains("denied by seccomp: mmap(/bundle/late.so)"), "\(denied)")
    #expect(denied.errors.contains("  policy: executableMemory: later  # lets it map code of its bundle"), "\(denied)")
    // What no line of a policy helps with isn't said to be that file's.
    let writable = try Workspace.run([
      "call", "--observe", bundle, "writable", "i32(cstring)", "/bundle/late.so",
    ])
    #expect(writable.output == "\(EACCES)\n" && writable.errors.contains("mmap(0x7, 0x2)"), "\(writable)")
    #expect(writable.errors.contains("is never writable") && !writable.errors.contains("policy: "), "\(writable)")
    let recorded = scene.data + "/recorded.yaml"
    let end = try Workspace.run(["policy", "record", "--output", recorded, "call"] + call)
    let text = try String(contentsOfFile: recorded, encoding: .utf8)
    #expect(end.status == 0 && text.contains("\nexecutableMemory: later  # mmap"), "\(end) \(text)")
    let proof = try Workspace.run(["call", "--policy", recorded] + call)
    #expect(proof.status == 0 && proof.output == "42\n" && !proof.errors.contains("denied"), "\(proof)")
  }

  @Test("a descriptor that changes under way gets nothing through") func raced() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let (mapped, _) = try await value(scene, scene.policy([scene.libraries]), "raced", scene.libraries + "/late.so")
    #expect(mapped > 0, "\(-mapped) of 3000 got through")
  }

  @Test("what a plugin may write to isn't named as code, however it is said") func refused() async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let inner = scene.libraries + "/inner"
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
    let host = try Workspace.host()
    var writes = scene.policy([scene.libraries])
    writes.write = [inner]
    var within = scene.policy([inner])
    within.write = [scene.libraries]
    var same = scene.policy([inner])
    same.write = [inner]
    for policy in [writes, within, same] {
      await #expect(throws: HostError.self) { try await host.load("\(scene.plugin)/loader.so", policy: policy) }
    }
    // Runs that are refused mark nothing, and one that writes there does.
    for _ in 0..<2 { _ = try await host.load("\(scene.plugin)/loader.so", policy: scene.policy([inner])).end() }
    var writing = Policy()
    writing.write = [inner]
    _ = try await host.load("\(scene.plugin)/loader.so", policy: writing).end()
    await #expect {
      try await host.load("\(scene.plugin)/loader.so", policy: scene.policy([inner]))
    } throws: { "\($0)".contains("plugins may write to") }
    var options = PluginHost.LoadOptions()
    options.container = scene.data + "/container"
    try FileManager.default.createDirectory(atPath: scene.data + "/container", withIntermediateDirectories: true)
    await #expect {
      try await host.load("\(scene.plugin)/loader.so", policy: scene.policy([scene.data]), options: options)
    } throws: { "\($0)".contains("could map what it wrote") }
    let bare = try Workspace.host(withoutNamespaces: [.mountNamespace])
    await #expect {
      try await bare.load("\(scene.plugin)/loader.so", policy: scene.policy([scene.data]))
    } throws: { "\($0)".contains("needs the mount namespace") }
  }
}
