import Foundation
import TestSupport
import Testing

/// What `Plugins/hostile/collect` makes of the heads of behaviours, and what the program for other hosts says of them.
@Suite(.timeLimit(.minutes(1))) struct CorpusHeadTests {
  private static let head = """
    /* Does it.
     *
     * H08: No child is made.
     *   call i32(cstring) now or later
     *   with --wall 300ms --observe
     *   expect returned|crashed 1|5..7, denied clone|fork, works without walls
     */
    EXPORT int32_t h08_does(const char *what) { return 0; }
    """

  /// `collect` beside one file of one topic.
  private static func collect(_ text: String) throws -> Workspace.Finished {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: "\(folder)/time", withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: Workspace.root + "/Plugins/hostile/collect", toPath: "\(folder)/collect")
    try Data("time\tTime\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/topics"))
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/time/h08_does.c"))
    return try Workspace.run([], program: "\(folder)/collect")
  }

  @Test("a head becomes a row with its file and line") func row() throws {
    let end = try Self.collect(Self.head)
    let row =
      "H08\tbuild/libhostile.so\th08_does\ti32(cstring)\tnow or later\t--wall 300ms --observe\treturned|crashed\t"
      + "1|5..7\tclone|fork\tyes\tNo child is made.\ttime/h08_does.c:3"
    #expect(end.status == 0 && end.output.contains("# Time\n\(row)"), "\(end)")
    let hosts = "--network 127.0.0.1:9 --network [2001:db8::1]:443"
    let other = try Self.collect(Self.head.replacingOccurrences(of: "--wall 300ms --observe", with: hosts))
    #expect(other.status == 0 && other.output.contains("\tnow or later\t\(hosts)\t"), "\(other)")
  }

  @Test("the table is what the heads say now") func current() throws {
    let end = try Workspace.run([], program: Workspace.root + "/Plugins/hostile/collect")
    let table = try String(contentsOfFile: Workspace.root + "/Plugins/hostile/expected.tsv", encoding: .utf8)
    #expect(end.status == 0)
    #expect(end.output.trimmingCharacters(in: .newlines) == table.trimmingCharacters(in: .newlines), "run 'make' there")
  }

  @Test(
    "an error in a head names its file and line",
    arguments: [
      (" *   call i32(cstring) now or later", " *   call i32(cstring", 4, "signature"),
      (" *   call i32(cstring) now or later", " *   call i32(cstring)now", 4, "after one space"),
      (" *   call i32(cstring) now or later\n", "", 4, "in this order"),
      (" * H08: No", " * No", 3, "begins with the id"), (" * H08: No child is made.", " * H08: ", 3, "a sentence"),
      ("--wall 300ms", "--root", 5, "options are"), ("--wall 300ms --observe", "--wall --observe", 5, "options are"),
      ("--wall 300ms", "--network", 5, "options are"),
      ("expect returned|crashed 1|5..7,", "expect 1,", 6, "begins with an outcome"),
      (", denied clone|fork", ", refused", 6, "\"refused\" is neither"),
      (", works without walls", ", works without walls, x", 6, "is neither"),
      (" *   expect", " *   expects", 6, "in this order"),
      (" *   expect", " *  expect", 6, "two spaces"), (" */", "", 7, "begins with"),
      ("h08_does(", "h08_did(", 8, "the name of the file"), ("/* Does it.", "int x;", 1, "begins with a comment"),
      (
        " */",
        " *\n * H08: Again.\n *   call i32(cstring) now or later\n *   with --wall 300ms --observe\n *   expect returned\n */",
        12, "already in time/h08_does.c:3"
      ),
      (" *\n * H08: No child is made.\n", " *\n", 3, "begins with the id"),
    ])
  func errors(part: String, other: String, line: Int, words: String) throws {
    let text = Self.head.replacingOccurrences(of: part, with: other)
    try #require(text != Self.head)
    let end = try Self.collect(text)
    #expect(end.status == 65, "\(end)")
    #expect(
      end.errors.split(separator: "\n").first.map {
        $0.hasPrefix("Plugins/hostile/time/h08_does.c:\(line): ") && $0.contains(words)
      } ?? false, "\(end)")
  }

  private static let standalone = Workspace.hostile + "/standalone"
  private static let library = Workspace.hostile + "/libhostile.so"

  /// Those that are harmless anywhere.
  @Test(
    "the program for other hosts says in a line of JSON what became of a behaviour, and ends with its status",
    arguments: [
      (["h26_reserve", "i32()"], 0, ["returned", "0"]),
      (["h85_socket", "i32(cstring)", "out-of-range"], 97, ["EAFNOSUPPORT"]),
      (["h78_abort", "void()"], 134, ["signal", "ABRT"]), (["h77_exit", "void()"], 0, ["exited"]),
      (["h02_pause", "void()"], 124, ["time"]), (["h60_leave_a_thread", "void()"], 124, ["time"]),
      (["h13_flood_threads", "void()"], 124, ["time"]),
      (["nothing", "void()"], 127, ["failed", "nothing"]),
      (["h26_reserve", "i32(double)"], 127, ["failed", "signature"]),
      ([], 0, ["returned", "libhostile"]),
    ] as [([String], Int32, [String])])
  func alone(words: [String], status: Int32, said: [String]) throws {
    let end = try Workspace.run(["--limit", "0.3", Self.library] + words, program: Self.standalone)
    #expect(end.status == status, "\(end)")
    let line = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    #expect(line?["end"] is String && line?["seconds"] is Double, "\(end)")
    for word in said { #expect(end.output.contains(word), "\(word): \(end)") }
  }

  @Test("it runs the rows of a table, and goes on after one that leaves by exit") func table() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let rows = [("h77_exit", "no"), ("h26_reserve", "yes"), ("h119_looks_around", "yes")].map { symbol, control in
      "H1\tbuild/libhostile.so\t\(symbol)\ti32()\t-\t-\treturned\t0\t-\t\(control)\tX."
    }
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/build", withDestinationPath: Workspace.hostile)
    let table = "\(folder)/expected.tsv"
    try Data((rows.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: table))
    let all = try Workspace.run(["--harmful", "--all", table], program: Self.standalone)
    #expect(all.status == 0 && all.output.split(separator: "\n").count == 3, "\(all)")
    let harmless = try Workspace.run(["--all", table, "H1"], program: Self.standalone)
    #expect(harmless.status == 0 && harmless.output.split(separator: "\n").count == 2, "\(harmless)")
    #expect(try Workspace.run(["--all", table, "H2"], program: Self.standalone).status == 66)
    try Data("H1\tx\n".utf8).write(to: URL(fileURLWithPath: table))
    let wrong = try Workspace.run(["--all", table], program: Self.standalone)
    #expect(wrong.status == 65 && wrong.errors.contains("expected.tsv:1: "), "\(wrong)")
    for words in [[], ["--all"], ["--limit", "x", "a.so"], ["--harmful", "a.so"], ["a.so", "f"]] {
      #expect(try Workspace.run(words, program: Self.standalone).status == 64)
    }
  }
}
