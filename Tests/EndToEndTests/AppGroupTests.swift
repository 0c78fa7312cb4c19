import AssetModel
import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Each app group has its own container, and a foreign one none (L16).
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct AppGroupTests {
  private func answer(_ scene: ExtensionScene) async throws -> (RunReport, DownloadRules.Verdict) {
    let plugin = try await scene.load()
    let rules = DownloadRules(applicationGroups: ["group.one", "group.two"], request: nil)
    let verdict = try await plugin.contentRequest(.install, remaining: 12, essentialRemaining: nil, rules: rules)
    return (await plugin.end(), verdict)
  }

  @Test("L16: each group's container is its own, and a foreign group has none") func answersPerGroup() async throws {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let (report, verdict) = try await answer(scene)
    #expect(report.messages.contains("container group.foreign 55 -"), "\(report.messages)")
    for name in ["one", "two"] {
      let text = try String(contentsOfFile: "\(scene.folder)/\(name)/from-the-extension", encoding: .utf8)
      #expect(text == "group.\(name)")
    }
    #expect(verdict.accepted.map(\.identifier) == ["a"])
    #expect(verdict.rejected.map(\.code) == [55] && verdict.rejectedDownloads.map(\.identifier) == ["f"])
  }

  @Test("B64: a content request says what may still be downloaded") func tellsWhatIsLeft() async throws {
    let scene = try ExtensionScene()
    defer { scene.remove() }
    let messages = try await answer(scene).0.messages
    #expect(messages.contains("remaining 12") && messages.contains("essential -1"), "\(messages)")
    let plugin = try await scene.load()
    _ = try await plugin.contentRequest(
      .periodic, remaining: -5, essentialRemaining: 0, rules: .init(request: .install))
    let negative = await plugin.end().messages
    #expect(negative.contains("remaining 0") && negative.contains("essential 0"), "\(negative)")
  }

  @Test("without namespaces the groups are at the machine's own paths") func worksWithoutANamespace() async throws {
    var scene = try ExtensionScene()
    defer { scene.remove() }
    scene.host.stop()
    scene.host = try Workspace.host(withoutNamespaces: [.mountNamespace])
    let messages = try await answer(scene).0.messages
    #expect(messages.contains("container group.two 0 \(scene.folder)/two"), "\(messages)")
  }

  @Test("a container behind a link in another container is refused") func refusesLinks() async throws {
    var scene = try ExtensionScene()
    defer { scene.remove() }
    let secret = scene.folder + "/secret"
    try FileManager.default.createDirectory(atPath: secret + "/deep", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: scene.folder + "/one/link", withDestinationPath: secret)
    for path in ["/one/link", "/one/link/deep"] {
      scene.options.containers[1].path = scene.folder + path
      let (scene, link) = (scene, "symbolic link")
      await #expect { _ = try await scene.load() } throws: { ExtensionScene.isUsage($0, link) }
    }
  }

  @Test("groups that contradict each other are refused", arguments: [["a", "a"], ["", "a"], ["", ""]])
  func refusesContradictions(groups: [String]) async throws {
    var scene = try ExtensionScene()
    defer { scene.remove() }
    scene.options.containers = groups.map { .init(group: $0, path: scene.folder + "/one") }
    let contradictory = scene
    await #expect { _ = try await contradictory.load() } throws: { ExtensionScene.isUsage($0) }
  }
}
