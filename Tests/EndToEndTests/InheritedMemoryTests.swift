import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// A runner begins as a copy of the fork server: what that has heard of one plugin, every later one could read.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct InheritedMemoryTests {
  /// Looks through the heap for the argument, every byte of which is one more than what is looked for.
  private static let search = """
    #include <stddef.h>
    #include <string.h>
    #include <unistd.h>
    int search(const char *shifted) {
      int ends[2], found = 0;
      size_t length = strlen(shifted);
      if (pipe(ends) < 0) return -1;
      char sink[4096];
      for (char *page = (char *)(((size_t)sbrk(0) - 1) & ~(size_t)4095); write(ends[1], page, 4096) == 4096; page -= 4096) {
        read(ends[0], sink, sizeof sink);
        for (size_t at = 0; at + length <= 4096; at++) {
          size_t same = 0;
          while (same < length && page[at + same] + 1 == shifted[same]) same++;
          found += same == length;
        }
      }
      return found;
    }
    """

  @Test(arguments: [false, true]) func nothingIsLeftOfAnotherPlugin(prepared: Bool) async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(Self.search, "-o search.so", in: folder)
    let secret = "secretfolderqjxz"
    let granted = "\(folder)/\(secret)"
    try FileManager.default.createDirectory(atPath: granted, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: "\(folder)/search.so", toPath: "\(granted)/other.so")
    let shifted = String(decoding: secret.utf8.map { $0 + 1 }, as: UTF8.self)
    let host = try Workspace.host()
    var policy = Policy()
    policy.read = [granted]
    for round in 0..<3 {
      if prepared { try await host.prepare() }
      let other = try await host.load("\(granted)/other.so", policy: policy)
      if round == 0 {
        // The search finds what is there: its own paths.
        let own = try await other.call("search", "i32(cstring)", .text(shifted))
        guard case .signed(1...) = own.value else {
          Issue.record("it finds nothing of its own: \(own.value)")
          return
        }
      }
      if prepared { try await host.prepare() }
      let curious = try await host.load("\(folder)/search.so")
      #expect(try await curious.call("search", "i32(cstring)", .text(shifted)).value == .signed(0))
      for plugin in [other, curious] { _ = await plugin.end() }
    }
  }
}
