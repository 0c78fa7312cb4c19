import Foundation
import Glibc
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Where plugins may write and where their code lies are two places, in this run and in later ones.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct OwnCodeTests {
  private typealias Scene = LateCodeTests.Scene

  @Test("no plugin is loaded that could write to its own code", arguments: ["container", "folder", "file", "link"])
  func ownCode(way: String) async throws {
    let scene = try Scene()
    defer { scene.remove() }
    let library = "\(scene.plugin)/loader.so"
    let host = try Workspace.host()
    defer { host.stop() }
    var (policy, options) = (Policy(), PluginHost.LoadOptions())
    switch way {
    case "container": options.container = scene.plugin
    case "folder": policy.write = [(scene.plugin as NSString).deletingLastPathComponent]
    case "file": policy.write = [library]
    default:
      try FileManager.default.linkItem(atPath: library, toPath: "\(scene.data)/other.so")
      policy.write = ["\(scene.data)/other.so"]
    }
    await #expect {
      try await host.load(library, policy: policy, options: options)
    } throws: { "\($0)".contains("could change its own code") }
    // Nor is it a plugin's from then on.
    _ = try await host.load(library, policy: scene.policy([scene.plugin])).end()
    // The narrower grant holds.
    guard way == "folder" else { return }
    policy.read = [scene.plugin]
    let plugin = try await host.load(library, policy: policy)
    #expect(try await plugin.call("writable", "i32(cstring)", .text(library)).int32 != 0)
    _ = await plugin.end()
  }

  @Test("folders of others that every user may write to are granted to nobody who can't mark them")
  func unmarkable() throws {
    let scene = try Scene()
    defer { scene.remove() }
    let policy = "\(scene.data)/policy.yaml"
    try "version: 2\nfiles:\n  write: [/var/tmp]\n".write(toFile: policy, atomically: true, encoding: .utf8)
    let command = [Workspace.outrider, "call", "libc.so.6", "abs", "i32(i32)", "-5", "--policy", policy]
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    let words = geteuid() == 0 ? user + command : command
    let end = try Workspace.run(
      words.dropFirst().map { $0 }, program: geteuid() == 0 ? "/usr/bin/setpriv" : words[0])
    #expect(end.status == 64 && end.errors.contains("can't be marked as a plugin's"), "\(end)")
  }
}
