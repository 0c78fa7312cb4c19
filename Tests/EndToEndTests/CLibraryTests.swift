import Foundation
import TestSupport
import Testing

/// liboutrider.so, as programs in C and Python use it.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CLibraryTests {
  /// Installed as docs/embedding-c.md does it.
  static func installed(_ options: [String] = []) throws -> String {
    let folder = try LibraryTests.folder()
    let products = (Workspace.outrider as NSString).deletingLastPathComponent
    let end = try Workspace.run(
      ["\(Workspace.root)/Examples/embed-c/install"] + options + [folder, products], program: "/bin/bash")
    try #require(end.status == 0, "\(end)")
    return folder
  }

  static func compile(_ source: String, _ options: String, in folder: String) throws {
    let flags = "$(PKG_CONFIG_PATH=\(folder)/lib/pkgconfig pkg-config --cflags --libs outrider)"
    let end = try Workspace.run(
      [
        "-c",
        "\(options) -Wall -Wextra -Werror '\(source)' -o '\(folder)/program' \(flags) -Wl,-rpath,'\(folder)/lib' -pthread",
      ], program: "/bin/bash")
    try #require(end.status == 0, "\(end)")
  }

  @Test(
    "the example in C calls a library, and survives an abort",
    arguments: ["cc -std=c11", "c++ -x c++ -std=c++20 -Wno-missing-field-initializers"])
  func example(compiler: String) throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.compile("\(Workspace.root)/Examples/embed-c/checksum.c", compiler, in: folder)
    let end = try Workspace.run([], program: "\(folder)/program")
    #expect(end.status == 0 && end.output.contains("crc32 907060870\n"), "\(end)")
    #expect(end.output.contains("sorted 1 5 9, compared: yes\n"), "\(end)")
    #expect(end.output.contains("abort: status 1, crashed: SIGABRT"), "\(end)")
  }

  @Test("with Swift's runtime installed beside it, it needs nothing of the toolchain") func runtime() throws {
    let folder = try Self.installed(["--with-runtime"])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let own = "\(folder)/lib/outrider"
    // As if the toolchain weren't where they were built.
    let libraries = try Workspace.run(["\(own)/liboutrider.so.1"], program: "/usr/bin/ldd").output
    let core = try #require(libraries.split(separator: "\n").first { $0.contains("libswiftCore.so => ") })
    let toolchain = try #require(core.split(separator: " ").dropFirst(2).first?.split(separator: "/").dropLast())
      .reduce("") { "\($0)/\($1)" }
    try #require(!own.hasPrefix(toolchain))
    for name in ["liboutrider.so.1", "outrider-runner", "libOutriderPreload.so"] {
      var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(own)/\(name)"))
      let place = try #require(bytes.firstRange(of: Data("\(toolchain):".utf8)), "\(name)")
      bytes.replaceSubrange(place, with: Data("/\(String(repeating: "x", count: toolchain.utf8.count - 1)):".utf8))
      try bytes.write(to: URL(fileURLWithPath: "\(own)/\(name)"))
      let found = try Workspace.run(["\(own)/\(name)"], program: "/usr/bin/ldd").output
      #expect(!found.contains("\(toolchain)/") && !found.contains("not found"), "\(found)")
    }
    try Self.compile("\(Workspace.root)/Examples/embed-c/checksum.c", "cc -std=c11", in: folder)
    let end = try Workspace.run([], program: "\(folder)/program")
    #expect(end.status == 0 && end.output.contains("crc32 907060870\n"), "\(end)")
    try FileManager.default.removeItem(atPath: "\(own)/libswiftCore.so")
    #expect(try Workspace.run([], program: "\(folder)/program").status == 127)
  }

  @Test("an option that the installer doesn't know, and a build that isn't there, are refused") func refused() throws {
    let script = "\(Workspace.root)/Examples/embed-c/install"
    let unknown = try Workspace.run([script, "--frob"], program: "/bin/bash")
    #expect(unknown.status == 64 && unknown.errors.contains("Usage: Examples/embed-c/install"), "\(unknown)")
    let missing = try Workspace.run([script, "/nowhere", "/nowhere"], program: "/bin/bash")
    #expect(missing.status == 66 && missing.errors.contains("swift build"), "\(missing)")
  }

  @Test("the example in Python does, with handles and structures, and so does the page's") func python() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let environment = [
      "OUTRIDER_LIBRARY": "\(folder)/lib/liboutrider.so.1", "PYTHONDONTWRITEBYTECODE": "1",
      "PYTHONPATH": "\(Workspace.root)/Examples/embed-python",
    ]
    let end = try Workspace.run(
      ["python3", "\(Workspace.root)/Examples/embed-python/example.py"], program: "/usr/bin/env",
      environment: environment)
    let expected = """
      crc32 907060870
      sqlite 42
      changed t 1
      changed t 2
      strlen 5 b'he'
      div [3, 2]
      sleep wallTimeExceeded: the caller gave this call 200ms
      outcome wallTimeExceeded

      """
    #expect(end.status == 0 && end.output == expected, "\(end)")
    let page = try Workspace.run(
      ["python3", "-c", try Documents.block("python", containing: "zlib.report")], program: "/usr/bin/env",
      environment: environment)
    let lines = page.output.split(separator: "\n")
    #expect(page.status == 0 && lines.count == 3 && lines[0] == "907060870" && lines[2] == "crashed", "\(page)")
  }

  @Test("objects that aren't there, and values that are none, are refused") func misuse() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      #include <outrider.h>
      #include <assert.h>
      #include <pthread.h>
      #include <stdlib.h>
      #include <string.h>
      static outrider_plugin *shared;
      static void *many(void *unused) {
        for (int i = 0; i < 50; i++) {
          outrider_value argument = {.kind = OUTRIDER_SIGNED, .signed_value = -i};
          outrider_reply *reply = NULL;
          assert(outrider_call(shared, "abs", "i32(i32)", &argument, 1, 0, &reply, NULL) == OUTRIDER_OK);
          assert(outrider_reply_value(reply).signed_value == i);
          outrider_reply_free(reply);
        }
        return unused;
      }
      int main(void) {
        char *error = NULL;
        assert(outrider_abi_version() == OUTRIDER_ABI_VERSION);
        assert(!outrider_host_new("/nowhere", &error) && strstr(error, "/nowhere"));
        outrider_text_free(error);
        assert(!outrider_host_new("/nowhere", NULL));
        outrider_host *host = outrider_host_new(NULL, &error);
        outrider_plugin *plugin = (outrider_plugin *)16;
        outrider_reply *reply = (outrider_reply *)16;
        assert(host && !error);
        assert(outrider_load((outrider_host *)main, "libc.so.6", NULL, &plugin, &error) == OUTRIDER_USAGE && !plugin);
        outrider_text_free(error);
        assert(outrider_load(NULL, "libc.so.6", NULL, &plugin, NULL) == OUTRIDER_USAGE);
        assert(outrider_load(host, NULL, NULL, &plugin, NULL) == OUTRIDER_USAGE);
        assert(outrider_load(host, "libc.so.6", NULL, NULL, NULL) == OUTRIDER_USAGE);
        assert(outrider_load(host, "./nowhere.so", NULL, &plugin, NULL) == OUTRIDER_INPUT);
        assert(outrider_load(host, "libc.so.6", "codek", &plugin, &error) == OUTRIDER_USAGE && strstr(error, "codec, "));
        outrider_text_free(error);
        assert(outrider_load(host, "libc.so.6", "frob: 1", &plugin, &error) == OUTRIDER_USAGE && strstr(error, "version"));
        outrider_text_free(error);
        assert(outrider_load(host, "libc.so.6", "computation", &plugin, NULL) == OUTRIDER_OK);
        outrider_value wild = {.kind = 99};
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, &reply, &error) == OUTRIDER_USAGE && !reply);
        outrider_text_free(error);
        wild = (outrider_value){.kind = OUTRIDER_BYTES, .count = 5};
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, &reply, NULL) == OUTRIDER_USAGE);
        /* A list that holds itself. */
        wild = (outrider_value){.kind = OUTRIDER_LIST, .items = &wild, .count = 1};
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, &reply, NULL) == OUTRIDER_USAGE);
        outrider_value same[] = {wild, wild};
        for (int i = 0; i < 2; i++) same[i].items = same, same[i].count = 2;
        assert(outrider_call(plugin, "abs", "i32(i32)", same, 2, 0, &reply, NULL) == OUTRIDER_USAGE);
        wild = (outrider_value){.kind = OUTRIDER_HANDLE, .unsigned_value = 7};
        assert(outrider_call(plugin, "free", "void(handle)", &wild, 1, 0, &reply, NULL) == OUTRIDER_USAGE);
        wild = (outrider_value){.kind = OUTRIDER_SIGNED, .signed_value = -5};
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 0, 0, &reply, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, (size_t)-1, 0, &reply, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, -1, &reply, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 1.0 / 0.0 - 1.0 / 0.0, &reply, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(plugin, "nothing", "i32()", NULL, 0, 0, &reply, NULL) == OUTRIDER_MISSING);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, NULL, NULL) == OUTRIDER_OK);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, &reply, NULL) == OUTRIDER_OK);
        assert(outrider_reply_value(reply).signed_value == 5 && outrider_reply_output_count(reply) == 0);
        assert(outrider_reply_output(reply, 3).kind == OUTRIDER_NULL);
        outrider_reply_free(reply);
        outrider_reply_free(reply);
        assert(outrider_reply_value(reply).kind == OUTRIDER_NULL);
        pthread_t threads[8];
        shared = plugin;
        for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, many, NULL);
        for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
        char *report = outrider_plugin_report(plugin);
        assert(strstr(report, "\\"kind\\":\\"returned\\"") && strstr(report, "\\"seccomp\\""));
        outrider_text_free(report);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, &reply, NULL) == OUTRIDER_ENDED);
        outrider_plugin_free(plugin);
        outrider_plugin_free(plugin);
        assert(outrider_call(plugin, "abs", "i32(i32)", &wild, 1, 0, &reply, NULL) == OUTRIDER_USAGE);
        assert(!outrider_plugin_report(plugin) && !outrider_plugin_report(NULL));
        outrider_host_free(host);
        outrider_host_free(host);
        outrider_host_free(NULL);
        assert(outrider_load(host, "libc.so.6", NULL, &plugin, NULL) == OUTRIDER_USAGE);
        return 0;
      }
      """
    try source.write(toFile: "\(folder)/misuse.c", atomically: true, encoding: .utf8)
    try Self.compile("\(folder)/misuse.c", "cc -std=gnu11", in: folder)
    let end = try Workspace.run([], program: "\(folder)/program")
    #expect(end.status == 0, "\(end)")
  }
  @Test("a plugin lives on when the threads that made its host and loaded it have ended (H122)") func endedThreads()
    throws
  {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      #include <outrider.h>
      #include <assert.h>
      #include <pthread.h>
      #include <stdio.h>
      #include <unistd.h>
      static outrider_host *host;
      static outrider_plugin *plugin;
      static void *make(void *unused) { host = outrider_host_new(NULL, NULL); return unused; }
      static void *load(void *unused) {
        assert(outrider_load(host, "libc.so.6", NULL, &plugin, NULL) == OUTRIDER_OK);
        return unused;
      }
      static void *call(void *unused) {
        outrider_reply *reply = NULL;
        outrider_value argument = {.kind = OUTRIDER_SIGNED, .signed_value = -5};
        assert(outrider_call(plugin, "abs", "i32(i32)", &argument, 1, 0, &reply, NULL) == OUTRIDER_OK);
        assert(outrider_reply_value(reply).signed_value == 5);
        outrider_reply_free(reply);
        return unused;
      }
      static void on_a_thread(void *(*function)(void *)) {
        pthread_t thread;
        assert(!pthread_create(&thread, NULL, function, NULL) && !pthread_join(thread, NULL));
      }
      int main(void) {
        on_a_thread(make);
        assert(host);
        on_a_thread(load);
        for (int i = 0; i < 3; i++) on_a_thread(call), usleep(1000);
        call(NULL);
        outrider_plugin_free(plugin);
        on_a_thread(load);
        call(NULL);
        outrider_plugin_free(plugin);
        outrider_host_free(host);
        puts("lived on");
      }
      """
    try source.write(toFile: "\(folder)/threads.c", atomically: true, encoding: .utf8)
    try Self.compile("\(folder)/threads.c", "cc -std=gnu11", in: folder)
    let end = try Workspace.run([], program: "\(folder)/program")
    #expect(end.status == 0 && end.output == "lived on\n", "\(end)")
  }

  @Test("a callback that a call's end has overtaken is waited for, by who frees it and by a script's end")
  func overtaken() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile("int callit(int (*f)(int), int x) { return f(x); }", "-w -o calls.so", in: folder)
    let source = """
      #include <outrider.h>
      #include <assert.h>
      #include <stdio.h>
      #include <unistd.h>
      static _Atomic int running;
      static int slow(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
        running = 1;
        sleep(1);
        running = 0;
        return 0;
      }
      int main(void) {
        outrider_host *host = outrider_host_new(0, 0);
        for (int frees_plugin = 0; frees_plugin < 2; frees_plugin++) {
          outrider_plugin *plugin;
          outrider_callback *callback;
          outrider_reply *reply;
          assert(outrider_load(host, "./calls.so", 0, &plugin, 0) == 0);
          assert(outrider_register(plugin, "i32(i32)", slow, 0, &callback, 0) == 0);
          outrider_value arguments[] = {{.kind = OUTRIDER_CALLBACK, .callback = callback}, {.kind = OUTRIDER_SIGNED}};
          int status = outrider_call(plugin, "callit", "i32(callback,i32)", arguments, 2, 0.2, &reply, 0);
          int during = running;
          if (frees_plugin) outrider_plugin_free(plugin); else outrider_callback_free(callback);
          printf("%d %d %d\\n", status, during, running);
          if (frees_plugin) outrider_callback_free(callback); else outrider_plugin_free(plugin);
        }
        outrider_host_free(host);
        return 0;
      }
      """
    try source.write(toFile: "\(folder)/waits.c", atomically: true, encoding: .utf8)
    try Self.compile("\(folder)/waits.c", "cc -std=gnu11 -w", in: folder)
    let end = try Workspace.run(["-c", "cd '\(folder)' && ./program"], program: "/bin/bash")
    #expect(end.status == 0 && end.output == "1 1 0\n1 1 0\n", "\(end)")
    let script = """
      from outrider import *
      import time
      def slow(x):
          for _ in range(1000): time.sleep(0.001)
          return 1
      p = Host().load("\(folder)/calls.so")
      c = p.register("i32(i32)", slow)
      try: p.call("callit", "i32(callback,i32)", c, 5, within=0.2)
      except PluginEnded as error: print(error)
      """
    let python = try Workspace.run(
      ["python3", "-c", script], program: "/usr/bin/env",
      environment: [
        "OUTRIDER_LIBRARY": "\(folder)/lib/liboutrider.so.1", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "\(Workspace.root)/Examples/embed-python",
      ])
    #expect(python.status == 0 && python.output.hasPrefix("wallTimeExceeded"), "\(python)")
  }

  @Test("the library defines what its header declares, and nothing else") func exports() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let header = try String(contentsOfFile: "\(folder)/include/outrider.h", encoding: .utf8)
    let declared = Set(header.matches(of: /(outrider_[a-z_]+)\(/).map { String($0.1) })
    let end = try Workspace.run(
      ["nm", "-D", "--defined-only", "\(folder)/lib/liboutrider.so"], program: "/usr/bin/env")
    var defined: Set<String> = []
    for line in end.output.split(separator: "\n") {
      let words = line.split(separator: " ")
      // What has a small letter is found by nobody else.
      if words.count == 3, words[1].first?.isUppercase == true { defined.insert(String(words[2])) }
    }
    #expect(end.status == 0 && declared.count > 10 && defined == declared)
  }

  @Test("in Python, what is passed is passed whole, what is raised belongs to its call, and what is dropped goes")
  func wholeInPython() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      static int (*kept)(int);
      int callit(int (*f)(int), int x) { return f(x); }
      void keep(int (*f)(int)) { kept = f; }
      int call_kept(int x) { return kept(x); }
      int fill(int (*f)(char *, int), char *room, int size) { return f(room, size); }
      """, "-w -o calls.so", in: folder)
    let script = """
      import gc, os, threading
      from outrider import *
      host = Host()
      p = host.load("\(folder)/calls.so")
      def fails(kind, body):
          try: body()
          except kind as error: return error
          raise AssertionError("nothing was raised")
      # A function that nothing else holds stays for as long as the plugin may call it.
      p.call("keep", "void(callback)", p.register("i32(i32)", lambda x: x + 1))
      gc.collect()
      others = [host.load("\(folder)/calls.so").register("i32(i32)", lambda x: -1) for _ in range(4)]
      assert p.call("call_kept", "i32(i32)", 4).value == 5
      # Each call has its own exception, beside another that fails, and after one whose time was over.
      class Own(Exception): pass
      def bad(x): raise Own(x)
      c = p.register("i32(i32)", bad)
      wrong = []
      def raising():
          for i in range(100):
              if fails(Own, lambda: p.call("callit", "i32(callback,i32)", c, i)).args != (i,): wrong.append(i)
      def missing():
          for i in range(100): fails(OutriderError, lambda: p.call("nosuch", "i32()"))
      threads = [threading.Thread(target=f) for f in (raising, missing)]
      for thread in threads: thread.start()
      for thread in threads: thread.join()
      assert not wrong
      for number in (1 << 64, -(1 << 63) - 1): fails(OverflowError, lambda: p.call("callit", "i32(pointer,i32)", None, number))
      fails(OverflowError, lambda: p.call("callit", "i32(callback,i32)", p.register("i32(i32)", lambda x: 1 << 64), 1))
      memory = p.allocate(16)
      fails(ValueError, lambda: p.allocate((1 << 64) + 16))
      fails(ValueError, lambda: memory.write(b"x", offset=1 << 64))
      fails(ValueError, lambda: host.load("\(folder)/calls.so\\0.evil"))
      fails(ValueError, lambda: host.load("\(folder)/calls.so", policy="computation\\0bad"))
      fails(ValueError, lambda: p.call("callit\\0", "i32(pointer,i32)"))
      fails(OutriderError, lambda: host.load("\(folder)/calls.so", policy=""))
      host.load(b"\(folder)/calls.so").close()
      descriptors = lambda: len(os.listdir("/proc/self/fd"))
      before = descriptors()
      dropped = [host.load("\(folder)/calls.so") for _ in range(8)]
      for plugin in dropped: plugin.allocate(8)
      held = descriptors() - before
      del dropped, plugin
      gc.collect()
      # The host has some more of its own at times, for the runner that stands by.
      assert held > 16 and descriptors() - before < held / 2, (before, held, descriptors())
      print("done")
      """
    let end = try Workspace.run(
      ["python3", "-c", script], program: "/usr/bin/env",
      environment: [
        "OUTRIDER_LIBRARY": "\(folder)/lib/liboutrider.so.1", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "\(Workspace.root)/Examples/embed-python",
      ])
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  @Test("a program that closes the host's own files has errors from it, and no call that waits for ever") func closed()
    throws
  {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let script = """
      import os
      from outrider import Host, OutriderError
      host = Host()
      plugin = host.load("libc.so.6")
      os.closerange(3, 1000)
      for body in (lambda: plugin.call("abs", "i32(i32)", -5, within=1.0), lambda: host.load("libz.so.1")):
        try: print("answered", body())
        except OutriderError as error: print(error)
      """
    let end = try Workspace.run(
      ["python3", "-c", script], program: "/usr/bin/env",
      environment: [
        "OUTRIDER_LIBRARY": "\(folder)/lib/liboutrider.so.1", "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": "\(Workspace.root)/Examples/embed-python",
      ])
    #expect(end.status == 0 && end.output.contains("the host's own files are closed"), "\(end)")
    #expect(end.output.split(separator: "\n").count == 2 && !end.output.contains("answered"), "\(end)")
  }

  @Test(
    "a function that a plugin waits for is refused what it asks of that plugin, and answered by others",
    .timeLimit(.minutes(1)))
  func waitedFor() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      "int callit(int (*f)(int), int x) { return f(x); }\nint twice(int (*f)(int), int x) { return f(x) + f(x); }\nint same(int x) { return x; }",
      "-w -o calls.so", in: folder)
    let source = """
      #include <outrider.h>
      #include <assert.h>
      #include <pthread.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      static outrider_host *host;
      static outrider_plugin *other;
      static pthread_barrier_t all_wait;
      struct place { outrider_plugin *plugin; outrider_callback *callback; outrider_memory *memory; int calls; };
      static int call(outrider_plugin *plugin, const char *symbol, outrider_callback *callback, int64_t *value, char **error) {
        outrider_value arguments[] = {{.kind = OUTRIDER_CALLBACK, .callback = callback}, {.kind = OUTRIDER_SIGNED, .signed_value = *value}};
        outrider_reply *reply = NULL;
        int status = outrider_call(plugin, symbol, "i32(callback,i32)", arguments, 2, 20, &reply, error);
        if (!status) *value = outrider_reply_value(reply).signed_value;
        outrider_reply_free(reply);
        return status;
      }
      /* Asks its own plugin, which refuses, and then another one, which many ask at the same time. */
      static int asks(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
        struct place *place = context;
        char *error = NULL, byte;
        outrider_callback *further = NULL;
        outrider_memory *memory = NULL;
        outrider_value absolute = {.kind = OUTRIDER_SIGNED, .signed_value = -arguments[0].signed_value};
        outrider_reply *reply = NULL;
        assert(outrider_call(place->plugin, "callit", "i32(pointer,i32)", (outrider_value[]){{0}, {.kind = OUTRIDER_SIGNED}}, 2, 0, NULL, &error) == OUTRIDER_USAGE);
        assert(strstr(error, "waits for the callback"));
        outrider_text_free(error);
        assert(outrider_allocate(place->plugin, 8, &memory, NULL) == OUTRIDER_USAGE);
        assert(outrider_read(place->memory, 0, &byte, 1, NULL) == OUTRIDER_USAGE);
        assert(outrider_register(place->plugin, "i32(i32)", asks, context, &further, NULL) == OUTRIDER_USAGE);
        pthread_barrier_wait(&all_wait);
        assert(outrider_call(other, "abs", "i32(i32)", &absolute, 1, 0, &reply, NULL) == OUTRIDER_OK);
        *result = outrider_reply_value(reply);
        outrider_reply_free(reply);
        return 0;
      }
      /* Frees itself, and what its plugin has. */
      static int frees(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
        struct place *place = context;
        place->calls++;
        outrider_memory_free(place->memory);
        outrider_callback_free(place->callback);
        *result = arguments[0];
        return 0;
      }
      static void *one(void *number) {
        struct place place = {0};
        int64_t value = 40 + *(int *)number;
        assert(outrider_load(host, "./calls.so", NULL, &place.plugin, NULL) == OUTRIDER_OK);
        assert(outrider_allocate(place.plugin, 8, &place.memory, NULL) == OUTRIDER_OK);
        assert(outrider_register(place.plugin, "i32(i32)", asks, &place, &place.callback, NULL) == OUTRIDER_OK);
        assert(call(place.plugin, "callit", place.callback, &value, NULL) == OUTRIDER_OK);
        assert(value == 40 + *(int *)number);
        outrider_callback_free(place.callback);
        assert(outrider_register(place.plugin, "i32(i32)", frees, &place, &place.callback, NULL) == OUTRIDER_OK);
        char *error = NULL;
        assert(call(place.plugin, "twice", place.callback, &value, &error) == OUTRIDER_FAILED);
        assert(place.calls == 1 && strstr(error, "freed"));
        outrider_text_free(error);
        outrider_value seven = {.kind = OUTRIDER_SIGNED, .signed_value = 7};
        assert(outrider_call(place.plugin, "same", "i32(i32)", &seven, 1, 0, NULL, NULL) == OUTRIDER_OK);
        outrider_plugin_free(place.plugin);
        return NULL;
      }
      int main(void) {
        /* More than the processors' threads, on which tasks run. */
        int count = (int)sysconf(_SC_NPROCESSORS_ONLN) + 2, numbers[count];
        pthread_t threads[count];
        assert(pthread_barrier_init(&all_wait, NULL, (unsigned)count) == 0);
        host = outrider_host_new(NULL, NULL);
        assert(outrider_load(host, "libc.so.6", NULL, &other, NULL) == OUTRIDER_OK);
        for (int i = 0; i < count; i++) {
          numbers[i] = i;
          assert(pthread_create(&threads[i], NULL, one, &numbers[i]) == 0);
        }
        for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
        outrider_plugin_free(other);
        outrider_host_free(host);
        puts("answered");
        return 0;
      }
      """
    try source.write(toFile: "\(folder)/waited.c", atomically: true, encoding: .utf8)
    try Self.compile("\(folder)/waited.c", "cc -std=gnu11 -w", in: folder)
    let end = try Workspace.run(["-c", "cd '\(folder)' && ./program"], program: "/bin/bash")
    #expect(end.status == 0 && end.output == "answered\n", "\(end)")
  }

  @Test("memory and callbacks are bounded, and refused once they are freed") func held() throws {
    let folder = try Self.installed()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      long fill(long (*f)(char *, long), long size) { static char room[64]; long n = f(room, size); return n * 1000 + room[0]; }
      """, "-O1 -w -o fills.so", in: folder)
    let source = """
      #include <outrider.h>
      #include <assert.h>
      #include <stdlib.h>
      #include <string.h>
      static int answers(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
        int what = *(int *)context;
        assert(count == 2 && arguments[0].kind == OUTRIDER_ROOM && arguments[1].kind == OUTRIDER_SIGNED);
        if (arguments[0].count) memset(arguments[0].room, 5, arguments[0].count);
        result->kind = OUTRIDER_SIGNED;
        result->signed_value = (int64_t)arguments[0].count;
        if (what == 1) return 3;
        if (what == 2) arguments[0].count = 9;
        if (what == 3) arguments[0].count = (size_t)-1;
        if (what == 4) result->kind = 99;
        if (what == 5) arguments[0].count = 0;
        if (what == 6) arguments[0].room = (void *)8;
        if (what == 7) result->kind = OUTRIDER_NULL;
        return 0;
      }
      int main(int count, char **arguments) {
        assert(count == 2);
        char *error = NULL, bytes[64];
        outrider_host *host = outrider_host_new(NULL, NULL);
        outrider_plugin *plugin = NULL, *other = NULL;
        outrider_memory *memory = (outrider_memory *)16;
        outrider_callback *callback = (outrider_callback *)16;
        outrider_reply *reply = NULL;
        assert(outrider_load(host, arguments[1], NULL, &plugin, NULL) == OUTRIDER_OK);
        assert(outrider_load(host, "libc.so.6", NULL, &other, NULL) == OUTRIDER_OK);
        assert(outrider_allocate(plugin, 0, &memory, NULL) == OUTRIDER_USAGE && !memory);
        assert(outrider_allocate(plugin, (size_t)-1, &memory, &error) == OUTRIDER_USAGE && error);
        outrider_text_free(error);
        assert(outrider_allocate(plugin, (size_t)1 << 40, &memory, NULL) == OUTRIDER_USAGE);
        assert(outrider_allocate(plugin, 16, NULL, NULL) == OUTRIDER_USAGE);
        assert(outrider_allocate(NULL, 16, &memory, NULL) == OUTRIDER_USAGE);
        assert(outrider_allocate(plugin, 16, &memory, NULL) == OUTRIDER_OK && memory);
        assert(outrider_write(memory, 8, "12345678", 8, NULL) == OUTRIDER_OK);
        assert(outrider_write(memory, 8, "123456789", 9, NULL) == OUTRIDER_USAGE);
        assert(outrider_write(memory, (size_t)-8, "12345678", 8, NULL) == OUTRIDER_USAGE);
        assert(outrider_write(memory, 0, bytes, (size_t)-1, NULL) == OUTRIDER_USAGE);
        assert(outrider_write(memory, 0, NULL, 1, NULL) == OUTRIDER_USAGE);
        assert(outrider_read(memory, 0, bytes, 16, NULL) == OUTRIDER_OK && !memcmp(bytes + 8, "12345678", 8) && !bytes[0]);
        assert(outrider_read(memory, 0, bytes, 17, NULL) == OUTRIDER_USAGE);
        assert(outrider_read(memory, 0, NULL, 1, NULL) == OUTRIDER_USAGE);
        outrider_value text = {.kind = OUTRIDER_MEMORY, .memory = memory, .count = 8};
        assert(outrider_call(other, "strlen", "u64(pointer)", &text, 1, 0, NULL, &error) == OUTRIDER_USAGE);
        assert(strstr(error, "another plugin"));
        outrider_text_free(error);
        text.count = 17;
        assert(outrider_call(plugin, "fill", "i64(pointer,i64)", (outrider_value[]){text, {.kind = OUTRIDER_SIGNED}}, 2, 0, NULL, NULL) == OUTRIDER_USAGE);
        outrider_memory_free(memory);
        outrider_memory_free(memory);
        assert(outrider_read(memory, 0, bytes, 1, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(other, "strlen", "u64(pointer)", &text, 1, 0, NULL, NULL) == OUTRIDER_USAGE);

        int what = 0;
        assert(outrider_register(plugin, "i64(", answers, &what, &callback, &error) == OUTRIDER_USAGE && !callback && error);
        outrider_text_free(error);
        assert(outrider_register(plugin, NULL, answers, &what, &callback, NULL) == OUTRIDER_USAGE);
        assert(outrider_register(plugin, "i64(out(1),i64)", NULL, &what, &callback, NULL) == OUTRIDER_USAGE);
        assert(outrider_register(NULL, "i64(out(1),i64)", answers, &what, &callback, NULL) == OUTRIDER_USAGE);
        assert(outrider_register(plugin, "i64(out(1),i64)", answers, &what, &callback, NULL) == OUTRIDER_OK && callback);
        outrider_value given[] = {{.kind = OUTRIDER_CALLBACK, .callback = callback}, {.kind = OUTRIDER_SIGNED, .signed_value = 8}};
        assert(outrider_call(other, "fill", "i64(callback,i64)", given, 2, 0, NULL, NULL) == OUTRIDER_USAGE);
        int64_t results[] = {8005, -1, -1, -1, -1, 8005, 8005, -1};
        for (what = 7; what >= 0; what--) {
          int status = outrider_call(plugin, "fill", "i64(callback,i64)", given, 2, 0, &reply, &error);
          if (results[what] < 0) {
            assert(status == OUTRIDER_FAILED && error);
            outrider_text_free(error);
            continue;
          }
          assert(status == OUTRIDER_OK);
          /* The first that fills is the one with another address of its own. */
          assert(outrider_reply_value(reply).signed_value == results[what]);
          outrider_reply_free(reply);
        }
        outrider_callback_free(callback);
        outrider_callback_free(callback);
        assert(outrider_call(plugin, "fill", "i64(callback,i64)", given, 2, 0, NULL, NULL) == OUTRIDER_USAGE);
        outrider_plugin_free(plugin);
        assert(outrider_allocate(plugin, 16, &memory, NULL) == OUTRIDER_USAGE);
        outrider_host_free(host);
        return 0;
      }
      """
    try source.write(toFile: "\(folder)/held.c", atomically: true, encoding: .utf8)
    try Self.compile("\(folder)/held.c", "cc -std=gnu11", in: folder)
    let end = try Workspace.run(["\(folder)/fills.so"], program: "\(folder)/program")
    #expect(end.status == 0, "\(end)")
  }
}
