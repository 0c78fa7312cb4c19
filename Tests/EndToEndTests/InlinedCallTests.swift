import Foundation
import PolicyLab
import TestSupport
import Testing

/// Crashes in code that a compiler made part of another function, and in its checks.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct InlinedCallTests {
  @Test(
    "functions that were inlined are told with the lines that call them",
    arguments: ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"])
  func inlined(version: String) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      static inline int inner(const char *p) {
        return *p + 1;
      }
      static inline int middle(const char *p, int n) {
        if (n > 3)
          return inner(p) * 2;
        return 0;
      }
      int outer(const char *p, int n) {
        int x = n * 3;
        return middle(p, x) + x;
      }
      """, "\(version) -O2 -o a.so", in: folder)
    let end = try Workspace.run(["call", "\(folder)/a.so", "outer", "i32(u64,i32)", "8", "7"])
    #expect(
      end.errors.contains(
        """
        \n  #0 inner at source.c:2, inlined in
             middle at source.c:6, inlined in
             outer at source.c:11 (a.so+0x
        """), "\(end)")
    let json = try Workspace.run(["call", "\(folder)/a.so", "outer", "i32(u64,i32)", "8", "7", "--json"])
    let report = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any], "\(json)")
    let place = try #require((report["stack"] as? [[String: Any]])?.first)
    let calls = try #require(place["inlined"] as? [[String: Any]])
    #expect(place["function"] as? String == "outer" && place["line"] as? Int == 11, "\(place)")
    #expect(calls.map { $0["function"] as? String } == ["inner", "middle"], "\(place)")
    #expect(calls.map { $0["line"] as? Int } == [2, 6], "\(place)")
  }

  /// As binutils reads it, at every instruction of code in which much is inlined.
  @Test("what is inlined, and where, is what addr2line finds", arguments: ["-gdwarf-4", "-gdwarf-5"])
  func inlinedEverywhere(version: String) throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let functions = (1...12).map { number in
      """
      static inline int f\(number)(const int *v, int n) {
        int sum = n;
        for (int i = 0; i < (n & \(number)); i++)
          sum += v[i] * \(number);
        return \(number == 1 ? "v[n]" : "f\(number - 1)(v, n + sum)") + sum;
      }
      """
    }
    let whole =
      functions + [
        "int first(const int *v, int n) { return f12(v, n); }", "int second(const int *v, int n) {",
        "  return f3(v, n) * f5(v, n);", "}",
      ]
    try LibraryTests.compile(whole.joined(separator: "\n"), "\(version) -O2 -o a.so", in: folder)
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/a.so")))
    let listed = try Workspace.run(
      ["-c", "objdump -d --no-show-raw-insn -j .text '\(folder)/a.so' | sed -nE 's/^ +([0-9a-f]+):.*/\\1/p'"],
      program: "/bin/bash")
    let addresses = listed.output.split(separator: "\n").compactMap { UInt64($0, radix: 16) }
    try #require(addresses.count > 200, "\(listed)")
    let asked = try Workspace.run(
      ["-c", "addr2line -afi -e '\(folder)/a.so' \(addresses.map { String($0, radix: 16) }.joined(separator: " "))"],
      program: "/bin/bash")
    // An address, then pairs of a function and a line, the innermost first.
    var expected: [[String]] = []
    for line in asked.output.split(separator: "\n") {
      if line.hasPrefix("0x") { expected.append([]) } else { expected[expected.count - 1].append(String(line)) }
    }
    let found = SourcePlaces(bytes, of: addresses).places
    try #require(found.count == expected.count, "\(asked)")
    var inlined = 0
    for (place, lines) in zip(found, expected) where lines[1].contains("source.c:") {
      let pairs = place.inlined.map { ($0.function, $0.file, $0.line) } + [(place.function, place.file, place.line)]
      let told = pairs.flatMap { [$0.0 ?? "?", "\($0.1 ?? "?"):\($0.2.map { "\($0)" } ?? "?")"] }
      let wanted = lines.map { line in
        String(line.split(separator: "/").last ?? "").split(separator: " (disc").first.map(String.init) ?? ""
      }
      #expect(told == wanted)
      inlined += place.inlined.count
    }
    #expect(inlined > 500)
  }

  @Test("a check of Swift's is told with its line", arguments: ["-Onone", "-O"]) func swiftFailure(options: String)
    throws
  {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let source = """
      @_cdecl("over") public func over(_ n: Int32) -> Int32 {
        n &* 2
          + Int32.max
      }
      """
    try source.write(toFile: "\(folder)/a.swift", atomically: true, encoding: .utf8)
    let made = try Workspace.run(
      ["-c", "cd '\(folder)' && swiftc -g \(options) -module-name Sample -emit-library a.swift -o a.so"],
      program: "/bin/bash")
    try #require(made.status == 0, "\(made)")
    let end = try Workspace.run(["call", "\(folder)/a.so", "over", "i32(i32)", "5"])
    #expect(end.errors.hasPrefix("crashed: SIGILL in "), "\(end)")
    #expect(
      end.errors.split(separator: "\n").first?.hasSuffix(": Swift runtime failure: arithmetic overflow") == true,
      "\(end)")
    #expect(end.errors.contains("#0 Sample.over(Swift.Int32) -> Swift.Int32 at a.swift:3"), "\(end)")
  }
}
