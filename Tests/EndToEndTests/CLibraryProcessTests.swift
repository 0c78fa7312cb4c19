import Foundation
import Glibc
import Testing

/// What the library for C does in somebody else's process, by a program that does one thing for each name that it is given.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CLibraryProcessTests {
  private static let folder = Result { try makeProgram() }

  private static func makeProgram() throws -> String {
    let folder = try LibraryTests.folder()
    let products = (Workspace.outrider as NSString).deletingLastPathComponent
    try LibraryTests.compile(
      """
      int callit(int (*f)(int), int x) { return f(x); }
      int same(int x) { return x; }
      void loop(void) { for (;;) __asm__ volatile(""); }
      #include <errno.h>
      #include <fcntl.h>
      #include <stdlib.h>
      #include <unistd.h>
      int *kept(void) { static int value; return &value; }
      int grow(void) {
        static char block[8192];
        if (chdir(getenv("HOME"))) return -1;
        int file = open("grown", O_WRONLY | O_CREAT, 0600);
        return write(file, block, sizeof block) == 4096 && write(file, block, 1) < 0 ? errno : 0;
      }
      """, "-w -O1 -o calls.so", in: folder)
    try source.write(toFile: "\(folder)/program.c", atomically: true, encoding: .utf8)
    let script = """
      set -e
      '\(Workspace.root)/Examples/embed-c/install' '\(folder)' '\(products)'
      cd '\(folder)'
      cc -std=gnu11 -w program.c -o program -Iinclude -Llib -loutrider -Wl,-rpath,'\(folder)/lib' -pthread
      cc -std=gnu11 -w -DUNLINKED program.c -o unlinked -Iinclude -pthread
      """
    let end = try Workspace.run(["-c", script], program: "/bin/bash")
    try #require(end.status == 0, "\(end)")
    return folder
  }

  private static func run(_ scene: String, program: String = "program") throws -> Workspace.Finished {
    let folder = try folder.get()
    // Nothing that is wrong here is to take a test's whole time.
    return try Workspace.run(["-c", "cd '\(folder)' && exec timeout 60 ./\(program) \(scene)"], program: "/bin/bash")
  }

  @Test(
    "in anybody's process, the library does what its header says",
    arguments: [
      "forked", "forked-freed", "descriptors", "first-descriptors", "kinds", "freed-whole", "host-first", "stacks",
      "names", "handles", "soft-size", "hard-size", "no-threads",
    ])
  func scene(name: String) throws {
    let end = try Self.run(name)
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  @Test("a program that loads the library crashes as it always did", arguments: ["abort", "fault"])
  func crash(name: String) throws {
    let end = try Self.run(name)
    #expect(end.status == (name == "abort" ? 134 : 139) && end.output.isEmpty, "\(end)")
    #expect(!end.errors.contains("Backtrac") && !end.errors.contains("Registers"), "\(end)")
  }

  @Test("a program that has let the library go, and unloads it, goes on") func unloaded() throws {
    let end = try Self.run("lib/liboutrider.so.1", program: "unlinked")
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  @Test(
    "a program that gives up root goes on with its plugins, and their limits hold", .enabled(if: geteuid() == 0),
    arguments: ["call", "loop", "free", "host", "load"])
  func dropped(name: String) throws {
    let end = try Self.run("dropped-\(name)")
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  @Test(
    "a program that is another user for a while has plugins of that user, with all walls", .enabled(if: geteuid() == 0))
  func effectiveUser() throws {
    let end = try Self.run("effective-user")
    #expect(end.status == 0 && end.output == "done\n", "\(end)")
  }

  private static let source = #"""
    #include <outrider.h>
    #include <assert.h>
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <pthread.h>
    #include <signal.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/resource.h>
    #include <sys/stat.h>
    #include <sys/wait.h>
    #include <unistd.h>

    #ifdef UNLINKED
    #define NAME(name) static __typeof__(outrider_##name) *name
    NAME(host_new); NAME(load); NAME(plugin_free); NAME(host_free);
    int main(int count, char **arguments) {
      for (int round = 0; round < 3; round++) {
        void *library = dlopen(arguments[1], RTLD_NOW);
        assert(library);
        host_new = dlsym(library, "outrider_host_new");
        load = dlsym(library, "outrider_load");
        plugin_free = dlsym(library, "outrider_plugin_free");
        host_free = dlsym(library, "outrider_host_free");
        outrider_plugin *plugin;
        outrider_host *host = host_new(0, 0);
        assert(load(host, "./calls.so", 0, &plugin, 0) == OUTRIDER_OK);
        plugin_free(plugin);
        host_free(host);
        dlclose(library);
        usleep(200000);
      }
      puts("done");
    }
    #else
    static outrider_host *host;
    static outrider_plugin *plugin;
    static char *error;
    static int is(const char *one, const char *other) { return strcmp(one, other) == 0; }

    static void begin(void) {
      host = outrider_host_new(NULL, &error);
      assert(host);
      assert(outrider_load(host, "./calls.so", "version: 2\nlimits: {wall: 5s, cpu: 3s}\n", &plugin, &error) == OUTRIDER_OK);
    }

    static int same(int value) {
      outrider_value argument = {.kind = OUTRIDER_SIGNED, .signed_value = value};
      outrider_reply *reply = NULL;
      int status = outrider_call(plugin, "same", "i32(i32)", &argument, 1, 0, &reply, NULL);
      if (status == OUTRIDER_OK) assert(outrider_reply_value(reply).signed_value == value);
      outrider_reply_free(reply);
      return status;
    }

    static int descriptors(void) {
      int count = 0;
      for (int number = 0; number < 1024; number++) count += fcntl(number, F_GETFD) >= 0;
      return count;
    }

    /* Nothing answers in a child, which is told so; its parent goes on. */
    static void forked(int has_freed) {
      begin();
      assert(same(1) == OUTRIDER_OK);
      if (has_freed) {
        outrider_plugin_free(plugin);
        outrider_host_free(host);
      }
      pid_t child = fork();
      if (child == 0) {
        alarm(20);
        assert(!outrider_host_new(NULL, &error) && strstr(error, "forked"));
        outrider_plugin *other = NULL;
        assert(outrider_load(host, "./calls.so", NULL, &other, NULL) == OUTRIDER_USAGE && !other);
        assert(same(2) == OUTRIDER_USAGE);
        assert(!outrider_plugin_report(plugin));
        outrider_plugin_free(plugin);
        outrider_host_free(host);
        _exit(0);
      }
      int status;
      assert(waitpid(child, &status, 0) == child && status == 0);
      if (has_freed) begin();
      assert(same(3) == OUTRIDER_OK);
    }

    static void use_up_descriptors(void) {
      struct rlimit limit = {256, 256};
      assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
      while (open("/dev/null", O_RDONLY) >= 0) ;
    }

    static int answers(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
      usleep(300000);
      *(int *)context += 1;
      *result = arguments[0];
      return 0;
    }

    static void *call_back(void *callback) {
      outrider_value arguments[] = {{.kind = OUTRIDER_CALLBACK, .callback = callback}, {.kind = OUTRIDER_SIGNED, .signed_value = 4}};
      assert(outrider_call(plugin, "callit", "i32(callback,i32)", arguments, 2, 0, NULL, NULL) != OUTRIDER_OK);
      return NULL;
    }

    static void *on_small_stack(void *unused) {
      outrider_host *own = outrider_host_new(NULL, NULL);
      outrider_plugin *other = NULL;
      assert(own && outrider_load(own, "./calls.so", "computation", &other, NULL) == OUTRIDER_OK);
      char *report = outrider_plugin_report(other);
      assert(report);
      outrider_text_free(report);
      outrider_plugin_free(other);
      outrider_host_free(own);
      return NULL;
    }

    int main(int count, char **arguments) {
      const char *scene = arguments[1];
      setvbuf(stdout, NULL, _IOLBF, 0);
      if (is(scene, "abort")) { outrider_abi_version(); abort(); }
      if (is(scene, "fault")) { outrider_abi_version(); *(volatile int *)8 = 1; }
      if (is(scene, "forked")) forked(0);
      if (is(scene, "forked-freed")) forked(1);
      if (is(scene, "descriptors")) {
        host = outrider_host_new(NULL, NULL);
        use_up_descriptors();
        assert(outrider_load(host, "./calls.so", NULL, &plugin, &error) != OUTRIDER_OK && error);
      }
      if (is(scene, "first-descriptors")) {
        use_up_descriptors();
        for (int number = 255; number > 200; number -= 4) {
          assert(!outrider_host_new(NULL, &error) && strstr(error, "descriptors"));
          close(number);
          if (number < 230) break;
        }
      }
      if (is(scene, "kinds")) {
        begin();
        outrider_memory *memory = NULL;
        assert(outrider_allocate(plugin, 8, &memory, NULL) == OUTRIDER_OK);
        outrider_memory_free((void *)plugin);
        outrider_memory_free((void *)host);
        outrider_callback_free((void *)memory);
        outrider_reply_free((void *)memory);
        outrider_host_free((void *)plugin);
        outrider_plugin_free((void *)host);
        outrider_plugin_free((void *)memory);
        assert(outrider_write(memory, 0, "x", 1, NULL) == OUTRIDER_OK && same(3) == OUTRIDER_OK);
      }
      if (is(scene, "freed-whole")) {
        /* What a program has left of a plugin goes with it, and what a host has open with that. */
        int before = 0, ran = 0;
        for (int round = 0; round < 6; round++) {
          begin();
          outrider_memory *memory = NULL;
          outrider_callback *callback = NULL;
          assert(outrider_allocate(plugin, 8, &memory, NULL) == OUTRIDER_OK);
          assert(outrider_register(plugin, "i32(i32)", answers, &ran, &callback, NULL) == OUTRIDER_OK);
          outrider_plugin_free(plugin);
          assert(outrider_write(memory, 0, "x", 1, NULL) == OUTRIDER_USAGE);
          outrider_callback_free(callback);
          outrider_host_free(host);
          if (round == 1) before = descriptors();
        }
        for (int tries = 0; tries < 100 && descriptors() > before; tries++) usleep(50000);
        assert(descriptors() <= before);
      }
      if (is(scene, "host-first")) {
        /* A host that goes first ends its plugins, waits for what they call, and leaves their reports. */
        begin();
        int ran = 0;
        outrider_callback *callback = NULL;
        pthread_t thread;
        assert(outrider_register(plugin, "i32(i32)", answers, &ran, &callback, NULL) == OUTRIDER_OK);
        assert(pthread_create(&thread, NULL, call_back, callback) == 0);
        usleep(100000);
        outrider_host_free(host);
        int after = ran;
        pthread_join(thread, NULL);
        assert(after == 1 && ran == 1);
        assert(same(1) == OUTRIDER_ENDED);
        char *report = outrider_plugin_report(plugin);
        assert(report && strstr(report, "cpuSeconds") && !strstr(report, "hostFailed"));
        outrider_text_free(report);
        outrider_plugin_free(plugin);
      }
      if (is(scene, "stacks")) {
        pthread_attr_t attributes;
        pthread_t thread;
        outrider_host_free(outrider_host_new(NULL, NULL));
        assert(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 32 << 10) == 0);
        assert(pthread_create(&thread, &attributes, on_small_stack, NULL) == 0);
        pthread_join(thread, NULL);
      }
      if (is(scene, "names")) {
        /* What isn't UTF-8 is no other name. */
        begin();
        assert(rename("calls.so", "x\xef\xbf\xbd.so") == 0);
        outrider_plugin *other = NULL;
        int status = outrider_load(host, "./x\xff.so", NULL, &other, &error);
        assert(rename("x\xef\xbf\xbd.so", "calls.so") == 0);
        assert(status == OUTRIDER_USAGE && !other && strstr(error, "UTF-8"));
        assert(outrider_load(host, "./calls.so", "computation\xff", &other, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(plugin, "same\xff", "i32(i32)", NULL, 0, 0, NULL, NULL) == OUTRIDER_USAGE);
        assert(outrider_call(plugin, "same", "i32(i32)\xff", NULL, 0, 0, NULL, NULL) == OUTRIDER_USAGE);
      }
      if (is(scene, "handles")) {
        /* A handle of one plugin is none of another's, though each has its first. */
        outrider_reply *own = NULL, *others = NULL, *reply = NULL;
        begin();
        assert(outrider_call(plugin, "kept", "handle()", NULL, 0, 0, &own, NULL) == OUTRIDER_OK);
        outrider_value mine = outrider_reply_value(own);
        outrider_plugin *first = plugin;
        begin();
        assert(outrider_call(plugin, "kept", "handle()", NULL, 0, 0, &others, NULL) == OUTRIDER_OK);
        outrider_value theirs = outrider_reply_value(others);
        assert(outrider_call(first, "kept", "handle(handle)", &mine, 1, 0, &reply, NULL) == OUTRIDER_OK);
        assert(outrider_call(first, "kept", "handle(handle)", &theirs, 1, 0, &reply, &error) == OUTRIDER_USAGE);
        assert(strstr(error, "another plugin"));
      }
      if (is(scene, "soft-size") || is(scene, "hard-size")) {
        struct rlimit limit = {4096, 4096};
        if (is(scene, "soft-size")) limit = (struct rlimit){0, RLIM_INFINITY};
        assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        signal(SIGXFSZ, SIG_IGN);
        begin();
        outrider_reply *reply = NULL;
        assert(outrider_call(plugin, "grow", "i32()", NULL, 0, 0, &reply, NULL) == OUTRIDER_OK);
        /* The limit that this program may raise is its own, the other one the plugin's as well, and in the report. */
        int is_hard = is(scene, "hard-size");
        assert(outrider_reply_value(reply).signed_value == (is_hard ? 27 : 0));
        char *report = outrider_plugin_report(plugin);
        assert(report && !strstr(report, "too large"));
        assert(!is_hard || strstr(report, "4096 bytes in a file"));
      }
      if (is(scene, "no-threads")) {
        /* Who gets no thread would wait for one for ever. */
        alarm(30);
        struct rlimit limit = {2, 2};
        assert(setrlimit(RLIMIT_NPROC, &limit) == 0);
        if (geteuid() == 0) assert(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        assert(!outrider_host_new(NULL, &error) && strstr(error, "ulimit -u"));
      }
      if (is(scene, "effective-user")) {
        assert(chmod(".", 0755) == 0 && setegid(65534) == 0 && seteuid(65534) == 0);
        begin();
        assert(same(1) == OUTRIDER_OK);
        char *report = outrider_plugin_report(plugin);
        assert(report && !strstr(report, "not permitted"));
      }
      if (strncmp(scene, "dropped-", 8) == 0) {
        begin();
        assert(same(1) == OUTRIDER_OK);
        usleep(100000);
        assert(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        alarm(30);
        if (is(scene, "dropped-call"))
          for (int round = 0; round < 5; round++, usleep(50000)) assert(same(round) == OUTRIDER_OK);
        if (is(scene, "dropped-loop"))
          assert(outrider_call(plugin, "loop", "void()", NULL, 0, 0.3, NULL, NULL) == OUTRIDER_ENDED);
        if (is(scene, "dropped-load")) {
          outrider_plugin *other = NULL;
          assert(outrider_load(host, "./calls.so", NULL, &other, &error) == OUTRIDER_FAILED && !other);
          assert(strstr(error, "a new host loads others") && same(1) == OUTRIDER_OK);
        }
        if (is(scene, "dropped-free")) outrider_plugin_free(plugin);
        if (is(scene, "dropped-host")) outrider_host_free(host);
      }
      puts("done");
      return 0;
    }
    #endif
    """#
}
