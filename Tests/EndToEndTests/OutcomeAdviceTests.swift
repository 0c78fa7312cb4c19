import Foundation
import TestSupport
import Testing

/// What a report says can be done about an outcome.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct OutcomeAdviceTests {
  @Test(
    "an outcome ends with what to do, and that works",
    arguments: [
      // A second to either side: a host that got no processor meanwhile finds the answer there, and in time.
      (["libc.so.6", "usleep", "i32(u32)", "3000000", "--wall", "2s"], "--wall", "--wall 4s", 0 as Int32),
      (["libc.so.6", "sleep", "u32(u32)", "60", "--wall", "1s"], "--wall", "--wall 2s", 12),
      (["libc.so.6", "nothing", "i32()"], "inspect", "'outrider inspect /", 18),
    ] as [([String], String, String, Int32)])
  func advice(arguments: [String], name: String, text: String, status: Int32) throws {
    let end = try Workspace.run(["call"] + arguments)
    #expect(end.errors.split(separator: "\n").first?.contains(text) == true, "\(end)")
    guard let option = end.errors.firstMatch(of: #/for example (--\w+) (\w+)/#) else { return }
    let again = try Workspace.run(["call"] + arguments.dropLast(2) + ["\(option.1)", "\(option.2)"])
    #expect(again.status == status, "\(again)")
  }

  @Test(
    "a limit of a policy file is raised by the line of that file, and one that an option has replaced by the option")
  func policyFile() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <stdlib.h>
      #include <string.h>
      int fill(int size) { memset(malloc(size), 1, size); return 1; }
      """, "-O0 -o fill.so", in: folder)
    let policy = "\(folder)/p.yaml"
    for (call, limit, larger) in [
      (["libc.so.6", "sleep", "u32(u32)", "60"], "wall: 1s", "wall: 2s"),
      (["\(folder)/fill.so", "fill", "i32(i32)", "20000000"], "memory: 12MiB", "memory: 24MiB"),
    ] {
      try "version: 2\nlimits: {\(limit)}\n".write(toFile: policy, atomically: true, encoding: .utf8)
      let end = try Workspace.run(["call"] + call + ["--policy", policy])
      #expect(end.errors.split(separator: "\n").first?.contains("; policy: limits: {\(larger)}  # ") == true, "\(end)")
      let option = limit.split(separator: ":")[0]
      let given = try Workspace.run(
        ["call"] + call + ["--policy", policy, "--\(option)", String(limit.split(separator: " ")[1])])
      #expect(
        given.errors.contains("--\(option) gives it more") && !given.errors.contains("policy: limits"), "\(given)")
    }
    // The line as it stands there, pasted.
    try "version: 2\nlimits: {memory: 24MiB}\n".write(toFile: policy, atomically: true, encoding: .utf8)
    let again = try Workspace.run(["call", "\(folder)/fill.so", "fill", "i32(i32)", "20000000", "--policy", policy])
    #expect(again.output == "1\n", "\(again)")
  }

  @Test("a library that needs one which isn't there is told where it would be found") func missing() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile("int one(void) { return 1; }", "-o liboutriderone.so", in: folder)
    try LibraryTests.compile(
      "int one(void); int two(void) { return one() + 1; }", "-L. -loutriderone -Wl,-rpath,'$ORIGIN' -o two.so",
      in: folder)
    let found = try Workspace.run(["call", "\(folder)/two.so", "two", "i32()"])
    #expect(found.output == "2\n", "\(found)")
    try FileManager.default.removeItem(atPath: "\(folder)/liboutriderone.so")
    let lost = try Workspace.run(["call", "\(folder)/two.so", "two", "i32()"])
    #expect(lost.status == 10 && lost.errors.contains("-Wl,-rpath,'$ORIGIN'"), "\(lost)")
  }

  @Test("what a plugin prints, or is called, doesn't change the advice") func ownWords() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <stdio.h>
      #include <stdlib.h>
      void pretend(void) {
        puts("==1==ASan runtime does not come first in initial library list");
        fflush(stdout);
        abort();
      }
      int fault(int *at) { return *at; }
      """, "-O0 -fno-omit-frame-pointer -o libc.sound.so", in: folder)
    let pretended = try Workspace.run(["call", "\(folder)/libc.sound.so", "pretend", "void()"])
    #expect(pretended.status == 11 && !pretended.errors.contains("--no-sandbox"), "\(pretended)")
    let itself = "none of the plugin's functions"
    let fault = try Workspace.run(["call", "\(folder)/libc.sound.so", "fault", "i32(u64)", "8"])
    #expect(fault.status == 11 && !fault.errors.contains(itself), "\(fault)")
    // The C library is the plugin here.
    let division = try Workspace.run(["call", "libc.so.6", "div", "{i32,i32}(i32,i32)", "1", "0"])
    #expect(division.status == 11 && !division.errors.contains(itself), "\(division)")
  }
}
