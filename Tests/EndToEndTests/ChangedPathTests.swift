import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// A refused path is read from the plugin's memory: where another of its threads could change it under way, the report says
/// so.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ChangedPathTests {
  private static let source = """
    #include <fcntl.h>
    #include <pthread.h>
    #include <stdatomic.h>
    #include <unistd.h>
    static char path[] = "/etc/shadow";
    static atomic_int begun, over;
    static void *change(void *unused) {
      begun = 1;
      while (!over) ((volatile char *)path)[5] = ((volatile char *)path)[5] == 's' ? 'S' : 's';
      return 0;
    }
    int alone(void) { return open("/etc/passwd", O_RDONLY); }
    int beside(void) {
      pthread_t other;
      if (pthread_create(&other, 0, change, 0)) return -2;
      while (!begun) {}
      int result = open(path, O_RDONLY);
      over = 1;
      pthread_join(other, 0);
      return result;
    }
    """

  @Test("A path that another thread may have changed is marked, and no other") func marked() async throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.source.write(toFile: "\(folder)/change.c", atomically: true, encoding: .utf8)
    let compiled = try Workspace.run(
      ["-shared", "-fPIC", "-pthread", "-o", "\(folder)/change.so", "\(folder)/change.c"], program: "/usr/bin/cc")
    try #require(compiled.status == 0, "\(compiled.errors)")
    var policy = Policy()
    policy.observesFiles = true
    let host = try Workspace.host()
    let plugin = try await host.load("\(folder)/change.so", policy: policy)
    for symbol in ["alone", "beside", "alone"] {
      #expect(try await plugin.call(symbol, "i32()").value == .signed(-1))
    }
    let denials = await plugin.end().denials.filter { $0.wall == "files" }
    #expect(denials.filter { $0.target == "/etc/passwd" }.map(\.mayHaveChanged) == [false])
    let changed = denials.filter { $0.target.lowercased() == "/etc/shadow" }
    #expect(!changed.isEmpty)
    #expect(!changed.map(\.mayHaveChanged).contains(false))

    func report(_ symbol: String, _ options: [String]) throws -> Workspace.Finished {
      try Workspace.run(["call", "--observe"] + options + ["\(folder)/change.so", symbol, "i32()"])
    }
    let marked = (text: try report("beside", []).errors, json: try report("beside", ["--json"]).output)
    let unmarked = (text: try report("alone", []).errors, json: try report("alone", ["--json"]).output)
    #expect(marked.text.contains("(another thread may have changed it)"))
    #expect(!unmarked.text.contains("may have changed"))
    #expect(marked.json.contains(#""mayHaveChanged":true"#) || marked.json.contains(#""mayHaveChanged" : true"#))
    #expect(unmarked.json.contains(#""mayHaveChanged":false"#) || unmarked.json.contains(#""mayHaveChanged" : false"#))
  }
}
