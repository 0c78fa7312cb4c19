import Foundation
import TestSupport
import Testing

/// `outrider bind`: functions of Swift that call a library inside the walls.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct BindTests {
  @Test("zlib compresses, reads and writes files through functions of Swift") func zlib() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(
      ["bind", "zlib.h", "libz.so.1", "--module", "Zlib", "--output", "\(folder)/Zlib.swift", "--json"])
    try #require(end.status == 0, "\(end)")
    let report = try JSONDecoder().decode(BoundProgram.Report.self, from: Data(end.output.utf8))
    #expect(report.bound.count > 60 && report.text == nil, "\(report)")
    #expect(
      report.unbound.contains { $0.function == "gzprintf" && $0.reason == "it takes any number of arguments (...)" })
    #expect(report.bound.contains("inflateBack") && report.unbound.count == 1, "\(report.unbound)")
    let program = """
      import PluginHost
      import Sandbox

      func use() async throws {
        let host = try PluginHost()
        let zlib = try await Zlib.load(on: host, policy: Policy(limits: Limits(wallTime: .seconds(20))))
        print(try await zlib.crc32(0, Array("hello".utf8)))
        print(try await zlib.crc32(0, nil))
        print(try await zlib.zlibVersion() ?? "none")

        let text = [UInt8](repeating: 65, count: 10_000)
        var (packed, size) = ([UInt8](repeating: 0, count: 200), UInt(200))
        print(try await zlib.compress2(&packed, &size, text, 9), size < 100)
        var (unpacked, length) = ([UInt8](repeating: 0, count: 10_000), UInt(10_000))
        print(try await zlib.uncompress(&unpacked, &length, Array(packed.prefix(Int(size)))), unpacked == text, length)
        var (none, small) = ([UInt8](), UInt(0))
        print(try await zlib.compress2(&none, &small, text, 9), none.count)

        let name = zlib.plugin.view(of: zlib.plugin.container).map { $0 + "/a.gz" } ?? "/tmp/a.gz"
        let written = try await zlib.gzopen(name, "wb")
        print(try await zlib.gzwrite(written, Array("over".utf8)), try await zlib.gzclose(written))
        let read = try await zlib.gzopen(name, "rb")
        var back = [UInt8](repeating: 0, count: 16)
        print(try await zlib.gzread(read, &back), String(decoding: back.prefix(4), as: UTF8.self))
        print(try await zlib.gzopen("/nowhere/x", "rb") == nil)
        print(await zlib.plugin.end().outcome.kind)
      }
      try await use()
      """
    let ran = try BoundProgram.run(program, in: folder, with: ["Zlib.swift"])
    #expect(
      ran.output == """
        907060870
        0
        1.2.13
        0 true
        0 true 10000
        -5 0
        4 0
        4 over
        true
        returned

        """, "\(ran)")
  }

  private static let header = """
    #include <stdbool.h>
    #include <stddef.h>
    #include <stdint.h>
    typedef struct counter counter_t;
    enum mode { UP = 1, DOWN = -1, in = 7 };
    typedef enum { FAST, SLOW = 0x80000000 } speed;
    struct pair { int a, b; };
    counter_t *counter_new(int start, enum mode mode);
    int counter_step(counter_t *counter, unsigned by);
    void counter_free(struct counter *counter);
    int counter_copy(const counter_t *from, counter_t **to);
    enum mode turn(enum mode mode);
    speed pace(speed of);
    bool is(bool not, bool *also);
    float half(float x, double *twice);
    int64_t sum(const int32_t *values, size_t count);
    double mean(const double values[], int howMany);
    void upper(char *text);
    char *greet(const char *name);
    int repeat(int self, int func, int, int outrider, int outrider_);
    void both(enum mode *mode, int16_t *small, uint16_t *large);
    void quiet(void);
    void fill(void *to, size_t size, unsigned char with);
    size_t grid(const void *cells, size_t size, size_t nmemb);
    void *opaque(void *context);
    int tail(const unsigned char *data, int len, int from);
    struct pair swap(struct pair p);
    struct Int32 { int a; };
    struct Int32 shadowed(struct Int32 value, int other);
    typedef enum { NO, YES } Bool;
    Bool turn_over(Bool value);
    int String(int x);
    typedef struct { int x; } twice_t;
    struct twice_t { double y; };
    int first_twice(twice_t t);
    int second_twice(struct twice_t t);
    struct dollar { int a$b; };
    int dollars(struct dollar d);
    int foreign(int a, int b) __attribute__((ms_abi));
    struct inner { uint8_t tag[3]; char name[4]; bool on; };
    typedef struct { enum mode mode; struct inner inner[2]; counter_t *counter; double in, grid[2][3]; } whole;
    whole turned(whole w, float by);
    union either { int i; float f; };
    union either other(union either e);
    struct bits { int a : 3; };
    int packed_bits(struct bits b);
    typedef int (*visitor)(counter_t *counter, enum mode mode, void *context);
    int visit(counter_t *counter, visitor each, void *context);
    typedef void listener(const char *text, char *line, double x, bool on);
    void keep(listener *one);
    int tell(const char *text);
    double rows(int (*each)(void *, int, char **, char **), void *context);
    int lengths(int (*each)(const char *text, int len, const void *, size_t, const int *at, const int *none));
    int filled(void (*each)(void *to, size_t size, int *count, double *none), unsigned char *first, int *count);
    int64_t read_all(int (*read)(void *context, char *buffer, int len), void *context);
    counter_t *choose(counter_t *(*choice)(counter_t *one, counter_t *other), counter_t *one, counter_t *other);
    int quietly(void (*each)(void));
    int least(const int *values, size_t count, int (*compare)(const void *, const void *));
    typedef int (*callback_t)(int);
    int first_visit(callback_t each);
    typedef int (*Handle)(struct Body *init, int Self, char *values, int body);
    int odd(Handle self);
    typedef int (*Body)(int);
    int even(Body each);
    typedef int (*Api)(int);
    int named_as_module(Api each);
    int visit_any(int (*each)());
    int visit_pairs(int (*each)(struct pair));
    int visit_text(int (*each)(const char *format, ...));
    int visit_table(int (**each)(int));
    int visit_foreign(int (*each)(int) __attribute__((ms_abi)));
    int visit_many(int (*each)(int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int));
    int visit_big(long double (*each)(int));
    int shout(const char *format, ...);
    long double big(long double x);
    int old();
    int names(const char *const *list);
    int self(int x);
    int typed(int Int32, double Double, const char *String, unsigned Policy);
    int relabelled(int x);
    extern int relabelled(int x) __asm__("relabelled_anew");
    """
  private static let source = """
    #include "api.h"
    #include <stdlib.h>
    #include <string.h>
    struct counter { int at; int by; };
    counter_t *counter_new(int start, enum mode mode) {
      if (start < 0) return 0;
      counter_t *made = malloc(sizeof *made); made->at = start; made->by = mode; return made;
    }
    int counter_step(counter_t *c, unsigned by) { return c ? c->at += c->by * (int)by : -1; }
    void counter_free(struct counter *c) { free(c); }
    int typed(int i, double d, const char *s, unsigned p) { return i + (int)d + (int)strlen(s) + (int)p; }
    int relabelled_anew(int x) { return x * 2; }
    static int former(int x) { return x; }
    extern int former_name(int x) __asm__("relabelled") __attribute__((alias("former")));
    int counter_copy(const counter_t *from, counter_t **to) {
      int had = *to != 0; *to = malloc(sizeof **to); **to = *from; return had;
    }
    enum mode turn(enum mode mode) { return -mode; }
    speed pace(speed of) { return of == FAST ? SLOW : FAST; }
    bool is(bool not, bool *also) { *also = !*also; return !not; }
    float half(float x, double *twice) { *twice *= 2; return x / 2; }
    int64_t sum(const int32_t *v, size_t n) { int64_t all = 0; for (size_t i = 0; i < n; i++) all += v[i]; return all; }
    double mean(const double v[], int n) { double all = 0; for (int i = 0; i < n; i++) all += v[i]; return all / n; }
    void upper(char *text) { for (; *text; text++) if (*text >= 'a') *text -= 32; }
    char *greet(const char *name) { static char text[99]; if (!name) return 0; strcpy(text, "hello, "); return strcat(text, name); }
    int repeat(int a, int b, int c, int d, int e) { return a * 10000 + b * 1000 + c * 100 + d * 10 + e; }
    void both(enum mode *mode, int16_t *small, uint16_t *large) { *mode = in; *small = -3; *large += 1; }
    void quiet(void) {}
    void fill(void *to, size_t size, unsigned char with) { memset(to, with, size); }
    size_t grid(const void *cells, size_t size, size_t n) { return size * n; }
    void *opaque(void *context) { return context; }
    int tail(const unsigned char *data, int len, int from) { return len - from; }
    struct pair swap(struct pair p) { return (struct pair){p.b, p.a}; }
    whole turned(whole w, float by) {
      struct inner first = w.inner[0];
      w.inner[0] = w.inner[1]; w.inner[1] = first; w.mode = -w.mode; w.in *= by;
      w.inner[0].tag[2] = 255; w.inner[1].name[0] = -1; w.inner[1].on = !first.on; w.grid[1][2] += 1;
      if (!w.counter) w.counter = counter_new(40, UP);
      return w;
    }
    struct Int32 shadowed(struct Int32 value, int other) { value.a += other; return value; }
    Bool turn_over(Bool value) { return !value; }
    int String(int x) { return x; }
    int first_twice(twice_t t) { return t.x; }
    int second_twice(struct twice_t t) { return t.y; }
    int dollars(struct dollar d) { return d.a$b; }
    __attribute__((ms_abi)) int foreign(int a, int b) { return a + b; }
    union either other(union either e) { return e; }
    int packed_bits(struct bits b) { return b.a; }
    int visit(counter_t *counter, visitor each, void *context) { return each ? each(counter, UP, context) : -7; }
    static listener *kept;
    void keep(listener *one) { kept = one; }
    int tell(const char *text) {
      char line[3] = "ab";
      if (kept) kept(text, line, 1.5, true);
      return kept != 0;
    }
    double rows(int (*each)(void *, int, char **, char **), void *context) {
      char *values[] = {"1", 0}, *names[] = {"a", "b"};
      return each(context, 2, values, names) + each(context, 0, 0, names) + 0.5;
    }
    int lengths(int (*each)(const char *text, int len, const void *, size_t, const int *at, const int *none)) {
      int value = -4;
      return each("hello", 4, "\\1\\2\\3", 3, &value, 0);
    }
    int filled(void (*each)(void *to, size_t size, int *count, double *none), unsigned char *first, int *count) {
      unsigned char room[4] = {9, 9, 9, 9};
      each(room, sizeof room, count, 0);
      *first = room[0];
      return room[3];
    }
    int64_t read_all(int (*read)(void *context, char *buffer, int len), void *context) {
      char buffer[5];
      int64_t all = 0;
      for (int count; (count = read(context, buffer, sizeof buffer)) > 0;)
        for (int i = 0; i < count; i++) all = all * 10 + buffer[i];
      return all;
    }
    counter_t *choose(counter_t *(*choice)(counter_t *one, counter_t *other), counter_t *one, counter_t *other) {
      return choice(one, other);
    }
    int quietly(void (*each)(void)) { each(); each(); return 2; }
    int least(const int *v, size_t n, int (*compare)(const void *, const void *)) {
      size_t at = 0;
      for (size_t i = 1; i < n; i++) if (compare(v + i, v + at) < 0) at = i;
      return v[at];
    }
    int first_visit(callback_t each) { return each(1); }
    int odd(Handle self) { return self(0, 2, 0, 3); }
    int even(Body each) { return each(4); }
    int named_as_module(Api each) { return 0; }
    int visit_any(int (*each)()) { return 0; }
    int visit_pairs(int (*each)(struct pair)) { return 0; }
    int visit_text(int (*each)(const char *format, ...)) { return 0; }
    int visit_table(int (**each)(int)) { return 0; }
    int visit_foreign(int (*each)(int) __attribute__((ms_abi))) { return 0; }
    int visit_many(int (*each)(int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int)) { return 0; }
    int visit_big(long double (*each)(int)) { return 0; }
    int shout(const char *format, ...) { return 0; }
    long double big(long double x) { return x; }
    int old() { return 0; }
    int names(const char *const *list) { return 0; }
    int self(int x) { return x; }
    """

  @Test("each type of C that a call can pass has one of Swift, and the others a reason") func types() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.header.write(toFile: "\(folder)/api.h", atomically: true, encoding: .utf8)
    try LibraryTests.compile(Self.source, "-o libapi.so", in: folder)
    let report = try BoundProgram.bind(in: folder)
    #expect(
      Dictionary(uniqueKeysWithValues: report.unbound.map { ($0.function, $0.reason) }) == [
        "foreign": "it has a calling convention of its own",
        "second_twice": "another structure is called twice_t, too",
        "other": "union either is returned by value, and no signature has a union",
        "packed_bits": "struct bits is passed by value and has bit fields",
        "named_as_module": "a function that it is given has the module's name; choose another one",
        "visit_any": "it takes a function, and nothing says what that takes",
        "visit_pairs": "it takes a function that takes struct pair",
        "visit_text": "it takes a function with any number of arguments (...)",
        "visit_table": "it takes the address of a function's address",
        "visit_foreign": "it takes a function, and nothing says what that takes",
        "visit_many": "it takes a function of more than 16 arguments",
        "visit_big": "it takes a function that returns long double",
        "shout": "it takes any number of arguments (...)", "big": "long double is no number that a call can pass",
        "old": "its header doesn't say what it takes", "names": "it takes a list of addresses",
        "relabelled": "its header gives this name to another symbol of the library",
      ])
    let program = """
      import PluginHost

      func use() async throws {
        let host = try PluginHost()
        let api = try await Api.load(on: host)
        let counter = try await api.counter_new(5, .DOWN)
        print(try await api.counter_step(counter, 2), try await api.counter_new(-1, .UP) == nil)
        print("typed", try await api.typed(1, 2, "abc", 4), try await api.relabelled(21))
        var copy: Api.Handle<Api.Types.counter>?
        print(try await api.counter_copy(counter, &copy), try await api.counter_copy(counter, &copy))
        print(try await api.counter_step(copy, 1), try await api.counter_step(counter, 0), try await api.counter_step(nil, 0))
        try await api.counter_free(counter)
        print(try await api.turn(.UP) == .DOWN, try await api.pace(.FAST) == .SLOW, Api.Types.mode.`in`.rawValue)
        var (also, twice) = (false, 1.25)
        print(try await api.is(false, &also), also, try await api.half(3, &twice), twice)
        print(try await api.sum([1, -2, 40], 3), try await api.mean([1, 2], 2))
        var text = Array("shout\\0 and more".utf8)
        try await api.upper(&text)
        print(String(decoding: text.prefix(5), as: UTF8.self), text.count, try await api.greet("you") ?? "", try await api.greet(nil) ?? "null")
        print(try await api.repeat(1, 2, 3, 4, 5))
        var (mode, small, large) = (Api.Types.mode.UP, Int16(0), UInt16.max - 1)
        try await api.both(&mode, &small, &large)
        print(mode == .in, small, large)
        try await api.quiet()
        var filled = [UInt8](repeating: 0, count: 3)
        try await api.fill(&filled, 7)
        print(filled, try await api.grid([1, 2, 3, 4], 2, 2), try await api.opaque(nil) == nil, try await api.tail([1, 2, 3], 1))
        print(try await api.shadowed(Api.Types.Int32_(a: 40), 2).a, try await api.turn_over(.NO) == .YES)
        print(try await api.first_twice(Api.Types.twice_t(x: 6)), try await api.dollars(Api.Types.dollar(argument1: 7)))
        let swapped = try await api.swap(Api.Types.pair(a: 1, b: 2))
        print(swapped.a, swapped.b, swapped == Api.Types.pair(a: 2, b: 1))
        var whole = Api.Types.whole(mode: .UP, in_: 1.5)
        whole.inner[0].on = true
        whole.inner[1].tag = [1, 2, 3]
        var turned = try await api.turned(whole, 2)
        print(turned.mode == .DOWN, turned.in_, turned.inner[0].tag, turned.inner[1].name, turned.inner[1].on, turned.grid)
        print(try await api.counter_step(turned.counter, 2))
        turned = try await api.turned(turned, 2)
        print(try await api.counter_step(turned.counter, 0), turned.grid[1][2])
        whole.inner[1].tag = [1, 2, 3, 4]
        do {
          print(try await api.turned(whole, 2))
        } catch {
          print(error)
        }
        do {
          print(try await api.greet("a\\0b") ?? "")
        } catch {
          print(error)
        }
        print(await api.plugin.end().outcome.kind)
      }
      func call() async throws {
        let host = try PluginHost()
        let api = try await Api.load(on: host)
        let counter = try await api.counter_new(5, .DOWN)
        print(
          try await api.visit(
            counter, .forCall { one, mode, context in one == counter && mode == .UP && context == nil ? 42 : 0 }, nil),
          try await api.visit(counter, nil, nil))
        let listener = try await Api.Callbacks.listener.kept(by: api) { text, line, x, on in
          print(text ?? "null", line ?? "null", x, on)
        }
        try await api.keep(listener)
        print(try await api.tell("first"), try await api.tell(nil))
        try await api.keep(nil)
        try await listener.release(by: api)
        print(try await api.tell("third"))
        let sum = try await api.rows(
          .forCall { _, values, names in
            print(values ?? ["none"], names ?? ["none"])
            return Int32(values?.count ?? 40)
          }, nil)
        print(sum)
        print(
          try await api.lengths(
            .forCall { text, bytes, at, none in
              print(String(decoding: text ?? [], as: UTF8.self), bytes ?? [], at ?? 0, none == nil)
              return 8
            }))
        var first: [UInt8] = [0]
        var count: Int32 = 3
        print(try await api.filled(.forCall { _ in ([7, 8], -2, nil) }, &first, &count), first, count)
        print(try await api.filled(.forCall { size in (nil, nil, nil) }, &first, &count), first, count)
        let left = Left([[1, 2, 3, 4, 5], [6]])
        print(
          try await api.read_all(
            .forCall { _, size in
              let bytes = await left.next()
              return (size == 5 ? Int32(bytes.count) : -1, bytes)
            }, nil))
        let other = try await api.counter_new(6, .UP)
        print(try await api.choose(.forCall { one, other in other }, counter, other) == other)
        print(try await api.choose(.forCall { _, _ in nil }, counter, other) == nil)
        print(try await api.odd(.forCall { $0 == nil && $2 == nil ? $1 * $3 : 0 }), try await api.even(.forCall { -$0 }))
        print(try await api.quietly(.forCall { print("called") }))
        let compare = Api.Callbacks.least_compare(
          argument: .callback("i32(&i32,&i32)") { values in .integer(Int64(try values[0].int32 - values[1].int32)) })
        print(try await api.least([4, -9, 7], 3, compare))
        struct Refused: Error {}
        do {
          _ = try await api.first_visit(.forCall { _ in throw Refused() })
        } catch HostError.callback(let error) {
          print("refused", error)
        }
        do {
          _ = try await api.filled(.forCall { _ in ([1, 2, 3, 4, 5], nil, nil) }, &first, &count)
        } catch {
          print(error)
        }
        print(await api.plugin.end().outcome.kind)
      }
      actor Left {
        var chunks: [[UInt8]]
        init(_ chunks: [[UInt8]]) { self.chunks = chunks }
        func next() -> [UInt8] { chunks.isEmpty ? [] : chunks.removeFirst() }
      }
      try await use()
      try await call()
      """
    let ran = try BoundProgram.run(program, in: folder, with: ["Api.swift"])
    #expect(
      ran.output == """
        3 true
        typed 10 42
        0 1
        2 3 -1
        true true 7
        true true 1.5 2.5
        39 1.5
        SHOUT 15 hello, you null
        12345
        true -3 65535
        [7, 7, 7] 4 true 2
        42 true
        6 7
        2 1 true
        true 3.0 [1, 2, 255] [-1, 0, 0, 0] false [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        42
        42 2.0
        argument 1, value 2, value 2, value 1 has 4 bytes; [3]u8 takes at most 3
        argument 1 doesn't fit cstring
        returned
        42 -7
        first ab 1.5 true
        null ab 1.5 true
        1 1
        0
        [Optional("1"), nil] [Optional("a"), Optional("b")]
        [Optional("none")] []
        42.5
        hell [1, 2, 3] -4 true
        8
        9 [7] -2
        9 [9] -2
        123456
        true
        true
        6 -4
        called
        called
        2
        -9
        refused Refused()
        a callback failed: the callback's answer for argument 0 has 5 bytes; there is room for 4 in the plugin
        returned

        """, "\(ran)")
  }

  /// The author of a header or a library has no say in what the file does when it is compiled.
  @Test("names that would be code are left out, or stand in a comment as text") func injected() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try #"""
    typedef struct { int x; } plain;
    int renamed(int x) __asm__("x\", .null); evil(); //");
    int fine(int a) __asm__("fine");
    enum E { init, rawValue, Self, ok };
    int e(enum E e);
    int été(int x);
    int uses(plain *p, struct unknown *q);
    """#.write(toFile: "\(folder)/api.h", atomically: true, encoding: .utf8)
    let symbol = #"x", .null); evil(); //"#
    let stand = String(repeating: "x", count: symbol.utf8.count)
    try LibraryTests.compile(
      """
      int \(stand)(int x) { return x; }
      int fine(int a) { return a; }
      int e(int e) { return e; }
      int uses(void *p, void *q) { return 0; }
      """, "-o libapi.so", in: folder)
    let library = URL(fileURLWithPath: "\(folder)/libapi.so")
    var bytes = try Data(contentsOf: library)
    var places = 0
    while let range = bytes.firstRange(of: Data(stand.utf8)) {
      bytes.replaceSubrange(range, with: Data(symbol.utf8))
      places += 1
    }
    try #require(places > 0)
    try bytes.write(to: library)
    let end = try Workspace.run(["bind", "\(folder)/api.h", "\(folder)/libapi.so"])
    #expect(end.output.contains("//   renamed: its symbol in the library isn't a name of C"), "\(end)")
    for line in end.output.split(separator: "\n") where line.contains("evil") {
      #expect(line.drop { $0 == " " }.hasPrefix("//"), "\(line)")
    }
  }

  @Test(
    "what can't be bound is refused with a sentence",
    arguments: [
      (["zlib.h", "/nowhere.so"], 66, "/nowhere.so"), (["zlib.h", "/etc/passwd"], 10, "isn't an ELF file"),
      (["/nowhere.h", "libz.so.1"], 66, "/nowhere.h"),
      (["zlib.h", "libm.so.6"], 65, "none of the functions of libm.so.6"),
      (["zlib.h", "libz.so.1", "--module", "a b"], 64, "can't be the name"),
      (["zlib.h", "libz.so.1", "--module", "class"], 64, "can't be the name"),
      (["zlib.h", "libz.so.1", "--function", "frob"], 64, "'frob' is no function"),
      (["zlib.h", "libz.so.1", "--output", "/nowhere/z.swift"], 73, "/nowhere/z.swift"),
      (["zlib.h", "libz.so.1", "--include", "/usr/include/zlib.h"], 66, "/usr/include/zlib.h: not a folder"),
      (["zlib.h", "libz.so.1", "--include", "/nowhere"], 66, "/nowhere: "),
      (["zlib.h", "libz.so.1", "--before", "nowhere.h"], 65, "--before what has to come before"),
    ])
  func refused(words: [String], status: Int32, sentence: String) throws {
    let end = try Workspace.run(["bind"] + words)
    #expect(end.status == status && end.errors.contains(sentence) && end.output.isEmpty, "\(end)")
  }

  @Test("a file that something else wrote is never replaced, one of its own is") func output() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = "\(folder)/z.swift"
    func bind() throws -> Workspace.Finished {
      try Workspace.run(["bind", "zlib.h", "libz.so.1", "--function", "crc32", "--output", path])
    }
    for text in ["let mine = 1\n", "\n// Made by 'outrider bind'\n"] {
      try text.write(toFile: path, atomically: false, encoding: .utf8)
      let end = try bind()
      #expect(end.status == 73 && end.errors.contains("isn't what this command wrote"), "\(end)")
      #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }
    try "".write(toFile: path, atomically: false, encoding: .utf8)
    for _ in 0..<2 { #expect(try bind().status == 0) }
    #expect(try Workspace.run(["bind", "zlib.h", "libz.so.1", "--output", "-"]).status == 64)
  }
}
