import Foundation
import Glibc
import TestSupport
import Testing

/// `outrider policy record` of what makes, moves and removes files.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct RecordedChangesTests {
  /// C: what programs do to files and folders that are, or aren't, there.
  private static let changes = """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdio.h>
    #include <sys/stat.h>
    #include <unistd.h>
    static const char *in(const char *folder, const char *name) {
      static char paths[4][512];
      static int next;
      char *path = paths[next++ % 4];
      snprintf(path, 512, "%s/%s", folder, name);
      return path;
    }
    int rotate(const char *folder) {
      FILE *log = fopen(in(folder, "log"), "r+");
      if (!log) return -errno;
      fclose(log);
      return rename(in(folder, "log"), in(folder, "log.1")) ? -1000 - errno : 1;
    }
    int back(const char *folder) { return rename(in(folder, "log.1"), in(folder, "log")); }
    int save(const char *folder) {
      mkdir(folder, 0755);
      int file = open(in(folder, "new"), O_CREAT | O_WRONLY, 0644);
      if (file < 0) return -errno;
      close(file);
      return unlink(in(folder, "new")) ? -1000 - errno : 1;
    }
    int absent(const char *folder) {
      const char *path = in(folder, "absent");
      return (unlink(path) + truncate(path, 0) + rmdir(path) + chmod(path, 0600) + rename(path, in(folder, "a")) == -5)
        + 2 * (open(path, O_RDWR) < 0 && errno == ENOENT);
    }
    """

  @Test("what a program changes is granted and nothing beside it, and the run has no denial then") func changed() throws
  {
    let data = try PolicyRecordTests.data()
    let folder = try LibraryTests.folder()
    defer { for path in [data, folder] { try? FileManager.default.removeItem(atPath: path) } }
    try LibraryTests.compile(Self.changes, "-w -o changes.so", in: folder)
    try PolicyRecordTests.write("\(data)/log")
    let policy = "\(folder)/p.yaml"
    for (function, result, grants) in [
      ("rotate", "1", ["write: [\(data)]"]), ("save", "1", ["write: [\(data)]"]), ("absent", "3", []),
    ] {
      let call = ["call", "\(folder)/changes.so", function, "i32(cstring)", data]
      let end = try Workspace.run(["policy", "record", "--output", policy] + call)
      // Recording moves it in a round of its own.
      func moveBack() { rename("\(data)/log.1", "\(data)/log") }
      moveBack()
      let text = try String(contentsOfFile: policy, encoding: .utf8)
      if function != "rotate" { #expect(end.status == 0, "\(end) \(text)") }
      let lines = text.split(separator: "\n").filter { $0.contains(data) && !$0.hasPrefix("#") }
      #expect(lines.count == grants.count && lines.allSatisfy { $0.contains("- \(data)  #") }, "\(function): \(text)")
      let after = try Workspace.run(call + ["--policy", policy, "--observe"])
      moveBack()
      #expect(after.output == "\(result)\n", "\(function): \(after) \(text)")
      // What isn't on the machine is said to be absent.
      let isDenied = after.errors.contains("denied") && !after.errors.contains("it isn't on this machine either")
      #expect(!isDenied && !after.errors.contains("policy:"), "\(function): \(after) \(text)")
    }
  }

  @Test("a file that is granted by itself and can't be moved is reported with what helps") func moved() throws {
    let data = try PolicyRecordTests.data()
    let folder = try LibraryTests.folder()
    defer { for path in [data, folder] { try? FileManager.default.removeItem(atPath: path) } }
    try PolicyRecordTests.write("\(data)/log")
    for (grants, remedy) in [
      (["\(data)/log"], "policy: files: {write: [\(data)]}"),
      ([data, "\(data)/log"], "leave that line out"),
    ] {
      try "version: 2\nfiles: {write: [\(grants.joined(separator: ", "))]}\n"
        .write(toFile: "\(folder)/p.yaml", atomically: true, encoding: .utf8)
      for (name, signature, more) in [
        ("unlink", "i32(cstring)", []), ("rename", "i32(cstring,cstring)", ["\(data)/other"]),
      ] {
        let end = try Workspace.run(
          ["call", "libc.so.6", name, signature, "\(data)/log"] + more + ["--policy", "\(folder)/p.yaml", "--observe"])
        #expect(end.output == "-1\n" && end.errors.contains("denied by files: \(name)(\(data)/log)"), "\(end)")
        #expect(end.errors.contains(remedy), "\(end)")
      }
    }
  }

  @Test(
    "a folder that is moved takes the lines of what lies in it, and what was found isn't lost where a granted path went with it",
    arguments: [false, true])
  func gone(byOtherName: Bool) throws {
    let data = try PolicyRecordTests.data()
    let folder = try LibraryTests.folder()
    defer { for path in [data, folder] { try? FileManager.default.removeItem(atPath: path) } }
    try FileManager.default.createDirectory(atPath: "\(data)/d", withIntermediateDirectories: false)
    try PolicyRecordTests.write("\(data)/d/in")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/alias", withDestinationPath: "\(data)/d")
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <stdio.h>
      #include <unistd.h>
      int take(const char *in, const char *from, const char *to) {
        int file = open(in, O_RDONLY);
        if (file >= 0) close(file);
        return file < 0 ? -1 : rename(from, to);
      }
      """, "-w -o take.so", in: folder)
    let read = byOtherName ? "\(folder)/alias/in" : "\(data)/d/in"
    let end = try Workspace.run(
      [
        "policy", "record", "--output", "\(folder)/p.yaml", "call", "\(folder)/take.so", "take",
        "i32(cstring,cstring,cstring)", read, "\(data)/d", "\(data)/done",
      ])
    #expect(end.status == (byOtherName ? 1 : 0), "\(end)")
    #expect(end.errors.contains("it didn't come to its end: ") == byOtherName, "\(end)")
    let text = try String(contentsOfFile: "\(folder)/p.yaml", encoding: .utf8)
    #expect(text.contains("- \(data)  # "), "\(text)")
    #expect(FileManager.default.fileExists(atPath: "\(data)/done/in"))
  }
}
