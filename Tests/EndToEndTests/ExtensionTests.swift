import Foundation
import PluginHost
import TestSupport
import Testing

/// The example extensions at their whole job: answer, receive a file, hear of a failure.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ExtensionTests {
  static let extensions = [
    Workspace.root + "/Plugins/.build/release/libSessionsDownloader.so",
    Workspace.root + "/Plugins/catalog-c/catalog.so",
    Workspace.root + "/Plugins/packs-rust/packs.so",
  ]

  private static func manifest(_ count: Int) -> String {
    let sessions = (1...count).map { index in
      #"{"id":"talk-\#(index)","title":"T","url":"https://assets.example.com/\#(index).mp4","size":5,"essential":\#(index == 1)}"#
    }
    return #"{"sessions":[\#(sessions.joined(separator: ","))]}"#
  }

  @Test(arguments: extensions) func answersAndReceives(_ library: String) async throws {
    let container = NSTemporaryDirectory() + "outrider-group-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: container) }
    let manifest = try Workspace.temporaryFile(Self.manifest(200))
    let file = try Workspace.temporaryFile("12345", suffix: ".mp4")
    defer {
      try? FileManager.default.removeItem(atPath: manifest)
      try? FileManager.default.removeItem(atPath: file)
    }
    let host = try Workspace.host()
    var options = PluginHost.LoadOptions()
    options.container = container
    options.manifest = manifest
    options.isExtension = true
    let plugin = try await host.load(library, options: options)
    let verdict = try await plugin.contentRequest(.install)
    #expect(verdict.accepted.count == 200)
    #expect(verdict.rejected.isEmpty)
    #expect(verdict.accepted.first?.isEssential == true)
    let first = try #require(verdict.accepted.first)
    try await plugin.downloadFinished(first, file: file)
    try await plugin.downloadFailed(
      verdict.accepted[1], error: .init(domain: "NSURLErrorDomain", code: -1001, description: "timed out"))
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    #expect(report.denials.isEmpty, "\(report.denials)")
    let found = FileManager.default.enumerator(atPath: container)?.compactMap { $0 as? String } ?? []
    let moved = try #require(found.first { $0.hasSuffix(first.identifier) }, "\(found)")
    #expect(!found.contains { $0.contains(".incoming") })
    #expect(try String(contentsOfFile: container + "/" + moved, encoding: .utf8) == "12345")
    let owner = try FileManager.default.attributesOfItem(atPath: container + "/" + moved)[.ownerAccountID] as? NSNumber
    #expect(owner?.uint32Value == geteuid())

    // What is in the container isn't asked for again.
    let again = try await host.load(library, options: options)
    #expect(try await again.contentRequest(.periodic).accepted.count == 199)
    _ = await again.end()
  }

  @Test(arguments: extensions, ["", "not JSON", "[]"])
  func reportsABadManifest(_ library: String, _ text: String) async throws {
    let manifest = try Workspace.temporaryFile(text)
    defer { try? FileManager.default.removeItem(atPath: manifest) }
    let host = try Workspace.host()
    var options = PluginHost.LoadOptions()
    options.manifest = manifest
    options.isExtension = true
    let plugin = try await host.load(library, options: options)
    #expect(try await plugin.contentRequest(.install).accepted.isEmpty)
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    #expect(!report.log.isEmpty)
  }

  /// As Foundation has it inside the extension.
  @Test(arguments: [("", ""), ("/Contents", "/MacOS")])
  func theMainBundleIsTheExtension(contents: String, programs: String) async throws {
    let folder = NSTemporaryDirectory() + "outrider-\(UUID().uuidString)"
    let bundle = folder + "/Sessions.appex"
    try FileManager.default.createDirectory(atPath: bundle + contents + programs, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.copyItem(
      atPath: Self.extensions[0], toPath: bundle + contents + programs + "/libSessionsDownloader.so")
    let facts = [
      "CFBundleExecutable": "libSessionsDownloader.so", "CFBundleIdentifier": "com.example.sessions.downloader",
    ]
    try PropertyListSerialization.data(fromPropertyList: facts, format: .xml, options: 0)
      .write(to: URL(fileURLWithPath: bundle + contents + "/Info.plist"))
    let host = try Workspace.host()
    let plugin = try await host.load(bundle)
    guard case .pointer(let main) = try await plugin.call("CFBundleGetMainBundle", "pointer()").value,
      case .pointer(let text) = try await plugin.call(
        "CFBundleGetIdentifier", "pointer(pointer)", .unsigned(main)
      ).value
    else {
      Issue.record("no bundle")
      return
    }
    try #require(text != 0)
    // kCFStringEncodingUTF8
    let result = try await plugin.call(
      "CFStringGetCString", "u8(pointer,out(64),i64,u32)", .unsigned(text), 64, 0x0800_0100)
    #expect(
      result.out.first.map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) } == facts["CFBundleIdentifier"])
    _ = await plugin.end()
  }

  /// The kernel's word for a runner between calls, whose plugin left a thread that spins.
  @Test func freezesBetweenCalls() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(Workspace.hostile + "/libhostile.so")
    _ = try await plugin.call("h07_leaves_thread", "i32()")
    let server = try #require(await host.forkServerProcess())
    let deadline = ContinuousClock.now + .seconds(5)
    var isStopped = false
    while !isStopped, ContinuousClock.now < deadline {
      isStopped = Runners.descendants(of: server).contains { pid in
        (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8))?.contains("State:\tT") == true
      }
    }
    #expect(isStopped)
    // And it thaws.
    _ = try await plugin.call("h07_leaves_thread", "i32()")
    _ = await plugin.end()
  }
}
