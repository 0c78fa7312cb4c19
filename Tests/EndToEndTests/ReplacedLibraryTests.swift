import Foundation
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// What another program replaces between the host's look at it and the runner's is said to be that, and no missing wall or failure
/// of the host.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ReplacedLibraryTests {
  enum Change: String, CaseIterable, Sendable { case replaced, removed, madeAFolder, linked }

  @Test("A library that is cut short can't be loaded, and is said to be that", arguments: [2000, 16_384, 20_000])
  func cutShort(bytes: Int) async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let library = "\(folder)/cut.so"
    try FileManager.default.copyItem(atPath: Workspace.hostile + "/libhostile.so", toPath: library)
    try #require(try #require(FileManager.default.contents(atPath: library)).count > bytes)
    #expect(truncate(library, bytes) == 0)
    let host = try Workspace.host()
    defer { host.stop() }
    let error = await #expect(throws: HostError.self) { _ = try await host.load(library, policy: Policy()) }
    let outcome = try #require(error?.report?.outcome)
    // Its loader may find out by itself.
    #expect(outcome.kind == .loadFailed, "\(outcome)")
  }

  @Test("A library that is replaced while it is loaded", arguments: Change.allCases, [false, true])
  func replaced(_ change: Change, _ isInBundle: Bool) async throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)/x.appex"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: (folder as NSString).deletingLastPathComponent) }
    let library = "\(folder)/own.so"
    try FileManager.default.copyItem(atPath: Workspace.hostile + "/libhostile.so", toPath: library)
    try """
    <plist version="1.0"><dict><key>CFBundleExecutable</key><string>own.so</string>
    <key>CFBundleIdentifier</key><string>com.example.own</string></dict></plist>
    """.write(toFile: "\(folder)/Info.plist", atomically: true, encoding: .utf8)
    let host = try Workspace.host()
    let image = try PluginImage(opening: isInBundle ? folder : library)
    let path = image.library.path
    // The other one is there at the same time, so that it has an inode of its own.
    try FileManager.default.moveItem(atPath: library, toPath: "\(folder)/aside")
    switch change {
    case .replaced: try FileManager.default.copyItem(atPath: "\(folder)/aside", toPath: library)
    case .removed: break
    case .madeAFolder: try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: false)
    case .linked: try FileManager.default.createSymbolicLink(atPath: library, withDestinationPath: library)
    }
    let proof = try await host.core.proof(.runtime)
    let error = await #expect(throws: HostError.self) {
      _ = try await host.core.load(image, policy: .init(), options: .init(), proof: proof)
    }
    #expect(
      error?.report?.outcome
        == Outcome(.loadFailed, "\(path) was replaced while the plugin was loaded; load it again"),
      "\(String(describing: error))")
  }
}
