import Foundation
import TestSupport
import Testing

/// How long what liboutrider.so makes lasts, and who waits for whom.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CLibraryLifeTests {
  private static func prepared() throws -> String {
    let folder = try CLibraryTests.installed()
    try LibraryTests.compile(
      """
      int callit(int (*f)(int), int x) { return f(x); }
      int same(int x) { return x; }
      """, "-O1 -w -o calls.so", in: folder)
    return folder
  }

  @Test(
    "the processes of a host end with its own, though a child that was forked lives on", arguments: ["exit", "kill"])
  func outlived(end: String) throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source =
      CLibraryValuesTests.head + """
        #include <dirent.h>
        #include <signal.h>
        /* Its parent, and whether it is still there and no zombie. */
        static int look(int pid, int *parent) {
          char path[64], text[512], state = 0;
          snprintf(path, sizeof path, "/proc/%d/stat", pid);
          FILE *file = fopen(path, "r");
          if (!file) return 0;
          size_t count = fread(text, 1, sizeof text - 1, file);
          fclose(file);
          text[count] = 0;
          char *rest = strrchr(text, ')');
          if (!rest || sscanf(rest + 1, " %c %d", &state, parent) != 2) return 0;
          return state != 'Z' && state != 'X';
        }
        static int found[256], all;
        static void collect(int of) {
          DIR *folder = opendir("/proc");
          struct dirent *entry;
          while ((entry = readdir(folder))) {
            int pid = atoi(entry->d_name), parent;
            if (pid > 0 && all < 256 && look(pid, &parent) && parent == of) {
              found[all++] = pid;
              collect(pid);
            }
          }
          closedir(folder);
        }
        int main(int count, char **arguments) {
          int ends[2];
          assert(pipe(ends) == 0);
          int program = fork();
          if (program == 0) {
            close(ends[0]);
            begin("./calls.so");
            outrider_value argument = value_of(5);
            assert(outrider_call(plugin, "same", "i32(i32)", &argument, 1, 0, NULL, NULL) == OUTRIDER_OK);
            collect(getpid());
            if (fork() == 0) {
              int left = all, parent;
              for (int tries = 0; tries < 200 && left; tries++, usleep(50000)) {
                left = getppid() == program ? 1 : 0;
                for (int i = 0; i < all; i++) left += look(found[i], &parent);
              }
              dprintf(ends[1], "%s %d\\n", all > 1 ? "some" : "none", left);
              _exit(0);
            }
            #ifdef KILLED
            kill(getpid(), SIGKILL);
            #endif
            exit(0);
          }
          close(ends[1]);
          char text[64] = "";
          (void)!read(ends[0], text, sizeof text - 1);
          fputs(text, stdout);
          return 0;
        }
        """
    let finished = try CLibraryValuesTests.run(
      (end == "kill" ? "#define KILLED\n" : "") + source, in: folder)
    #expect(finished.status == 0 && finished.output == "some 0\n", "\(finished)")
  }

  @Test("what is freed in a callback of a callback doesn't wait for the first one", arguments: ["callback", "plugin"])
  func freedWithin(what: String) throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source =
      CLibraryValuesTests.head + """
        #include <time.h>
        static outrider_plugin *other;
        static outrider_callback *first, *second;
        static _Atomic int ran;
        static int inner(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
          \(what == "plugin" ? "outrider_plugin_free(plugin)" : "outrider_callback_free(first)");
          *result = value_of(arguments[0].signed_value + 1);
          return 0;
        }
        static int outer(void *context, outrider_value *arguments, size_t count, outrider_value *result) {
          int found = call(other, "callit", "i32(callback,i32)", second, arguments[0].signed_value + 1, 2);
          *result = value_of(found);
          ran = found;
          return 0;
        }
        int main(void) {
          begin("./calls.so");
          assert(outrider_load(host, "./calls.so", NULL, &other, NULL) == OUTRIDER_OK);
          first = callback(plugin, "i32(i32)", outer, NULL);
          second = callback(other, "i32(i32)", inner, NULL);
          time_t began = time(NULL);
          int result = call(plugin, "callit", "i32(callback,i32)", first, 5, 2);
          for (int tries = 0; tries < 100 && !ran; tries++) usleep(50000);
          assert(time(NULL) - began < 10);
          outrider_value seven = value_of(7);
          int goes_on = outrider_call(other, "same", "i32(i32)", &seven, 1, 0, NULL, NULL) == OUTRIDER_OK;
          printf("%d %d %d\\n", result, ran, goes_on);
          outrider_plugin_free(plugin);
          outrider_host_free(host);
          return 0;
        }
        """
    let end = try CLibraryValuesTests.run(source, in: folder)
    // Its plugin's end is what the call of a freed plugin comes to.
    #expect(end.status == 0 && end.output == (what == "plugin" ? "-1 7 1\n" : "7 7 1\n"), "\(end)")
  }

  @Test("in Python, a host goes with the last reference to it and its plugins, and a Path is a file")
  func dropped() throws {
    let folder = try Self.prepared()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let script = """
      import gc, os, pathlib, time
      from outrider import *
      def runners():
          count = 0
          for pid in filter(str.isdigit, os.listdir("/proc")):
              try: text = open(f"/proc/{pid}/stat").read()
              except OSError: continue
              count += text[text.rindex(")") + 2:].split()[:2] in [[state, str(os.getpid())] for state in "RSDTt"]
          return count
      p = Host().load(pathlib.Path("./calls.so"))
      gc.collect()
      assert p.call("same", "i32(i32)", 5).value == 5
      before = runners()
      assert before > 0
      for _ in range(4): Host().load(pathlib.Path("calls.so")).call("same", "i32(i32)", 5)
      gc.collect()
      for _ in range(100):
          if runners() <= before: break
          time.sleep(0.05)
      assert runners() <= before, (before, runners())
      host = Host(runner=pathlib.Path("lib/outrider/outrider-runner"))
      kept = host.load("./calls.so")
      host.close()
      host.close()
      try: print(kept.call("same", "i32(i32)", 5))
      except PluginEnded: print("ended")
      """
    let end = try CLibraryValuesTests.python(script, in: folder)
    #expect(end.status == 0 && end.output == "ended\n", "\(end)")
  }
}
