import Foundation
import TestSupport
import Testing

@testable import outrider

/// Names that look the same and aren't: a plugin, its policy, its tests and what is printed keep them apart.
@Suite(.timeLimit(.minutes(3))) struct SpelledNamesTests {
  private static let (one, other) = ("\u{e9}", "e\u{301}")

  private static func folder() throws -> String {
    let folder = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for name in [one, other] { try name.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8) }
    try LibraryTests.compile(
      #"""
      #include <fcntl.h>
      #include <unistd.h>
      int size(const char *path) {
        char bytes[8];
        int file = open(path, O_RDONLY);
        if (file < 0) return -1;
        int count = read(file, bytes, sizeof bytes);
        close(file);
        return count;
      }
      int writes(const char *path) { return open(path, O_WRONLY) < 0 ? -1 : 0; }
      int both(const char *one, const char *other) { return size(one) + 10 * size(other); }
      int f_one(void) asm("f\xc3\xa9");
      int f_one(void) { return 1; }
      int f_other(void) asm("fe\xcc\x81");
      int f_other(void) { return 2; }
      """#, "-o names.so", in: folder)
    return folder
  }

  @Test("each of two granted files lies under its own name, and is what its own grant says") func grants() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (version, text) in [
      ("1", "version: 1\nread: ['\(folder)/\(Self.other)']\nwrite: ['\(folder)/\(Self.one)']\n"),
      ("2", "version: 2\nfiles: {read: ['\(folder)/\(Self.other)'], write: [$CONTAINER, '\(folder)/\(Self.one)']}\n"),
    ] {
      let policy = "\(folder)/\(version).yaml"
      try text.write(toFile: policy, atomically: false, encoding: .utf8)
      func call(_ function: String, _ name: String) throws -> String {
        let words = ["call", "--policy", policy, "\(folder)/names.so", function, "i32(cstring)", "\(folder)/\(name)"]
        return try Workspace.run(words).output
      }
      #expect(try call("size", Self.one).hasPrefix("2\n"))
      #expect(try call("size", Self.other).hasPrefix("3\n"))
      #expect(try call("writes", Self.one).hasPrefix("0\n"))
      #expect(try call("writes", Self.other).hasPrefix("-1\n"))
    }
  }

  @Test("each of two files is reported, recorded and expected by its own name") func reports() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let names = [Self.one, Self.other].map { "\(folder)/\($0)" }
    let call = ["call", "\(folder)/names.so", "both", "i32(cstring,cstring)"] + names
    let recorded = try Workspace.run(["policy", "record", "--output", "\(folder)/found.yaml", "--"] + call)
    #expect(recorded.status == 0, "\(recorded)")
    let again = try Workspace.run(["call", "--policy", "\(folder)/found.yaml"] + call.dropFirst())
    #expect(again.status == 0 && again.output.hasPrefix("32\n"), "\(again)")
    for (name, status) in [(Self.one, Int32(0)), (Self.other, 1)] {
      try """
      version: 1
      plugin: \(folder)/names.so
      tests:
        - {name: t, call: size, signature: i32(cstring), arguments: ['\(names[0])'], expect: ['deny \(folder)/\(name)', returned -1]}
      """.write(toFile: "\(folder)/t.yaml", atomically: false, encoding: .utf8)
      let end = try Workspace.run(["policy", "test", "\(folder)/t.yaml"])
      #expect(end.status == status, "\(end)")
    }
  }

  @Test("each of two functions is called by its own name") func functions() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try """
    version: 1
    plugin: \(folder)/names.so
    tests:
      - name: t
        steps: [{call: f\(Self.one), signature: i32(), save: {a: result}}, {call: f\(Self.other), signature: i32()}]
        expect: [returned 2]
    """.write(toFile: "\(folder)/t.yaml", atomically: false, encoding: .utf8)
    let end = try Workspace.run(["policy", "test", "\(folder)/t.yaml"])
    #expect(end.status == 0, "\(end)")
  }

  @Test(
    "no word that is offered to a shell ends its quotes",
    arguments: ["'\u{301};touch x;'\u{301}", "a'b", "$(x)\u{301}", "\u{301}", ""])
  func shells(word: String) throws {
    let end = try Workspace.run(["-c", "printf %s \(ShellWord.quoted(word))"], program: "/bin/sh")
    #expect(end.status == 0 && Array(end.output.utf8) == Array(word.utf8), "\(end)")
  }
}
