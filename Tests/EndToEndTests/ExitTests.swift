import Foundation
import TestSupport
import Testing

/// How the programs end. Their threads are at work then: an exit handler of a library would free what they use.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ExitTests {
  /// A library that says when exit handlers run, for LD_PRELOAD (ld.so(8)).
  private static func told(by folder: String) throws -> [String: String] {
    try LibraryTests.compile(
      """
      #define _GNU_SOURCE
      #include <errno.h>
      #include <stdlib.h>
      #include <string.h>
      #include <unistd.h>
      static void tell(void) { if (write(2, "exit handler\\n", 13) < 0) abort(); }
      __attribute__((constructor)) static void begin(void) {
        if (!strncmp(program_invocation_short_name, "outrider", 8)) atexit(tell);
      }
      """, "-o tell.so", in: folder)
    return ["LD_PRELOAD": folder + "/tell.so"]
  }

  @Test(
    "no command runs exit handlers",
    arguments: [
      (["call", "libc.so.6", "abs", "i32(i32)", "-5"], 0), (["inspect", "libz.so.1"], 0),
      (["call", "libc.so.6", "exit", "void(i32)", "3"], 11), (["call", "/nonexistent.so", "abs", "i32(i32)", "1"], 66),
      (["call", "libc.so.6", "abs", "i32("], 64),
    ] as [([String], Int32)])
  func commands(_ arguments: [String], _ status: Int32) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(arguments, environment: Self.told(by: folder))
    #expect(end.status == status && !end.errors.contains("exit handler"), "\(end)")
  }

  @Test(
    "a constructor or a function that closes every descriptor has closed the plugin's channel",
    arguments: [true, false])
  func closed(byConstructor: Bool) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <unistd.h>
      \(byConstructor ? "__attribute__((constructor))" : "") void shut(void) { for (int n = 3; n < 1000; n++) close(n); }
      int again(void) { shut(); for (;;) pause(); }
      """, "-o shut.so", in: folder)
    let end = try Workspace.run(["call", folder + "/shut.so", "again", "i32()"])
    #expect(end.status == 16 && end.errors.contains("the plugin closed its channel"), "\(end)")
  }

  @Test("an interrupted command runs none") func interrupted() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // The program is the shell's own process by then: what it is sent reaches the command.
    let environment = try Self.told(by: folder)
    let end = try Workspace.run(
      [
        "-c",
        "LD_PRELOAD='\(environment["LD_PRELOAD"] ?? "")' exec timeout -s TERM --preserve-status 1 '\(Workspace.outrider)' call libc.so.6 sleep 'u32(u32)' 20",
      ],
      program: "/bin/bash")
    #expect(end.status == 143 && !end.errors.contains("exit handler"), "\(end)")
  }

  @Test("an interrupted command says so, in JSON as well") func interruptedJSON() throws {
    let end = try Workspace.run(
      [
        "-c",
        "exec timeout -s TERM --preserve-status 1 '\(Workspace.outrider)' call --json libc.so.6 sleep 'u32(u32)' 20",
      ],
      program: "/bin/bash")
    let report = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    let error = try #require(report?["error"] as? [String: Any], "\(end)")
    #expect(end.status == 143 && error["status"] as? Int == 143, "\(end)")
    #expect(end.errors.contains("interrupted before there was a result"), "\(end)")
  }

  @Test(
    "what a plugin has said and was denied when it is interrupted is shown, whatever it was doing",
    arguments: [
      "call ./talk.so talk 'i32()'", "call ./talk.so spin 'i32()'", "call ./begin.so f 'void()'",
      "run ./begin.so --request install --manifest talk.so",
    ])
  func interruptedReport(_ words: String) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let say = """
      #include <fcntl.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <unistd.h>
      static void say(void) {
        char path[4096];
        puts("said so far");
        fflush(stdout);
        open("/etc/shadow", O_RDONLY);
        snprintf(path, sizeof path, "%s/ready", getenv("HOME"));
        open(path, O_CREAT | O_WRONLY, 0600);
      }
      """
    try LibraryTests.compile(
      say + "\nint talk(void) { say(); for (;;) sleep(1); }\nint spin(void) { say(); for (;;) {} }\n", "-o talk.so",
      in: folder)
    try LibraryTests.compile(
      say + "\n__attribute__((constructor)) static void begin(void) { say(); for (;;) sleep(1); }\n", "-o begin.so",
      in: folder)
    let end = try Workspace.run(
      [
        "-c",
        """
        cd '\(folder)' && mkdir container && chmod 777 container
        '\(Workspace.outrider)' \(words) --container container --observe --wall 50s --cpu 50s &
        until [ -e container/ready ] || ! kill -0 $! 2>/dev/null; do sleep 0.02; done
        kill -TERM $!
        wait $!
        """,
      ], program: "/bin/bash")
    #expect(end.status == 143 && end.output.isEmpty, "\(end)")
    #expect(end.errors.contains("cancelled: the caller gave up the "), "\(end)")
    #expect(end.errors.contains("said so far"), "\(end)")
    #expect(end.errors.contains("denied by files: open"), "\(end)")
    #expect(end.errors.contains("interrupted before there was a result"), "\(end)")
  }

  @Test("the service runs none") func service() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(
      ["--state", folder + "/state", "--idle-exit", "0.1"], program: Workspace.products + "/outriderd",
      environment: Self.told(by: folder))
    #expect(end.status == 0 && !end.errors.contains("exit handler"), "\(end)")
  }
}
