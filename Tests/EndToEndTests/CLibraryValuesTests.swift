import Foundation
import TestSupport
import Testing

/// What values mean that cross liboutrider.so, in C and in Python.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CLibraryValuesTests {
  /// The library, a plugin for it, and what its values are asked with.
  static func prepared() throws -> String {
    let folder = try CLibraryTests.installed()
    try LibraryTests.compile(
      """
      #include <stddef.h>
      #include <stdint.h>
      #include <stdlib.h>
      #include <string.h>
      char *longtext(uint64_t n) { char *p = malloc(n + 1); memset(p, 'x', n); p[n] = 0; return p; }
      char *badtext(void) { return "a\\xff\\xc0z"; }
      int32_t text_to(int32_t (*f)(const char *), uint64_t n) { return f(n == 4 ? badtext() : longtext(n)); }
      int32_t texts_to(int32_t (*f)(const char **, int32_t), uint64_t n) {
        const char *texts[] = {"a", 0, longtext(n)};
        return f(texts, 3);
      }
      int32_t value_null(int32_t (*f)(uint32_t *)) { return f(0); }
      int32_t value_zero(int32_t (*f)(uint32_t *)) { uint32_t zero = 0; return f(&zero); }
      int32_t address_null(int32_t (*f)(void **)) { return f(0); }
      int32_t address_zero(int32_t (*f)(void **)) { void *zero = 0; return f(&zero); }
      int32_t pair_null(int32_t (*f)(void *)) { return f(0); }
      int32_t bytes_null(int32_t (*f)(const void *, uint64_t)) { return f(0, 0); }
      int32_t bytes_empty(int32_t (*f)(const void *, uint64_t)) { return f("", 0); }
      int32_t texts_null(int32_t (*f)(const char **, int32_t)) { return f(0, 0); }
      int32_t text_null(int32_t (*f)(const char *)) { return f(0); }
      int32_t pointer_null(int32_t (*f)(void *)) { return f(0); }
      struct pair { int32_t number; double half; };
      int32_t ask(int32_t (*f)(int32_t *, struct pair *)) {
        int32_t number = -1; struct pair pair = {-1, -1};
        int32_t result = f(&number, &pair);
        return result + number * 10 + pair.number * 100 + (int32_t)(pair.half * 2000);
      }
      int32_t ask_bytes(int32_t (*f)(char *, uint64_t)) { char room[4] = "qqq"; f(room, 4); return room[0] * 256 + room[3]; }
      void *made(void) { return malloc(16); }
      int32_t count(void) { static int32_t count; return ++count; }
      void loop(void) { for (;;) __asm__ volatile(""); }
      """, "-O1 -w -o values.so", in: folder)
    return folder
  }

  static func run(_ source: String, in folder: String) throws -> Workspace.Finished {
    try source.write(toFile: "\(folder)/program.c", atomically: true, encoding: .utf8)
    try CLibraryTests.compile("\(folder)/program.c", "cc -std=gnu11 -w", in: folder)
    // Nothing that is wrong here is to take a test's whole time.
    return try Workspace.run(["-c", "cd '\(folder)' && exec timeout 60 ./program"], program: "/bin/bash")
  }

  static func python(_ script: String, in folder: String) throws -> Workspace.Finished {
    try script.write(toFile: "\(folder)/script.py", atomically: true, encoding: .utf8)
    return try Workspace.run(
      ["-c", "cd '\(folder)' && exec timeout 60 python3 script.py"], program: "/bin/bash",
      environment: [
        "OUTRIDER_LIBRARY": "\(folder)/lib/liboutrider.so.1", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "\(Workspace.root)/Examples/embed-python",
      ])
  }

  /// Of a program in C: `begin` makes a host with the plugin, and `call` calls with a callback and one more argument.
  static let head = """
    #include <outrider.h>
    #include <assert.h>
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    static outrider_host *host;
    static outrider_plugin *plugin;
    static char *error;
    static void begin(const char *library) {
      host = outrider_host_new(NULL, &error);
      assert(host);
      assert(outrider_load(host, library, NULL, &plugin, &error) == OUTRIDER_OK);
    }
    static outrider_value value_of(int64_t number) {
      return (outrider_value){.kind = OUTRIDER_SIGNED, .signed_value = number};
    }
    static outrider_callback *callback(
      outrider_plugin *plugin, const char *signature, outrider_function function, void *context)
    {
      outrider_callback *made = NULL;
      assert(outrider_register(plugin, signature, function, context, &made, NULL) == OUTRIDER_OK);
      return made;
    }
    static int call(
      outrider_plugin *plugin, const char *symbol, const char *signature, outrider_callback *callback, int64_t more, size_t count)
    {
      outrider_value arguments[] = {{.kind = OUTRIDER_CALLBACK, .callback = callback}, value_of(more)};
      outrider_reply *reply = NULL;
      int status = outrider_call(plugin, symbol, signature, arguments, count, 20, &reply, &error);
      if (status) return -status;
      int result = (int)outrider_reply_value(reply).signed_value;
      outrider_reply_free(reply);
      return result;
    }

    """

  @Test("a text of which 64 KiB were read says so in C") func cutInC() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source =
      Self.head + """
        static int last(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
          outrider_value text = arguments[0];
          if (text.kind == OUTRIDER_LIST) assert(text.items[0].reserved == 0), text = text.items[2];
          assert(text.kind == OUTRIDER_TEXT);
          *result = value_of(text.reserved * 1000000 + (int64_t)text.count);
          return 0;
        }
        int main(void) {
          begin("./values.so");
          for (int length = 65535; length < 65538; length++) {
            outrider_value argument = value_of(length);
            outrider_reply *reply = NULL;
            assert(outrider_call(plugin, "longtext", "cstring(u64)", &argument, 1, 0, &reply, NULL) == OUTRIDER_OK);
            outrider_value text = outrider_reply_value(reply);
            int is_cut = text.reserved == OUTRIDER_CUT;
            printf("%d %zu %d", is_cut, text.count, ((const char *)text.bytes)[text.count]);
            outrider_reply_free(reply);
            int one = call(plugin, "text_to", "i32(callback,u64)", callback(plugin, "i32(cstring)", last, 0), length, 2);
            int all = call(plugin, "texts_to", "i32(callback,u64)", callback(plugin, "i32(cstrings(1),i32)", last, 0), length, 2);
            printf(" %d %d\\n", one, all);
          }
          return 0;
        }
        """
    let end = try Self.run(source, in: folder)
    #expect(
      end.output == """
        0 65535 0 65535 65535
        1 65536 0 1065536 1065536
        1 65536 0 1065536 1065536

        """, "\(end)")
  }

  @Test("NULL, where an address leads to something, is no number in C") func nullInC() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source =
      Self.head + """
        static int kind(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
          *result = value_of(arguments[0].kind);
          return 0;
        }
        int main(void) {
          begin("./values.so");
          const char *all[][2] = {
            {"value_null", "i32(&u32)"}, {"value_zero", "i32(&u32)"}, {"address_null", "i32(&pointer)"},
            {"address_zero", "i32(&pointer)"}, {"pair_null", "i32(&{i32,i32})"}, {"bytes_null", "i32(bytes(1),u64)"},
            {"bytes_empty", "i32(bytes(1),u64)"}, {"texts_null", "i32(cstrings(1),i32)"}, {"text_null", "i32(cstring)"},
            {"pointer_null", "i32(pointer)"}};
          for (int i = 0; i < 10; i++) {
            outrider_callback *own = callback(plugin, all[i][1], kind, 0);
            printf("%s %d\\n", all[i][0], call(plugin, all[i][0], "i32(callback)", own, 0, 1));
            outrider_callback_free(own);
          }
          return 0;
        }
        """
    let end = try Self.run(source, in: folder)
    #expect(
      end.output == """
        value_null 0
        value_zero 2
        address_null 0
        address_zero 2
        pair_null 0
        bytes_null 0
        bytes_empty 5
        texts_null 0
        text_null 0
        pointer_null 2

        """, "\(end)")
  }

  @Test("in C, a callback fills an argument with a value in place of the bytes") func filledInC() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source =
      Self.head + """
        static int fills(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
          static outrider_value pair[2];
          pair[0] = value_of(3), pair[1] = (outrider_value){.kind = OUTRIDER_DOUBLE, .double_value = 1.5};
          *result = value_of(7);
          int what = *(int *)context;
          if (what != 1) arguments[0] = value_of(what == 2 ? 1L << 40 : 4);
          if (what == 3) arguments[1].count = 0;
          else if (what == 4) arguments[1].kind = 99;
          else arguments[1] = (outrider_value){.kind = OUTRIDER_LIST, .items = pair, .count = 2};
          if (what == 1) arguments[0].kind = OUTRIDER_NULL;
          return 0;
        }
        static int fills_bytes(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
          arguments[0] = (outrider_value){.kind = OUTRIDER_TEXT, .bytes = "abcde", .count = *(size_t *)context};
          *result = value_of(0);
          return 0;
        }
        int main(void) {
          begin("./values.so");
          for (int what = 0; what < 5; what++) {
            outrider_callback *own = callback(plugin, "i32(out i32,out {i32,f64})", fills, &what);
            error = NULL;
            printf("%d ", call(plugin, "ask", "i32(callback)", own, 0, 1));
            puts(error ? error : "");
            outrider_callback_free(own);
          }
          for (size_t count = 3; count < 6; count++)
            printf("%d\\n", call(plugin, "ask_bytes", "i32(callback)", callback(plugin, "i32(out(1),u64)", fills_bytes, &count), 0, 1));
          return 0;
        }
        """
    let end = try Self.run(source, in: folder)
    let lines = end.output.split(separator: "\n").map(String.init)
    try #require(lines.count == 8, "\(end)")
    #expect(lines[0] == "3347 " && lines[1] == "3297 ", "\(end)")
    #expect(lines[2].hasPrefix("-70 ") && lines[2].contains("argument 0 doesn't fit i32"), "\(end)")
    #expect(lines[3] == "-2053 ", "\(end)")
    #expect(lines[4].hasPrefix("-70 ") && lines[4].contains("in place of argument 1"), "\(end)")
    #expect(Array(lines[5...]) == ["24832", "24932", "-70"], "\(end)")
  }

  @Test("in C, a handle is released") func released() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source =
      Self.head + """
        int main(void) {
          begin("./values.so");
          outrider_plugin *other = NULL;
          outrider_reply *reply = NULL;
          assert(outrider_load(host, "./values.so", NULL, &other, NULL) == OUTRIDER_OK);
          assert(outrider_call(plugin, "made", "handle()", NULL, 0, 0, &reply, NULL) == OUTRIDER_OK);
          outrider_value handle = outrider_reply_value(reply);
          assert(outrider_call(plugin, "count", "i32(handle)", &handle, 1, 0, NULL, NULL) == OUTRIDER_OK);
          assert(outrider_handle_release(other, handle.unsigned_value, &error) == OUTRIDER_USAGE && strstr(error, "another plugin"));
          assert(outrider_handle_release(NULL, handle.unsigned_value, NULL) == OUTRIDER_USAGE);
          assert(outrider_handle_release(plugin, 7, NULL) == OUTRIDER_USAGE);
          assert(outrider_handle_release(plugin, handle.unsigned_value, &error) == OUTRIDER_OK && !error);
          assert(outrider_handle_release(plugin, handle.unsigned_value, &error) == OUTRIDER_USAGE && strstr(error, "released"));
          assert(outrider_call(plugin, "count", "i32(handle)", &handle, 1, 0, NULL, NULL) == OUTRIDER_USAGE);
          outrider_plugin_free(plugin);
          assert(outrider_handle_release(plugin, handle.unsigned_value, NULL) == OUTRIDER_USAGE);
          puts("done");
          return 0;
        }
        """
    let end = try Self.run(source, in: folder)
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  @Test("in Python, no text is cut or changed, NULL is None, a number is no length, and a handle is released")
  func python() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let script = """
      import copy, pickle
      from outrider import *
      host = Host()
      p = host.load("./values.so")
      def fails(kind, body):
          try: body()
          except kind as error: return error
          raise AssertionError("nothing was raised")
      # Texts.
      reply = p.call("longtext", "cstring(u64)", 65535)
      assert reply.value == "x" * 65535 and reply.data == b"x" * 65535
      reply = p.call("longtext", "cstring(u64)", 100000)
      assert "64 KiB" in str(fails(TextError, lambda: reply.value)) and reply.data == b"x" * 65536
      reply = p.call("badtext", "cstring()")
      error = fails(TextError, lambda: reply.value)
      assert "UTF-8" in str(error) and error.data == reply.data == b"a\\xff\\xc0z"
      assert p.call("count", "i32()").data is None
      given = []
      for length in (4, 100000):
          with p.register("i32(cstring)", lambda text: given.append(text) or 0) as own:
              error = fails(TextError, lambda: p.call("text_to", "i32(callback,u64)", own, length))
              assert len(error.data) == min(length, 65536) and not given
          with p.register("i32(cstring)", lambda text: given.append(text) or 0, raw=True) as own:
              p.call("text_to", "i32(callback,u64)", own, length)
              assert given.pop() == error.data
      with p.register("i32(cstrings(1),i32)", lambda texts, count: given.append(texts) or 0, raw=True) as own:
          p.call("texts_to", "i32(callback,u64)", own, 2)
          assert given.pop() == [b"a", None, b"xx"]
      # NULL.
      for symbol, signature, first in [
          ("value_null", "i32(&u32)", None), ("value_zero", "i32(&u32)", 0), ("address_null", "i32(&pointer)", None),
          ("address_zero", "i32(&pointer)", 0), ("pair_null", "i32(&{i32,i32})", None), ("bytes_null", "i32(bytes(1),u64)", None),
          ("bytes_empty", "i32(bytes(1),u64)", b""), ("texts_null", "i32(cstrings(1),i32)", None), ("text_null", "i32(cstring)", None),
      ]:
          with p.register(signature, lambda *all: given.append(all[0]) or 0) as own:
              p.call(symbol, "i32(callback)", own)
              got = given.pop()
              assert got == first and type(got) is type(first), (symbol, got)
      # Numbers where bytes are meant.
      memory = p.allocate(8)
      memory.write(b"x" * 8)
      for data in (5, "x", True): fails(TypeError, lambda: memory.write(data))
      memory.write([1, 2])
      memory.write(memoryview(b"yz"), offset=2)
      assert memory.read() == b"\\1\\2yzxxxx"
      # What is filled.
      def asked(answer):
          with p.register("i32(out i32,out {i32,f64})", lambda number, pair: answer) as own:
              return p.call("ask", "i32(callback)", own).value
      assert asked((7, 4, [3, 1.5])) == 3347 and asked((7, 5, None)) == -2043 and asked(7) == -2103
      assert asked((7, b"\\4\\0\\0\\0", (3, 1.5))) == 3347
      assert "doesn't fit i32" in str(fails(OutriderError, lambda: asked((7, 1 << 40, None))))
      assert "doesn't fit i32" in str(fails(OutriderError, lambda: asked((7, "abc", None))))
      fails(ValueError, lambda: asked((7, b"12345", None)))
      def asked_bytes(data):
          with p.register("i32(out(1),u64)", lambda room, count: (0, data)) as own:
              return p.call("ask_bytes", "i32(callback)", own).value
      assert asked_bytes(b"ab") == 24832 and asked_bytes("abcd") == 24932
      fails(OutriderError, lambda: asked_bytes(3))
      # Handles.
      handle = p.call("made", "handle()").value
      p.call("count", "i32(handle)", handle)
      other = host.load("./values.so")
      fails(OutriderError, lambda: other.release(handle))
      fails(TypeError, lambda: p.release(int(handle)))
      p.release(handle)
      assert fails(OutriderError, lambda: p.release(handle)).status == USAGE
      fails(OutriderError, lambda: p.call("count", "i32(handle)", handle))
      # Numbers that a type can't have.
      fails(OutriderError, lambda: p.call("count", "i32(f64)", (1 << 53) + 1))
      p.call("count", "i32(f64)", 1 << 53)
      # Errors are copied, between processes as well.
      error = fails(PluginEnded, lambda: p.call("loop", "void()", within=0.05))
      text = fails(TextError, lambda: reply.value)
      for one in (error, text, OutriderError(FAILED, "x")):
          for same in (copy.copy(one), pickle.loads(pickle.dumps(one))):
              assert type(same) is type(one) and (same.status, str(same)) == (one.status, str(one)) and same.args == one.args
              assert getattr(same, "data", 0) == getattr(one, "data", 0)
      print("done")
      """
    let end = try Self.python(script, in: folder)
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  @Test("a report names whatever the command line's names") func reports() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let script = """
      import json
      from outrider import *
      p = Host().load("./values.so", "version: 2\\nlimits: {wall: 300ms}\\n")
      try: p.call("loop", "void()")
      except PluginEnded: print(json.dumps(p.report()))
      """
    let own = try Self.python(script, in: folder)
    try "version: 2\nlimits: {wall: 300ms}\n".write(toFile: "\(folder)/policy", atomically: true, encoding: .utf8)
    let theirs = try Workspace.run(
      ["call", "\(folder)/values.so", "loop", "void()", "--policy", "\(folder)/policy", "--json"])
    func object(_ text: String) throws -> [String: Any] {
      try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }
    let (report, command) = (try object(own.output), try object(theirs.output))
    #expect(Set(report.keys) == Set(command.keys).subtracting(["result", "out", "resultIsCut"]), "\(own) \(theirs)")
    let thread = try #require((report["threads"] as? [[String: Any]])?.first, "\(own)")
    #expect(Set(thread.keys) == ["number", "name", "stack"])
    #expect((report["meters"] as? [String: String])?.isEmpty == false)
  }

  @Test(
    "the header is clean for C and C++, from the versions on that it names",
    arguments: ["cc -std=c11", "cc -std=c17", "c++ -x c++ -std=c++11", "c++ -x c++ -std=c++20"])
  func header(compiler: String) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "#include <outrider.h>\n".write(toFile: "\(folder)/header.c", atomically: true, encoding: .utf8)
    let include = "\(Workspace.root)/Sources/COutrider/include"
    let end = try Workspace.run(
      ["-c", "\(compiler) -pedantic -Wall -Wextra -Werror -fsyntax-only -I'\(include)' '\(folder)/header.c'"],
      program: "/bin/bash")
    #expect(end.status == 0, "\(end)")
    #expect(try String(contentsOfFile: "\(include)/outrider.h", encoding: .utf8).contains("Needs C11 or C++11."))
  }

  @Test("in a folder of any name, pkg-config finds what was installed") func spelledFolder() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let prefix = "\(folder)/pre fix's \"#1\""
    let script = """
      set -e
      "$0" "$1" "$2"
      eval "set -- \\"\\$1\\" $(PKG_CONFIG_PATH="$1/lib/pkgconfig" pkg-config --cflags outrider)"
      [ "$2" = "-I$1/include" ] && [ -e "${2#-I}/outrider.h" ] && echo found
      """
    let end = try Workspace.run(
      ["-c", script, "\(Workspace.root)/Examples/embed-c/install", prefix, Workspace.products], program: "/bin/bash")
    #expect(end.status == 0 && end.output == "found\n", "\(end)")
  }
}
