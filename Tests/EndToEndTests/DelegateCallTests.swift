import AssetModel
import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What the delegate of an extension is told through its own entry point (B31).
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct DelegateCallTests {
  private static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(source, "-O1 -I '\(Workspace.root)/Sources/CExtension/include' -o delegate.so", in: folder)
    return folder + "/delegate.so"
  }

  private static func load(_ scene: ExtensionScene) async throws -> Plugin {
    try await scene.host.load(library.get(), policy: Policy(limits: scene.limits), options: scene.options)
  }

  @Test("an extension asks for events and is told of each kind in its own words") func isTold() async throws {
    let desk = ExtensionDesk()
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    let plugin = try await Self.load(scene)
    try await plugin.downloadFailed(ExtensionScene.download("observe"), error: ExtensionScene.error)
    await desk.until("observe true")
    let download = ExtensionScene.download("a")
    #expect(try await plugin.tellDelegate(.began(download)))
    #expect(try await plugin.tellDelegate(.paused(download)))
    #expect(try await plugin.tellDelegate(.progress(download, totalWritten: 5, totalExpected: -1)))
    #expect(try await plugin.tellDelegate(.failed(download, .init(domain: "D", code: -7, description: "why"))))
    #expect(try await !plugin.tellDelegate(.failed(ExtensionScene.download("leave"), ExtensionScene.error)))
    let question = ChallengeDescription(
      host: "e.example.com", port: 443, protocolName: "https", realm: "films",
      authenticationMethod: "NSURLAuthenticationMethodHTTPBasic", previousFailureCount: 0)
    #expect(
      try await plugin.askDelegate(download, question)
        == ChallengeDecision(.useCredential, .init(user: "user", password: "s3cret")))
    #expect(try await plugin.askDelegate(ExtensionScene.download("leave"), question) == nil)
    let report = await plugin.end()
    #expect(
      report.messages == [
        "1 a 0 0", "2 a 0 0", "3 a 5 -1", "5 a 0 0 D -7 why", "4 a 0 0 e.example.com",
      ])
    #expect(
      report.statuses.map(\.status) == [0, 0, -2, 0, -2], "neither begin nor pause nor progress: \(report.statuses)")
    await desk.until("ended")
    #expect(desk.events == ["observe true", "ended"])
  }

  @Test(
    "a file that the delegate leaves goes back to where it was, one that it takes is gone",
    arguments: ["take", "keep", "leave", "crash"])
  func files(behaviour: String) async throws {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let path = scene.folder + "/lease/file"
    try Data("content".utf8).write(to: URL(fileURLWithPath: path))
    let plugin = try await Self.load(scene)
    let (handover, isHandled) = try await plugin.tellDelegate(
      finished: ExtensionScene.download(behaviour), moving: path)
    #expect(isHandled == ["take", "keep"].contains(behaviour))
    #expect(handover.isGivenBack == (behaviour != "take"))
    #expect(FileManager.default.fileExists(atPath: path) == (behaviour != "take"))
    #expect((handover.failure?.report?.outcome.kind == .crashed) == (behaviour == "crash"))
    _ = await plugin.end()
  }

  @Test("an extension without the entry point says so") func isMissing() async throws {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let plugin = try await scene.load()
    await #expect {
      try await plugin.tellDelegate(.began(ExtensionScene.download("a")))
    } throws: {
      if case HostError.entryPointMissing = $0 { true } else { false }
    }
    _ = await plugin.end()
  }

  @Test("one that changes its mind without end is told of neither more nor less than the last") func flood()
    async throws
  {
    let desk = ExtensionDesk()
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    let plugin = try await Self.load(scene)
    try await plugin.downloadFailed(ExtensionScene.download("flood"), error: ExtensionScene.error)
    _ = await plugin.end()
    await desk.until("ended")
    let changes = desk.events.filter { $0.hasPrefix("observe") }
    #expect(zip(changes, changes.dropFirst()).allSatisfy { $0 != $1 }, "each is news")
  }

  private static let source = """
    #include "background_assets_extension.h"
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>

    static int is(const ba_download *download, const char *name) {
      return download->identifier.length == strlen(name) && !memcmp(download->identifier.bytes, name, strlen(name));
    }
    static ba_status download_failed(const ba_host *host, const ba_download *download, const ba_error *error) {
      if (is(download, "observe")) host->observe(host, 1);
      if (is(download, "flood")) for (int index = 0; index < 20001; index++) host->observe(host, index % 2 == 0);
      return error ? BA_OK : BA_FAILED;
    }
    static ba_status delegate_event(const ba_host *host, const ba_delegate_event *event) {
      char line[500];
      const ba_download *download = event->download;
      if (is(download, "leave")) return BA_UNHANDLED;
      if (is(download, "crash")) abort();
      if (is(download, "take")) {
        char path[4200];
        snprintf(path, sizeof path, "%s-taken", event->path);
        return rename(event->path, path) ? BA_UNHANDLED : BA_OK;
      }
      if (event->size < sizeof *event) abort();
      int length = snprintf(line, sizeof line, "%u %.*s %lld %lld", event->kind, (int)download->identifier.length,
                            download->identifier.bytes, (long long)event->total_written,
                            (long long)event->total_expected);
      if (event->error)
        snprintf(line + length, sizeof line - length, " %s %lld %s", event->error->domain.bytes,
                 (long long)event->error->code, event->error->description.bytes);
      if (event->challenge) {
        snprintf(line + length, sizeof line - length, " %s", event->challenge->host.bytes);
        event->answer->disposition = BA_USE_CREDENTIAL;
        strcpy(event->answer->user, "user");
        strcpy(event->answer->password, "s3cret");
      }
      if (!event->path) host->log(host, BA_LOG_INFO, ba_text("test"), ba_text("test"), ba_text(line));
      return BA_OK;
    }
    static const ba_entry_point entries[] = {
      { BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, (void (*)(void))download_failed },
      { BA_DELEGATE_EVENT, BA_DELEGATE_EVENT_SIGNATURE, (void (*)(void))delegate_event },
    };
    static const ba_extension extension = { sizeof extension, BA_ABI_VERSION, "delegate", entries, 2 };
    BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
      return host_abi_version >= BA_ABI_VERSION ? &extension : 0;
    }
    """
}
