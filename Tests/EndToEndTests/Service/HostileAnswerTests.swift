import Foundation
import ServiceProtocol
import TestSupport
import Testing

/// Extensions whose answers have what no rule allows: that is rejected with its code, the rest is kept, and runs show both.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HostileAnswerTests {
  private static let library = Result {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(
      source, "-O1 -I '\(Workspace.root)/Sources/CExtension/include' -o answers.so", in: folder)
    return folder + "/answers.so"
  }

  /// The manifest is the address of the origin; what is answered follows from the kind of request.
  private static let source = """
    #include "background_assets_extension.h"
    #include <fcntl.h>
    #include <string.h>
    #include <stdio.h>
    #include <unistd.h>

    static char origin[256], url[400], many[32], long_name[2000];
    static ba_download make(const char *id) {
      ba_download download;
      memset(&download, 0, sizeof download);
      download.size = sizeof download;
      download.identifier = ba_text(id);
      snprintf(url, sizeof url, "%s/file", origin);
      download.url = ba_text(url);
      download.application_group_identifier = ba_text("group.com.example.sessions");
      download.file_size = 1000;
      return download;
    }
    static ba_status content_request(const ba_host *host, const ba_content_request *request) {
      char path[4096];
      snprintf(path, sizeof path, "%.*s", (int)request->manifest_path.length, request->manifest_path.bytes);
      int file = open(path, O_RDONLY);
      ssize_t length = read(file, origin, sizeof origin - 1);
      close(file);
      origin[length > 0 ? length : 0] = 0;
      ba_download d = make("first");
      host->answer(host, &d);
      if (request->kind == BA_REQUEST_LANGUAGE_CHANGE) {
        for (int index = 0; index < 100000; index++) {
          snprintf(many, sizeof many, "%06d", index);
          d = make(many), d.file_size = 0, host->answer(host, &d);
        }
        return BA_OK;
      }
      if (request->kind == BA_REQUEST_UPDATE) {
        memset(long_name, 'x', sizeof long_name - 1);
        d = make("long"), d.unique_identifier = ba_text(long_name), host->answer(host, &d);
        d = make("path"), d.unique_identifier = ba_text("../../../../../../tmp/outrider-evil"), host->answer(host, &d);
        d = make("same"), d.unique_identifier = ba_text("11111111-2222-3333-4444-555555555555"), host->answer(host, &d);
        d = make("again"), d.unique_identifier = ba_text("11111111-2222-3333-4444-555555555555"), host->answer(host, &d);
        d = make("bad"), d.unique_identifier = ba_text(long_name), d.file_size = 0, host->answer(host, &d);
        return BA_OK;
      }
      d = make("twice"), host->answer(host, &d);
      d = make("twice"), host->answer(host, &d);
      d = make("foreign"), d.application_group_identifier = ba_text("group.of.others"), host->answer(host, &d);
      d = make("zero"), d.file_size = 0, host->answer(host, &d);
      d = make("negative"), d.file_size = -7, host->answer(host, &d);
      d = make("priority"), d.priority = 1000, host->answer(host, &d);
      d = make("plain"), d.url = ba_text("http://assets.example.com/file"), host->answer(host, &d);
      d = make("elsewhere"), d.url = ba_text("https://elsewhere.example.com/file"), host->answer(host, &d);
      if (request->kind == BA_REQUEST_PERIODIC) d = make("essential"), d.flags = BA_DOWNLOAD_ESSENTIAL, host->answer(host, &d);
      for (int index = 0; index < 40; index++) {
        snprintf(many, sizeof many, "bad-%d", index);
        d = make(many), d.file_size = 0, host->answer(host, &d);
      }
      d = make("last"), host->answer(host, &d);
      return BA_OK;
    }
    static ba_status download_finished(const ba_host *host, const ba_download *download, const char *file) {
      return BA_OK;
    }
    BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
      static const ba_entry_point entries[] = {
        {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))content_request},
        {BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, (void (*)(void))download_finished},
      };
      static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "answers", entries, 2};
      return &extension;
    }
    """

  @Test("Each bad download is rejected with its documented code, the good ones are transferred, and runs show it (6.2)")
  func rejects() async throws {
    let world = try ServiceWorld()
    world.origin.set("/manifest.json", .init(.text(world.origin.url(""))))
    world.origin.set("/file", .init(.pseudoRandom(seed: 1, count: 1000)))
    try world.start()
    _ = try await world.install(world.bundle(library: Self.library.get()))
    try await world.waitUntilOpen()
    try await world.wait("all is settled") { try await world.downloads().isEmpty }
    let run = try #require(try await world.runs().first { $0.request == "install" })
    #expect(run.outcome.kind == "returned", "\(run.outcome)")
    #expect(run.downloads.accepted == 3, "\(run.downloads.accepted)")
    let codes = Dictionary(run.downloads.rejected.map { ($0.identifier, $0.code) }) { first, _ in first }
    let expected = [
      "twice": 100, "foreign": 55, "zero": 102, "negative": 102, "priority": 102, "plain": 102, "elsewhere": 202,
      "bad-0": 102,
    ]
    #expect(codes.filter { expected[$0.key] != nil } == expected)
    #expect(run.downloads.rejected.count == 47)
    #expect(world.origin.requests.filter { $0.path == "/file" }.count == 3)
    // The callback returned and left them (B55).
    let lease = "\(world.paths.groups)/\(ServiceWorld.group)/lease"
    let left = try FileManager.default.contentsOfDirectory(atPath: lease).filter { !$0.hasPrefix(".") }
    #expect(left.isEmpty, "\(left)")

    // Restrictions end with the first launch; essential is for install and update alone.
    let session = try await world.connect()
    _ = try await session.request(.simulate(request: .periodic, app: ServiceWorld.app))
    try await world.wait("the second request has ended") {
      try await world.runs().contains { $0.request == "periodic" && $0.outcome.kind == "returned" }
    }
    let periodic = try #require(try await world.runs().first { $0.request == "periodic" })
    #expect(periodic.downloads.rejected.first { $0.identifier == "essential" }?.code == 109)

    let text = try Workspace.run(["runs", ServiceWorld.app, "--state", world.state])
    #expect(text.status == 0 && text.output.contains("47"), "\(text.output)")
    let json = try Workspace.run(["runs", ServiceWorld.app, "--json", "--state", world.state])
    #expect(json.output.contains("\"elsewhere\""))
  }

  @Test("Unique identifiers that aren't any, or were used before, are replaced: each download is another one")
  func uniqueIdentifiers() async throws {
    let world = try ServiceWorld()
    world.origin.set("/manifest.json", .init(.text(world.origin.url(""))))
    world.origin.set("/file", .init(.pseudoRandom(seed: 1, count: 1000)))
    try world.start()
    _ = try await world.install(world.bundle(library: Self.library.get()))
    try await world.waitUntilOpen()
    let session = try await world.connect()
    defer { session.close() }
    for round in 1...2 {
      try await world.wait("all is settled") { try await world.downloads().isEmpty }
      let before = world.origin.requests.filter { $0.path == "/file" }.count
      _ = try await session.request(.simulate(request: .update, app: ServiceWorld.app))
      try await world.wait("request \(round) has ended") {
        try await world.runs().filter { $0.request == "update" && $0.outcome.kind == "returned" }.count == round
      }
      let run = try #require(try await world.runs().last { $0.request == "update" })
      #expect(run.downloads.accepted == 5 && run.downloads.rejected.map(\.identifier) == ["bad"], "\(run.downloads)")
      try await world.wait("all is settled again") { try await world.downloads().isEmpty }
      #expect(world.origin.requests.filter { $0.path == "/file" }.count == before + 5, "none is an old one's result")
    }
    #expect(!world.log.contains("can't be written") && !FileManager.default.fileExists(atPath: "/tmp/outrider-evil"))
  }

  @Test("Of 100,000 downloads in one answer the good one is transferred, and the others are rejected and counted")
  func hundredThousand() async throws {
    let world = try ServiceWorld()
    world.origin.set("/manifest.json", .init(.text(world.origin.url(""))))
    world.origin.set("/file", .init(.pseudoRandom(seed: 1, count: 1000)))
    try world.start()
    _ = try await world.install(world.bundle(library: Self.library.get()))
    try await world.waitUntilOpen()
    try await world.wait("all is settled") { try await world.downloads().isEmpty }
    let session = try await world.connect()
    _ = try await session.request(.simulate(request: .languageChange, app: ServiceWorld.app))
    try await world.wait("the request has ended") {
      try await world.runs().contains { $0.request == "languageChange" && $0.outcome.kind == "returned" }
    }
    let run = try #require(try await world.runs().first { $0.request == "languageChange" })
    #expect(run.downloads.accepted == 1)
    #expect(run.downloads.rejected.count == 1000 && run.downloads.rejected.allSatisfy { $0.code == 102 })
    let further = try #require(run.downloads.furtherRejected)
    let uncounted = try #require(run.log.first { $0.contains("no room for") }, "\(run.log)")
    let rest = uncounted.split(separator: " ").compactMap { Int($0) }
    #expect(1000 + further + (rest.first ?? 0) == 100_000, "\(further) \(uncounted)")
    try await world.wait("all of them were told") { try await world.downloads().isEmpty }
    #expect(world.isRunning && world.origin.requests.filter { $0.path == "/file" }.count == 4)
  }
}
