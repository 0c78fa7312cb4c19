import Foundation
import TestSupport
import Testing

/// `outrider explore --header`: headers are read inside the walls.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HeaderTests {
  private static let header = """
    #include <stddef.h>
    #include <stdint.h>
    #include "kinds.h"
    #ifdef WITH_MORE
    int more(void);
    #endif
    int answer(const char *name, const unsigned char *data, size_t length, enum color c);
    long wrong(int a);
    word sum(struct pair p, word q);
    int say(const char *format, ...);
    void visit(int (*each)(int, void *), void *context);
    int bare();
    double mean(const double values[4], size_t count) __asm__("average");
    unsigned long long big(long double x);
    const volatile char *text(void);
    """
  private static let kinds = """
    typedef unsigned int word;
    enum color { RED = -1, GREEN };
    struct pair { int a, b; };
    """
  private static let source = """
    #include <stddef.h>
    int answer(const char *name, const unsigned char *data, size_t length, int c) { return c; }
    int wrong(int a, int b) { return a; }
    unsigned sum(long p, unsigned q) { return q; }
    int say(const char *format, ...) { return 0; }
    void visit(int (*each)(int, void *), void *context) {}
    int bare(void) { return 7; }
    double average(const double *v, size_t n) { return v[0]; }
    unsigned long long big(long double x) { return 0; }
    const char *text(void) { return "t"; }
    int more(void) { return 1; }
    """

  private static func folder(_ options: String = "") throws -> String {
    let folder = try LibraryTests.folder()
    try FileManager.default.createDirectory(atPath: "\(folder)/kinds", withIntermediateDirectories: true)
    try header.write(toFile: "\(folder)/api.h", atomically: true, encoding: .utf8)
    try kinds.write(toFile: "\(folder)/kinds/kinds.h", atomically: true, encoding: .utf8)
    try LibraryTests.compile(source, "\(options) -o a.so", in: folder)
    return folder
  }

  private struct Report: Decodable {
    struct Side: Decodable {
      var signature, prototype, problem, mismatch: String?
    }
    struct Function: Decodable {
      var name: String
      var signature: String?
      var header: Side?
    }
    var functions: [Function]
  }

  private static func report(_ words: [String], environment: [String: String] = [:]) throws -> [String: Report.Side] {
    let end = try Workspace.run(["explore", "--json"] + words, environment: environment)
    try #require(end.status == 0, "\(end)")
    let report = try JSONDecoder().decode(Report.self, from: Data(end.output.utf8))
    return Dictionary(uniqueKeysWithValues: report.functions.compactMap { one in one.header.map { (one.name, $0) } })
  }

  private static func clangs() -> [String] {
    ["/usr/lib/llvm-14/lib/libclang.so.1", "/opt/swift/usr/lib/libclang.so"].filter(FileManager.default.fileExists)
  }

  @Test("a header says what a library's functions take, and why some can't be called") func signatures() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(!Self.clangs().isEmpty)
    for clang in Self.clangs() {
      let found = try Self.report(
        ["\(folder)/a.so", "--header", "\(folder)/api.h", "--include", "\(folder)/kinds"],
        environment: ["OUTRIDER_LIBCLANG": clang])
      #expect(found["answer"]?.signature == "i32(cstring,bytes,u64,i32)", "\(found)")
      #expect(
        found["answer"]?.prototype
          == "int answer(const char *name, const unsigned char *data, size_t length, enum color c)")
      #expect(found["average"]?.prototype == "double mean(const double *values, size_t count)", "\(found)")
      #expect(found["average"]?.signature == "f64(pointer,u64)")
      #expect(found["visit"]?.signature == "void(pointer,pointer)")
      #expect(found["visit"]?.prototype == "void visit(int (*each)(int, void *), void *context)", "\(found)")
      #expect(found["text"]?.signature == "cstring()")
      #expect(found["sum"]?.signature == "u32({i32,i32},u32)", "\(found)")
      #expect(found["big"]?.problem == "long double is no number that a call can pass")
      #expect(found["bare"]?.problem == "its header doesn't say what it takes")
      #expect(found["more"] == nil && found["mean"] == nil)
      #expect(found.values.allSatisfy { ($0.signature == nil) == ($0.problem != nil) && $0.mismatch == nil })
    }
  }

  @Test("what header and debug information say otherwise of a function is told") func mismatch() throws {
    let folder = try Self.folder("-g")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let words = [
      "\(folder)/a.so", "--header", "\(folder)/api.h", "--include", "\(folder)/kinds", "--define", "WITH_MORE=1",
    ]
    let found = try Self.report(words)
    #expect(found["wrong"]?.mismatch == "it returns long, and int there")
    #expect(found["sum"]?.mismatch == "argument 1 is struct pair, and long int there", "\(found)")
    #expect(found["answer"]?.mismatch == nil && found["average"]?.mismatch == nil && found["more"]?.mismatch == nil)
    #expect(found["more"]?.signature == "i32()")
    let end = try Workspace.run(["explore"] + words)
    #expect(
      end.output.contains("its debug information says otherwise: int wrong(int a, int b)")
        && end.output.contains("outrider call \(folder)/a.so wrong 'i64(i32)' 0"), "\(end)")
  }

  @Test("zlib's own header describes zlib") func zlib() throws {
    let found = try Self.report(["libz.so.1", "--header", "zlib.h"])
    #expect(found.count > 60)
    #expect(found["crc32"]?.signature == "u64(u64,bytes,u32)")
    let end = try Workspace.run(["explore", "libz.so.1", "--header", "zlib.h", "--function", "crc32"])
    #expect(end.output.hasSuffix("  outrider call libz.so.1 crc32 'u64(u64,bytes,u32)' 0 text 0\n"), "\(end)")
  }

  @Test(
    "a header can't name what lies outside the folders of headers",
    arguments: ["SECRET", "/etc/passwd", "/proc/self/environ", "../SECRET"])
  func outside(path: String) throws {
    let folder = try Self.folder()
    let secrets = try LibraryTests.folder()
    defer { for one in [folder, secrets] { try? FileManager.default.removeItem(atPath: one) } }
    try "int hunter2_is_the_word;\n#error hunter2\n".write(
      toFile: "\(secrets)/secret", atomically: true, encoding: .utf8)
    let named = path.replacing("../SECRET", with: "../\(secrets.split(separator: "/").last ?? "")/secret")
      .replacing("SECRET", with: "\(secrets)/secret")
    try "#include \"\(named)\"\n".write(toFile: "\(folder)/api.h", atomically: true, encoding: .utf8)
    let end = try Workspace.run(["explore", "\(folder)/a.so", "--header", "\(folder)/api.h"])
    #expect(end.status == 65 && end.errors.contains("file not found"), "\(end)")
    #expect(!(end.output + end.errors).contains("hunter2") && !end.errors.contains("root:"))
  }

  @Test("a link that leads out of a header's folder isn't followed by the parser") func link() throws {
    let folder = try Self.folder()
    let secrets = try LibraryTests.folder()
    defer { for one in [folder, secrets] { try? FileManager.default.removeItem(atPath: one) } }
    try "#error hunter2\n".write(toFile: "\(secrets)/secret", atomically: true, encoding: .utf8)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/inner.h", withDestinationPath: "\(secrets)/secret")
    try "#include \"inner.h\"\n".write(toFile: "\(folder)/api.h", atomically: true, encoding: .utf8)
    let end = try Workspace.run(["explore", "\(folder)/a.so", "--header", "\(folder)/api.h"])
    #expect(end.status == 65 && !end.errors.contains("hunter2"), "\(end)")
  }

  private static let bombs: [(String, String)] = [
    ("#include \"/dev/urandom\"\n", "memoryExceeded"), ("int f(frob x);\n", "unknown type name"),
    ("#include \"api.h\"\n", "nested too deeply"), ("#error \u{1b}[2Jhere\n", "here"),
    ("int f(" + String(repeating: "(", count: 20_000) + "int x);\n", "bracket nesting"),
    (
      (1...31).map { "#define A\($0) A\($0 - 1) A\($0 - 1)\n" }.joined() + "#define A0 int a;\nstruct s { A31 };\n",
      "xceeded"
    ),
    // Functions that take functions that take functions.
    (
      "typedef int f0;\n"
        + (1...30).map {
          "typedef void (*f\($0))(\(Array(repeating: "f\($0 - 1)", count: 200).joined(separator: ",")));\n"
        }.joined()
        + (1...20).map { "int g\($0)(\(Array(repeating: "f30", count: 200).joined(separator: ",")));\n" }.joined(),
      "its declarations have more than 16 MiB"
    ),
  ]

  @Test("a header that takes all that there is, is ended", arguments: bombs)
  func bomb(text: String, words: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try text.write(toFile: "\(folder)/api.h", atomically: true, encoding: .utf8)
    let end = try Workspace.run(["explore", "\(folder)/a.so", "--header", "\(folder)/api.h"])
    #expect(end.status != 0 && end.errors.contains(words), "\(end)")
    #expect(!end.errors.contains("\u{1b}") && end.errors.utf8.count < 2000)
  }

  @Test(
    "what can't be read is refused with a sentence",
    arguments: [
      (["--header", "/etc"], 66, "/etc: not a regular file"), (["--header", "/dev/zero"], 66, "not a regular file"),
      (["--header", "/nowhere.h"], 66, "/nowhere.h: No such file"), (["--header", "nowhere.h"], 65, "not found"),
      (["--header", "a\"\n#include \"b.h"], 64, "is no name of a header"),
      (["--header", "zlib.h", "--include", "/nowhere"], 66, "/nowhere"),
      (["--header", "zlib.h", "--define", "A\nB"], 64, "is no name"), (["--header", ""], 64, "is no name"),
    ])
  func refused(words: [String], status: Int32, sentence: String) throws {
    let end = try Workspace.run(["explore", "libz.so.1"] + words)
    #expect(end.status == status && end.errors.contains(sentence), "\(end)")
  }

  @Test("without libclang a sentence says so") func noClang() throws {
    let end = try Workspace.run(
      ["explore", "libz.so.1", "--header", "zlib.h"], environment: ["OUTRIDER_LIBCLANG": "/nowhere/libclang.so"])
    #expect(end.status == 69 && end.errors.contains("OUTRIDER_LIBCLANG names no libclang.so"), "\(end)")
  }

  @Test("a header with a name that no other has is refused with what that is") func names() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let header = "\(folder)/a.h"
    try "int a\u{2060}b(void);\n".write(toFile: header, atomically: true, encoding: .utf8)
    let end = try Workspace.run(["explore", "libz.so.1", "--header", header])
    #expect(end.status == 16 && end.errors.contains("other characters than letters, digits, _ and $"), "\(end)")
  }

  @Test("names with $ are read, called, and left out where Swift has no such names") func dollars() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let declarations =
      "struct s$t { int a$b; };\ntypedef int n$t;\nn$t add$(n$t a$, int b);\nint plain(struct s$t *);\n"
    try declarations.write(toFile: "\(folder)/a.h", atomically: true, encoding: .utf8)
    try LibraryTests.compile(
      declarations + "n$t add$(n$t a$, int b) { return a$ + b; }\nint plain(struct s$t *s) { return s->a$b; }\n",
      "-o liba.so", in: folder)
    let words = ["\(folder)/liba.so", "--header", "\(folder)/a.h"]
    let explored = try Workspace.run(["explore"] + words)
    // The shell would take it for a variable.
    #expect(explored.status == 0 && explored.output.contains("'add$' 'i32(i32,i32)'"), "\(explored)")
    let called = try Workspace.run(["call", "\(folder)/liba.so", "add$", "i32(i32,i32)", "40", "2"])
    #expect(called.status == 0 && called.output.contains("42"), "\(called)")
    let bound = try Workspace.run(["bind", "\(folder)/a.h", "\(folder)/liba.so"])
    #expect(bound.status == 0 && bound.output.contains("func plain(") && !bound.output.contains("func add"), "\(bound)")
  }

  @Test("without the library that reads headers a sentence says what makes it") func noReader() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let runner = "\(folder)/outrider-runner"
    try FileManager.default.copyItem(atPath: Workspace.products + "/outrider-runner", toPath: runner)
    let end = try Workspace.run(
      ["explore", "libz.so.1", "--header", "zlib.h"], environment: ["OUTRIDER_RUNNER": runner])
    let command = "'swift build -c release --product OutriderHeaders'"
    #expect(end.status == 69 && end.errors.contains(command), "\(end)")
  }
}
