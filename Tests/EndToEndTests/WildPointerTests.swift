import Foundation
import HostProtocol
import PluginHost
import TestSupport
import Testing

/// An address that a plugin gives and that can't be read is the plugin's mistake, and is told so.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct WildPointerTests {
  private final class Library {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    var path: String { "\(folder)/wild.so" }

    init(_ source: String) throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try source.write(toFile: "\(folder)/wild.c", atomically: true, encoding: .utf8)
      let compiled = try Workspace.run(
        [
          "-shared", "-fPIC", "-I\(Workspace.root)/Sources/CExtension/include", "-o", path, "\(folder)/wild.c",
        ], program: "/usr/bin/cc")
      try #require(compiled.status == 0, "\(compiled.errors)")
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
  }

  private static let functions = """
    #include <string.h>
    #include <sys/mman.h>
    static char *pages(void) {
      char *base = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      mprotect(base + 4096, 4096, PROT_NONE);
      memset(base, 'a', 4096);
      return base;
    }
    const char *nowhere(void) { return (const char *)0x5000; }
    const char *negative(void) { return (const char *)-1; }
    const char *forbidden(void) { return pages() + 4096; }
    const char *endless(void) { return pages() + 4000; }
    const char *last(void) { char *base = pages(); base[4095] = 0; return base + 4090; }
    """

  @Test("A function's wild result names the function", arguments: ["nowhere", "negative", "forbidden", "endless"])
  func results(_ symbol: String) async throws {
    let library = try Library(Self.functions)
    let host = try Workspace.host()
    let plugin = try await host.load(library.path)
    #expect(try await plugin.call("last", "cstring()").value == .cstring(Array("aaaaa".utf8)))
    #expect(try await plugin.call(symbol, "u64()").value != .unsigned(0), "as a number it is nothing to be read")
    let error = await #expect(throws: HostError.self) { try await plugin.call(symbol, "cstring()") }
    let outcome = try #require(error?.report?.outcome)
    #expect(outcome.kind == .crashed)
    #expect(outcome.detail.hasPrefix("\(symbol) returned 0x"), "\(outcome.detail)")
    #expect(outcome.detail.hasSuffix("as a cstring, and there is no text that can be read"))
  }

  private static func `extension`(_ table: String, _ body: String = "return BA_OK;") -> String {
    """
    #include "background_assets_extension.h"
    static ba_status content_request(const ba_host *host, const ba_content_request *request) { \(body) }
    static const ba_entry_point points[] = {
      {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))content_request},
    };
    static ba_extension table = {
      .size = sizeof(ba_extension), .abi_version = BA_ABI_VERSION, .entry_points = points, .entry_point_count = 1,
    };
    const ba_extension *background_assets_extension(uint32_t version) { \(table) }
    """
  }

  private func load(_ source: String, _ calls: (Plugin) async throws -> Void = { _ in }) async throws -> Outcome {
    let library = try Library(source)
    let host = try Workspace.host()
    var options = PluginHost.LoadOptions()
    options.isExtension = true
    do {
      let plugin = try await host.load(library.path, options: options)
      try await calls(plugin)
      return await plugin.end().outcome
    } catch {
      return try #require((error as? HostError)?.report?.outcome, "\(error)")
    }
  }

  @Test(
    "A wild table is the extension's",
    arguments: [
      "return (const ba_extension *)0x5000;", "table.entry_points = (void *)0x5000; return &table;",
      "table.name = (const char *)0x5000; return &table;",
      "static ba_entry_point wild[1]; wild[0] = points[0]; wild[0].signature = (char *)0x5000; table.entry_points = wild; return &table;",
    ])
  func tables(_ table: String) async throws {
    let outcome = try await load(Self.extension(table))
    #expect(
      outcome
        == Outcome(.crashed, "the extension's table, or what it points to, lies at 0x5000, which can't be read"))
  }

  @Test(
    "A wild argument is the plugin's",
    arguments: [
      "host->answer(host->context, (const ba_download *)0x5000);",
      "ba_string wild = {(const char *)0x5000, 8}; host->log(host->context, 1, ba_text(\"a\"), ba_text(\"b\"), wild);",
      "ba_download d = {sizeof d}; d.http_headers = (const ba_header *)0x5000; d.http_header_count = 2; host->answer(host->context, &d);",
    ])
  func arguments(_ body: String) async throws {
    let outcome = try await load(Self.extension("return &table;", body + " return BA_OK;")) { plugin in
      _ = try await plugin.contentRequest(.install)
    }
    #expect(outcome == Outcome(.crashed, "it gave a function of the host the address 0x5000, which can't be read"))
  }

  /// Again and again, until it lies between the host's question and its look: there it was a crash of the C library.
  @Test("A text that another thread unmaps meanwhile is there, or a wild pointer") func unmappedMeanwhile() async throws
  {
    let library = try Library(
      """
      #define _GNU_SOURCE
      #include <pthread.h>
      #include <string.h>
      #include <sys/mman.h>
      enum { SIZE = 65536 };
      static char *place;
      static void *flicker(void *unused) {
        for (;;) {
          mprotect(place, SIZE, PROT_NONE);
          mprotect(place, SIZE, PROT_READ);
        }
      }
      int begin(void) {
        pthread_t other;
        place = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(place, 'a', SIZE - 1);
        return pthread_create(&other, 0, flicker, 0);
      }
      const char *text(void) { return place; }
      """)
    let host = try Workspace.host()
    for _ in 0..<40 {
      let plugin = try await host.load(library.path)
      #expect(try await plugin.call("begin", "i32()").value == .signed(0))
      do {
        while true {
          guard case .cstring(let text?) = try await plugin.call("text", "cstring()").value else {
            Issue.record("no text")
            return
          }
          #expect(text.allSatisfy { $0 == 0x61 })
        }
      } catch {
        let outcome = try #require((error as? HostError)?.report?.outcome, "\(error)")
        #expect(outcome.detail.hasPrefix("text returned 0x"), "\(outcome)")
      }
    }
  }
}
