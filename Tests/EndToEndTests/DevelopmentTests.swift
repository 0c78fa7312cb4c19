import Foundation
import TestSupport
import Testing

/// `--debug` and `--no-sandbox`.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct DevelopmentTests {
  private static let source = """
    #include <stdlib.h>
    #include <unistd.h>
    static int sum;
    __attribute__((constructor)) static void begin(void) { sum = 3; }
    int answer(int n) { return n * 2 + sum; }
    int past(int n) { char *room = malloc(4); room[n] = 1; int first = room[0]; free(room); return first; }
    int user(void) { return (int)getuid(); }
    """

  private static func folder(_ options: String = "-O0") throws -> String {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "-g \(options) -o a.so", in: folder)
    return folder
  }

  @Test(
    "the command that --debug prints stops before the first constructor, and its time isn't the plugin's",
    arguments: ["a.so", "lib++{a} [1].so"])
  func debugger(library: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    if library != "a.so" { try FileManager.default.moveItem(atPath: "\(folder)/a.so", toPath: "\(folder)/\(library)") }
    // The command is run as it is printed, beside the run that waits for it.
    let end = try Workspace.run(
      [
        "-c",
        """
        exec 2>&1; cd '\(folder)'
        '\(Workspace.outrider)' call './\(library)' answer 'i32(i32)' 4 --debug 2>said >result &
        until grep -q lldb said; do kill -0 $! || exit 1; sleep 0.05; done
        cd /
        eval "$(sed -n 's/^  gdb /gdb -q -batch /p' '\(folder)/said')" -ex "'break begin'" -ex continue \\
          -ex "'break answer'" -ex continue -ex "'info args'" -ex "'delete'" -ex continue
        wait; cat '\(folder)/result' '\(folder)/said'
        """,
      ], program: "/bin/bash")
    let places = ["Inferior loaded ", "begin () at source.c:4", "answer (n=4) at source.c:5", "n = 4", "\n11\n"]
    var rest = Substring(end.output)
    for place in places {
      let found = try #require(rest.range(of: place), "\(place) in \(end.output)")
      rest = rest[found.upperBound...]
    }
    #expect(end.output.contains("returned"), "\(end.output)")
  }

  @Test("an interrupt ends a run that waits for a debugger") func interrupted() throws {
    let end = try Workspace.run(
      [
        "-c",
        """
        '\(Workspace.outrider)' call libc.so.6 abs 'i32(i32)' 4 --debug 2>&1 &
        until pgrep -P $! outrider-runner >/dev/null; do kill -0 $! || exit 1; sleep 0.05; done
        kill -TERM $!; wait $!; echo "status $?"
        """,
      ], program: "/bin/bash")
    #expect(end.output.contains("status 143"), "\(end)")
  }

  @Test("AddressSanitizer works without the sandbox, and within it the remedy is named") func sanitizer() throws {
    let folder = try Self.folder("-fsanitize=address")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "past", "i32(i32)", "9", "--no-sandbox"])
    #expect(end.status == 11 && end.errors.contains("heap-buffer-overflow"), "\(end)")
    #expect(end.errors.contains(" in past ") && end.errors.contains("source.c:6"), "\(end)")
    let right = try Workspace.run(["call", "\(folder)/a.so", "past", "i32(i32)", "2", "--no-sandbox"])
    #expect(right.status == 0, "\(right)")
    let walled = try Workspace.run(["call", "\(folder)/a.so", "past", "i32(i32)", "2"])
    #expect(walled.status == 11 && walled.errors.contains("a sanitizer needs --no-sandbox"), "\(walled)")
  }

  @Test("--no-sandbox warns, is in the report, and has this user's rights; the watchdog holds") func loud() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let end = try Workspace.run(["call", "\(folder)/a.so", "user", "i32()", "--no-sandbox", "--json"])
    #expect(end.status == 0 && end.errors.contains("warning: --no-sandbox: "), "\(end)")
    let report = try #require(try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any])
    #expect(report["result"] as? Int == Int(getuid()), "\(report)")
    let walls = try #require(report["sandbox"] as? [String: [String: Any]])
    #expect(walls.filter { $0.value["state"] as? String == "full" }.keys.sorted() == ["watchdog"], "\(walls)")
    let late = try Workspace.run(["call", "libc.so.6", "sleep", "u32(u32)", "30", "--no-sandbox", "--wall", "200ms"])
    #expect(late.status == 12 && late.errors.contains("no walls: --no-sandbox"), "\(late)")
  }

  @Test(
    "what needs walls is refused without them",
    arguments: [
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--no-sandbox", "--trace"], "leave --trace out"),
      (["call", "libc.so.6", "abs", "i32(i32)", "1", "--no-sandbox", "--observe"], "leave --observe out"),
      (["policy", "record", "--", "call", "libc.so.6", "abs", "i32(i32)", "1", "--no-sandbox"], "--no-sandbox: "),
      (["policy", "record", "--", "call", "libc.so.6", "abs", "i32(i32)", "1", "--debug"], "--debug: "),
    ] as [([String], String)])
  func refused(arguments: [String], sentence: String) throws {
    let end = try Workspace.run(arguments)
    #expect(end.status == 64 && end.errors.contains(sentence), "\(end)")
  }

  @Test("a policy that requires a wall fails without it") func required() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "version: 1\nrequire: [seccomp]\n".write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
    let end = try Workspace.run([
      "call", "libc.so.6", "abs", "i32(i32)", "1", "--no-sandbox", "--policy", "\(folder)/p.yaml",
    ])
    #expect(end.status == 69 && end.errors.contains("requires seccomp"), "\(end)")
  }
}
