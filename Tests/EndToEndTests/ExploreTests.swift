import Basics
import Foundation
import PolicyLab
import TestSupport
import Testing

/// `outrider explore`: what is in a library, and what its functions do with surprising arguments.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ExploreTests {
  private static let source = """
    #include <stddef.h>
    #include <stdint.h>
    #include <stdlib.h>
    typedef unsigned int word;
    enum color { RED, GREEN };
    struct pair { int a, b; };
    int table[4];
    int answer(const char *name, const unsigned char *data, size_t length, enum color c) { return name[0]; }
    double mean(float a, double b) { return (a + b) / 2; }
    word sum(struct pair p, word q) { return p.a + p.b + q; }
    int say(const char *format, ...) { return 0; }
    char *copy(char *target, const char *source) { return target; }
    void nothing(void) {}
    long double big(long double x) { return x; }
    uint8_t small(int8_t a, int16_t b, const void *c) { return a + b; }
    struct pair **find(struct pair *const *p, void (*visit)(int)) { return 0; }
    struct grid { struct pair at; unsigned short cells[2][3]; struct grid *next; void (*draw)(void); };
    struct grid turned(struct grid g, int (*visit)(struct pair *, float, ...)) { g.at.a++; return g; }
    struct __attribute__((packed)) loose { char a; int b; };
    struct bits { int a : 3; };
    int loose(struct loose l) { return l.b; }
    int bits(struct bits b) { return b.a; }
    int crash(int n) { if (n > 100) *(volatile int *)0 = 1; if (n == 7) for (;;); return n; }
    static int hidden(int x) { return x; }
    int use(int x) { return hidden(x); }
    """

  private static let expected =
    [
      "answer": (
        "int answer(const char *name, const unsigned char *data, size_t length, enum color c)",
        "i32(cstring,bytes,u64,u32)"
      ),
      "mean": ("double mean(float a, double b)", "f64(f32,f64)"),
      "sum": ("word sum(struct pair p, word q)", "u32({i32,i32},u32)"),
      "say": ("int say(const char *format, ...)", "i32(cstring)"),
      "copy": ("char *copy(char *target, const char *source)", "cstring(pointer,cstring)"),
      "nothing": ("void nothing(void)", "void()"), "big": ("long double big(long double x)", nil),
      "small": ("uint8_t small(int8_t a, int16_t b, const void *c)", "u8(i8,i16,bytes)"),
      "turned": (
        "struct grid turned(struct grid g, int (*visit)(struct pair *, float, ...))",
        "{{i32,i32},[2][3]u16,pointer,pointer}({{i32,i32},[2][3]u16,pointer,pointer},pointer)"
      ),
      "loose": ("int loose(struct loose l)", nil), "bits": ("int bits(struct bits b)", nil),
      "crash": ("int crash(int n)", "i32(i32)"), "use": ("int use(int x)", "i32(i32)"),
    ] as [String: (String, String?)]

  private static func folder(_ options: String) throws -> String {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "\(options) -o a.so", in: folder)
    return folder
  }

  @Test("functions are shown as in C, with the signature that call takes", arguments: [2, 3, 4, 5])
  func signatures(version: Int) throws {
    let folder = try Self.folder("-gdwarf-\(version)")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/a.so")))
    let exploration = LibraryExploration(bytes)
    for (name, (prototype, signature)) in Self.expected {
      let found = try #require(exploration.functions.first { $0.name == name })
      #expect(found.prototype == prototype && found.signature == signature, "\(found)")
      #expect((found.problem == nil) == (signature != nil))
    }
    #expect(exploration.functions.first { $0.name == "find" }?.signature == "pointer(pointer,pointer)")
    #expect(!exploration.functions.contains { $0.name == "hidden" } && exploration.facts.variables == 1)
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(
      end.output.contains("outrider call \(folder)/a.so answer 'i32(cstring,bytes,u64,u32)' text text 0 0"), "\(end)")
    let call = try Workspace.run(["call", "\(folder)/a.so", "mean", "f64(f32,f64)", "1", "3"])
    #expect(call.output == "2.0\n")
  }

  @Test(
    "how a library is loaded is told from its file",
    arguments: [
      ("-z execstack", "an executable stack"), ("-z noexecstack", "no executable stack"),
      ("-z now -z relro", "read-only once"),
      ("-gz=zlib-gnu -g", "before 2015"), ("-gz=none -g", "no writable code"), ("-s", "without debug information"),
      ("-Wl,-z,norelro", "writable"),
    ])
  func loading(options: String, words: String) throws {
    let folder = try Self.folder(options.hasPrefix("-z") ? "-Wl,\(options.replacing(" ", with: ","))" : options)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["explore", "\(folder)/a.so"])
    #expect(end.status == 0 && (end.output + end.errors).contains(words), "\(end)")
    #expect(end.output.contains("14 functions, 1 variables"), "\(end)")
  }

  /// A call by such a signature would read other registers than the caller filled.
  @Test("what is passed otherwise than its fields say isn't offered", arguments: ["cc", "g++"])
  func passedOtherwise(compiler: String) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let shared = """
      #ifdef __cplusplus
      struct copied { int a; copied(const copied &); ~copied(); };
      struct holding { struct copied in; };
      struct base { int a; };
      struct derived : base { int b; };
      struct dynamic { int a; virtual ~dynamic(); };
      class plain { public: int a; double b; };
      extern "C" {
      int copied_one(copied c) { return c.a; }
      int holding_one(holding h) { return 1; }
      int derived_one(derived d) { return d.b; }
      int dynamic_one(dynamic *d, dynamic e) { return 1; }
      int offered(plain p) { return p.a; }
      #else
      struct plain { int a; double b; };
      int offered(struct plain p) { return p.a; }
      #define alignas _Alignas
      #endif
      typedef float four __attribute__((vector_size(16)));
      struct vector { four v; };
      struct aligned { alignas(16) long a[4]; };
      struct alone { long double big; };
      struct parts { _Complex float c; };
      struct open { int count; int more[]; };
      union either { int a; float b; };
      struct inside { int kind; union either e; };
      struct tail { double d; int a; union { int b; }; };
      int tail_one(struct tail t) { return t.a; }
      struct unnamed { int kind; union { int a; float b; }; };
      #ifndef __cplusplus
      enum sign { LESS = -1, MORE = 1 };
      struct signs { enum sign s; };
      enum sign sign_of(struct signs s) { return s.s; }
      #endif
      float bare(four v) { return v[0]; }
      float vector_one(struct vector v) { return v.v[0]; }
      long aligned_one(int x, struct aligned a) { return a.a[0]; }
      int alone_one(struct alone a) { return 1; }
      int parts_one(struct parts p) { return 1; }
      int open_one(struct open o) { return o.count; }
      int inside_one(struct inside i) { return i.kind; }
      int unnamed_one(struct unnamed u) { return u.kind; }
      #ifdef __cplusplus
      }
      namespace apart { extern "C" int apart_one(plain p) { return p.a; } int mangled(plain p) { return p.a; } }
      int plain_member(struct plain p) { return p.a; }
      struct with { int offered(int x) const; };
      int with::offered(int x) const { return x; }
      #endif
      """
    try shared.write(toFile: "\(folder)/a.cpp", atomically: true, encoding: .utf8)
    let language = compiler == "cc" ? "-x c" : "-std=c++17"
    let made = try Workspace.run(
      ["-c", "cd '\(folder)' && \(compiler) \(language) -w -g -shared -fPIC -o a.so a.cpp"], program: "/bin/sh")
    try #require(made.status == 0, "\(made)")
    let functions = LibraryExploration([UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/a.so")))).functions
    let known = functions.filter { $0.prototype != nil }
    #expect(known.count >= 9, "\(functions)")
    let offered: Set = ["offered", "apart_one", "_ZN5apart7mangledE5plain", "_Z12plain_member5plain"]
    for function in known {
      let signature =
        function.name == "sign_of" ? "i32({i32})" : offered.contains(function.name) ? "i32({i32,f64})" : nil
      #expect(function.signature == signature && (function.problem == nil) == (signature != nil), "\(function)")
    }
    guard compiler == "cc" else { return }
    // The same told by its declarations.
    let end = try Workspace.run(["explore", "--json", "\(folder)/a.so", "--header", "\(folder)/a.cpp"])
    struct Report: Decodable {
      struct Side: Decodable { var signature: String? }
      struct Function: Decodable { var name: String, header: Side? }
      var functions: [Function]
    }
    let declared = try JSONDecoder().decode(Report.self, from: Data(end.output.utf8)).functions.filter {
      $0.header != nil
    }
    #expect(declared.count == known.count, "\(end)")
    for function in declared {
      let signature = function.name == "sign_of" ? "i32({i32})" : function.name == "offered" ? "i32({i32,f64})" : nil
      #expect(function.header?.signature == signature, "\(function)")
    }
  }

  /// A line that is copied is the same call.
  @Test("the lines it prints call the functions, whatever they are called") func lines() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      struct pair { int a; double b[2]; };
      int whole(struct pair p, const char *text) { return 5; }
      int dashed(int x) { return 5; }
      int broken(int x) { return 5; }
      """, "-g -c -o a.o", in: folder)
    let made = try Workspace.run(
      [
        "-c",
        "cd '\(folder)' && objcopy --redefine-sym 'dashed=--help' --redefine-sym broken=$'a\\n\\'b' a.o && cc -shared -o a.so a.o",
      ], program: "/bin/bash")
    try #require(made.status == 0, "\(made)")
    func run(_ line: String) throws -> Workspace.Finished {
      try Workspace.run(
        ["-c", "cd '\(folder)'; outrider() { '\(Workspace.outrider)' \"$@\"; }; \(line)"], program: "/bin/bash")
    }
    let shown = try run("outrider explore a.so")
    let lines = shown.output.split(separator: "\n").filter { $0.hasPrefix("  outrider call ") }
    #expect(lines.count == 1 && lines[0].hasSuffix("'i32({i32,[2]f64},cstring)' '{0,[0,0]}' text"), "\(shown)")
    for name in ["whole", "--help", "$'a\\n\\'b'"] {
      let signature = name == "whole" ? "" : "--signature 'i32(i32)'"
      let fuzzed = try run("outrider explore a.so --function=\(name) \(signature) --fuzz 2")
      let line = try #require(
        fuzzed.output.split(separator: "\n").first { $0.hasPrefix("  outrider call ") }, "\(fuzzed)")
      let again = try run(String(line))
      #expect(again.status == 0 && again.output == "5\n", "\(line) \(again)")
    }
    let whole = try run(String(lines[0]))
    #expect(whole.status == 0 && whole.output == "5\n", "\(whole)")
  }

  @Test("files that lie are read to an end, and nothing beyond them", arguments: [PolicyRandom.seed])
  func hostile(seed: UInt64) throws {
    let folder = try Self.folder("-g")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let good = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/a.so")))
    let names = LibraryExploration(good).functions.count
    var random = SeededGenerator(seed: seed)
    for _ in 0..<400 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        bytes[at] =
          [0, 1, 0x7f, 0x80, 0xff, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
      }
      if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
      #expect(LibraryExploration(bytes).functions.count <= names + 64)
    }
    // Headers that point everywhere.
    for place in 16..<64 {
      var bytes = good
      bytes.replaceSubrange(place..<min(place + 8, 64), with: Array(repeating: 0xff, count: min(8, 64 - place)))
      _ = LibraryExploration(bytes)
    }
    for junk in [[], [0x7f], Array(repeating: 0x7f, count: 5000)] as [[UInt8]] {
      #expect(LibraryExploration(junk).functions.isEmpty)
    }
  }

  @Test("attempts are counted by how they end, and each command line repeats its one") func fuzz() throws {
    let folder = try Self.folder("-g")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // On a busy machine any of them takes longer by the clock, and how the endless ones end would depend on that.
    let words = [
      "explore", "\(folder)/a.so", "--function", "crash", "--fuzz", "40", "--cpu", "300ms", "--wall", "30s", "--json",
    ]
    let end = try Workspace.run(words)
    let report = try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any])
    let classes = try #require(report["outcomes"] as? [[String: Any]])
    #expect(classes.reduce(0) { $0 + ($1["count"] as? Int ?? 0) } == 40, "\(classes)")
    let outcomes = classes.compactMap { $0["outcome"] as? String }
    #expect(
      outcomes.contains { $0.hasPrefix("crashed: SIGSEGV in crash") } && outcomes.contains("returned"), "\(outcomes)")
    for found in classes {
      let command = try #require(found["command"] as? String)
      let again = try Workspace.run(
        ["-c", "exec \(Workspace.outrider) \(command.dropFirst("outrider ".count))"], program: "/bin/bash")
      let outcome = try #require(found["outcome"] as? String)
      #expect(again.errors.contains(outcome.prefix { $0 != ":" }), "\(command): \(again)")
    }
    let second = try Workspace.run(words)
    #expect(second.output == end.output, "with the same seed \(second), and before \(end)")
  }

  @Test("what was found before an interrupt is shown, also where a first plugin has read a header")
  func interruptedFuzz() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      #include <fcntl.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <unistd.h>
      int waits(int n) {
        char path[4096];
        snprintf(path, sizeof path, "%s/begun", getenv("HOME"));
        close(creat(path, 0600));
        for (;;) pause();
      }
      """
    try LibraryTests.compile(source, "-o a.so", in: folder)
    try "int waits(int n);\n".write(toFile: "\(folder)/a.h", atomically: true, encoding: .utf8)
    try FileManager.default.createDirectory(atPath: "\(folder)/home", withIntermediateDirectories: true)
    let end = try Workspace.run(
      [
        "-c",
        """
        cd '\(folder)'
        '\(Workspace.outrider)' explore a.so --header ./a.h --function waits --fuzz 9 --wall 50s --container home & outrider=$!
        while kill -0 $outrider && ! [ -e home/begun ]; do sleep 0.02; done
        kill $outrider
        wait $outrider
        """,
      ], program: "/bin/bash")
    #expect(end.status == 143 && end.errors.contains("interrupted after 0 of 9 calls"), "\(end)")
    #expect(!end.errors.contains("before there was a result"), "\(end)")
  }

  @Test(
    "what can't be explored is refused with a sentence",
    arguments: [
      (["/nowhere.so"], 66, "/nowhere.so"), (["libz.so.1", "--fuzz", "3"], 64, "--function"),
      (["libz.so.1", "--function", "frob"], 64, "no function 'frob'"),
      (["libz.so.1", "--function", "crc32", "--fuzz", "3"], 64, "--signature"),
      (["libz.so.1", "--function", "crc32", "--fuzz", "0"], 64, "--fuzz"), (["/etc/passwd"], 10, "isn't an ELF file"),
      (["libz.so.1", "--function", "crc32", "--fuzz", "3", "--signature", "u64(frob)"], 64, "isn't a type"),
      (["libz.so.1", "--signature", "u64()"], 64, "--signature needs --fuzz"),
    ])
  func refused(words: [String], status: Int32, sentence: String) throws {
    let end = try Workspace.run(["explore"] + words)
    #expect(end.status == status && end.errors.contains(sentence), "\(end)")
  }

  @Test(
    "what would be for calls alone isn't taken where nothing is called",
    arguments: [
      ["--policy", "computation"], ["--container", "/tmp"], ["--env", "A=b"], ["--observe"], ["--wall", "1s"],
      ["--cpu", "1s"], ["--memory", "8MiB"], ["--seed", "7"],
    ])
  func needsFuzz(option: [String]) throws {
    let end = try Workspace.run(["explore", "libz.so.1"] + option)
    #expect(
      end.status == 64 && end.output.isEmpty && end.errors.contains("\(option[0]) needs --fuzz"), "\(end)")
  }

  @Test("what says how a header is read isn't taken without one", arguments: ["--include", "--define"])
  func needsHeader(option: String) throws {
    let words = ["explore", "libz.so.1", option, "/usr/include"]
    for fuzz in [[], ["--function", "crc32", "--fuzz", "1"]] {
      let end = try Workspace.run(words + fuzz)
      #expect(end.status == 64 && end.output.isEmpty && end.errors.contains("\(option) needs --header"), "\(end)")
    }
  }

  @Test("the seed that is said is the usual one where none is given") func usualSeed() throws {
    let words = [
      "explore", "libz.so.1", "--function", "compressBound", "--signature", "u64(u64)", "--fuzz", "1", "--wall", "30s",
    ]
    let (usual, given) = (try Workspace.run(words), try Workspace.run(words + ["--seed", "1"]))
    #expect(usual.status == 0 && usual.output.contains("seed 1\n") && usual.output == given.output, "\(usual)")
  }
}

/// OUTRIDER_SEED repeats one.
private enum PolicyRandom {
  static let seed =
    ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
}
