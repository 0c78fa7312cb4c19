import Foundation
import TestSupport
import Testing

/// What `outrider bind` writes: for arrays, and wherever it is compiled.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct BindSourceTests {
  @Test("an array of a parameter's is read where its elements are constant, and no single number") func arrays() throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      typedef unsigned char key[4];
      typedef int three[3];
      int quad(double out[4]) { out[3] = 1; return 0; }
      int changed(three v) { return v[2]; }
      int sum(const three v) { return v[0] + v[1] + v[2]; }
      int use(const key k) { return k[0] + k[3]; }
      int one(int v[1]) { return ++v[0]; }
      int open_ended(const int v[], int n) { return v[n - 1]; }
      """, "-w -o libapi.so", in: folder)
    try FileManager.default.copyItem(atPath: "\(folder)/source.c", toPath: "\(folder)/api.h")
    let report = try BoundProgram.bind(in: folder)
    #expect(
      Dictionary(uniqueKeysWithValues: report.unbound.map { ($0.function, $0.reason) }) == [
        "quad": "it takes an array of 4 numbers that it may change",
        "changed": "it takes an array of 3 numbers that it may change",
      ])
    let ran = try BoundProgram.run(
      """
      import PluginHost
      func go() async throws {
        let host = try PluginHost()
        let library = try await Api.load(on: host)
        var number: Int32 = 6
        print(try await library.sum([1, 2, 3]), try await library.use([1, 0, 0, 4]))
        print(try await library.one(&number), number, try await library.open_ended([4, 5], 2))
      }
      try await go()
      """, in: folder, with: ["Api.swift"])
    #expect(ran.output == "6 5\n7 7 5\n", "\(ran)")
  }

  @Test("a function whose name means something else there has one of its own, and one that isn't ASCII has none")
  func takenNames() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      int load(int x) { return x + 1; }
      int load_(int x) { return x + 2; }
      int plugin(void) { return 3; }
      int Type(void) { return 4; }
      int Handle(void) { return 5; }
      int Types(void) { return 6; }
      int self(void) { return 7; }
      int String(int load) { return load + 1; }
      int naïve(int x) { return x; }
      """, "-w -o libapi.so", in: folder)
    try FileManager.default.copyItem(atPath: "\(folder)/source.c", toPath: "\(folder)/api.h")
    let report = try BoundProgram.bind(in: folder)
    #expect(report.unbound.map { "\($0.function): \($0.reason)" } == ["naïve: its name isn't ASCII"])
    let ran = try BoundProgram.run(
      """
      import PluginHost
      func go() async throws {
        let host = try PluginHost()
        let api = try await Api.load(on: host)
        print(try await api.load__(1), try await api.load_(1), try await api.plugin_(), try await api.Type_())
        print(try await api.Handle_(), try await api.Types_(), try await api.self_(), try await api.String_(7))
      }
      try await go()
      """, in: folder, with: ["Api.swift"])
    #expect(ran.output == "2 3 3 4\n5 6 7 8\n", "\(ran)")
  }

  @Test("what is written compiles where everything is the main actor's, and under any name that is taken")
  func anyIsolation() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <stdbool.h>
      #include <stddef.h>
      void *made(void *(*alloc)(size_t n)) { return alloc(3); }
      int filled(int (*read)(unsigned char *into, size_t length)) { return read(0, 0); }
      enum word { hash = 1, load, rawValue, String };
      enum word next(enum word w) { return w + 1; }
      typedef struct { bool flags[4]; } flags;
      flags made_flags(int i) { return (flags){{i & 1, i & 2, i & 4, i & 8}}; }
      """, "-w -o libapi.so", in: folder)
    try FileManager.default.copyItem(atPath: "\(folder)/source.c", toPath: "\(folder)/api.h")
    for module in ["max", "withUnsafeBytes", "Api"] {
      let end = try Workspace.run(
        ["bind", "\(folder)/api.h", "\(folder)/libapi.so", "--module", module, "--output", "\(folder)/\(module).swift"])
      try #require(end.status == 0, "\(end)")
    }
    let maps = try BoundProgram.moduleMaps().map { "-Xcc -fmodule-map-file='\($0)'" }.joined(separator: " ")
    for module in ["max", "withUnsafeBytes", "Api"] {
      let compiled = try Workspace.run(
        [
          "-c",
          """
          swiftc -typecheck -warnings-as-errors -swift-version 6 -default-isolation MainActor \
            -I '\(Workspace.products)/Modules' \(maps) '\(folder)/\(module).swift'
          """,
        ], program: "/bin/bash")
      #expect(compiled.status == 0, "\(compiled.output)\(compiled.errors)")
    }
    let ran = try BoundProgram.run(
      """
      import PluginHost
      let host = try PluginHost()
      let library = try await Api.load(on: host)
      let flags = try await library.made_flags(5)
      print(flags.flags, try await library.next(.hash_) == .load_)
      """, in: folder, with: ["Api.swift"])
    #expect(ran.output == "[true, false, true, false] true\n", "\(ran)")
  }
}
