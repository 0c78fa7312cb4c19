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
      (["libc.so.6", "nothing", "i32()"], "explore", "'outrider explore /", 18),
    ] as [([String], String, String, Int32)])
  func advice(arguments: [String], name: String, text: String, status: Int32) throws {
    let end = try Workspace.run(["call"] + arguments)
    #expect(end.errors.split(separator: "\n").first?.contains(text) == true, "\(end)")
    guard let option = end.errors.firstMatch(of: #/for example (--\w+) (\w+)/#) else { return }
    let again = try Workspace.run(["call"] + arguments.dropLast(2) + ["\(option.1)", "\(option.2)"])
    #expect(again.status == status, "\(again)")
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
}
