import Foundation
import TestSupport
import Testing

/// What a user may give is more than a request to the fork server holds.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct RequestSizeTests {
  private func call(_ policy: String? = nil, environment: [String: String] = [:]) throws -> Workspace.Finished {
    var options: [String] = []
    if let policy { options = ["--policy", policy] }
    return try Workspace.run(
      ["call", "libc.so.6", "getenv", "cstring(cstring)", "TZ"] + options, environment: environment)
  }

  @Test func aLongZoneIsNotPassedOn() throws {
    for (zone, result) in [
      ("UTC-3", "UTC-3"), (String(repeating: "x", count: 1024), String(repeating: "x", count: 1024)),
      (String(repeating: "x", count: 1025), "null"), (String(repeating: "x", count: 100_000), "null"),
    ] {
      let finished = try call(environment: ["TZ": zone])
      #expect(finished.status == 0, "\(finished.errors)")
      #expect(finished.output == result + "\n", "\(zone.count) bytes")
    }
  }

  private func withPaths(_ count: Int, depth: Int, _ body: (Workspace.Finished) throws -> Void) throws {
    let root = NSTemporaryDirectory() + "outrider-paths-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: root) }
    let folder = root + String(repeating: "/" + String(repeating: "d", count: 200), count: depth)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let paths = (0..<count).map { "\(folder)/\($0)" }
    for path in paths { try Data().write(to: URL(fileURLWithPath: path)) }
    let policy = try Workspace.temporaryFile(
      "version: 1\nread:\n" + paths.map { " - \($0)\n" }.joined(), suffix: ".yaml")
    defer { try? FileManager.default.removeItem(atPath: policy) }
    try body(try call(policy))
  }

  @Test func longPathsAreCounted() throws {
    try withPaths(20, depth: 10) { finished in
      #expect(finished.status == 64)
      #expect(finished.errors.contains("at most 65536 fit"), "\(finished.errors)")
    }
  }

  /// As root each takes a descriptor; otherwise the fork server opens them itself.
  @Test func manyPathsAreCounted() throws {
    try withPaths(200, depth: 0) { #expect($0.status == 0, "\($0.errors)") }
    try withPaths(260, depth: 0) { finished in
      #expect(finished.status == 64 && finished.errors.contains("grant folders that hold them"), "\(finished.errors)")
      if geteuid() == 0 { #expect(finished.errors.contains("grants 260 paths"), "\(finished.errors)") }
    }
  }
}
