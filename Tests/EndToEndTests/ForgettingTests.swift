import Foundation
import PluginHost
import TestSupport
import Testing

/// A run begins as a copy of the fork server, never of a run before it.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct ForgettingTests {
  @Test("A wake is a process of its own: variables and environment of the one before are gone [B6]")
  func nothingIsLeftOfTheRunBefore() async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <stdlib.h>
      static int calls;
      int count(void) {
        int before = getenv("COUNTED") ? 100 : 0;
        setenv("COUNTED", "1", 1);
        return before + ++calls;
      }
      """, "-o counts.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    for _ in 0..<2 {
      let plugin = try await host.load("\(folder)/counts.so")
      #expect(try await plugin.call("count", "i32()").value == .signed(1))
      // Within one run both are there.
      #expect(try await plugin.call("count", "i32()").value == .signed(102))
      _ = await plugin.end()
    }
  }
}
