import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import AppBundles

enum InstallKiller {
  static let program = "\(Tool.products)/kill-at-call"
  static let isPossible = (try? Tool.run(program, ["0", "/bin/true"]))?.code == 0
}

/// An installation that is killed where it is about to make its nth system call that leaves a trace; see Tests/KillAtCall.
@Suite(
  .ownThreads, .timeLimit(.minutes(10)),
  .enabled(if: InstallKiller.isPossible, "ptrace(2) or seccomp(2) isn't allowed here"))
struct KilledInstallTests {
  private static let program = "\(Tool.products)/bundle-writer"

  enum Scene: String, CaseIterable, Sendable { case first, update, sameVersion, archive, removal }

  @Test(
    "Killed at any system call, an installation leaves the old app or the new one, and after a sweep nothing else",
    arguments: Scene.allCases)
  func killed(scene: Scene) throws {
    let scratch = try Scratch()
    let old = try source(version: "1", in: scratch)
    let new = try source(version: scene == .sameVersion ? "1" : "2", in: scratch)
    let archive = "\(new).tgz"
    try Tool.run("tar", ["-czf", archive, "-C", (new as NSString).deletingLastPathComponent, "Sessions.app"])
    let root = "\(scratch.path)/apps"
    let installer = AppInstaller(root: root, isDevelopment: false)

    func attempt(_ number: Int) throws -> String {
      Files.removeTree(root)
      if scene != .first { _ = try installer.place(from: old) }
      let words =
        scene == .removal
        ? ["remove", root, "com.example.sessions"] : ["place", root, scene == .archive ? archive : new]
      return try Tool.run(InstallKiller.program, ["\(number)", Self.program] + words).output
    }
    let calls = try #require(
      try attempt(0).split(separator: "\n").last { $0.hasPrefix("calls ") }.flatMap { Int($0.dropFirst(6)) })
    try #require(calls > (scene == .removal ? 10 : 25), "there is something to kill")
    var outcomes: Set<String> = []
    for number in 1...calls {
      let output = try attempt(number)
      let place = "\(scene), call \(number) of \(calls): \(output.split(separator: "\n").last ?? "")"
      let inventory = installer.inventory()
      #expect(inventory.problems == [], "\(place)")
      let before = inventory.apps.first.map { "\($0.description.version) \($0.description.name)" } ?? "none"
      outcomes.insert(before)
      installer.sweep()
      let after = installer.installed().first
      #expect(after.map { "\($0.description.version) \($0.description.name)" } ?? "none" == before, "\(place)")
      if let after { #expect(AppBundle.check(at: after.path, isDevelopment: false).0 == after.description, "\(place)") }
      let left = try Files.exists(root) ? Files.names(in: root).filter { $0 != ".lock" } : []
      #expect(left == (after == nil ? [] : ["com.example.sessions"]), "\(place): \(left)")
      if after != nil { #expect(try Files.names(in: "\(root)/com.example.sessions").count == 2, "\(place)") }
      // Another attempt succeeds.
      if number % 8 == 0 { #expect(throws: Never.self, "\(place)") { try installer.place(from: new) } }
    }
    let expected: Set<String> =
      switch scene {
      case .first: ["none", "2 Sessions 2"]
      case .sameVersion: ["1 Sessions 1", "1 Sessions 2"]
      case .removal: ["1 Sessions 1", "none"]
      case .update, .archive: ["1 Sessions 1", "2 Sessions 2"]
      }
    #expect(outcomes == expected)
  }

  @Test("Killed at any system call, a sweep loses no group of a version that goes [L16]")
  func killedSweep() throws {
    let scratch = try Scratch()
    let root = "\(scratch.path)/apps"
    let installer = AppInstaller(root: root, isDevelopment: false)
    let sources = try ["1", "2"].map { version in
      let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
      return try SampleApp(identifier: "a.b", version: version, groups: ["g.\(version)"]).write(in: folder)
    }
    func attempt(_ number: Int) throws -> String {
      Files.removeTree(root)
      for source in sources { _ = try installer.place(from: source) }
      return try Tool.run(InstallKiller.program, ["\(number)", Self.program, "sweep", root]).output
    }
    let calls = try #require(
      try attempt(0).split(separator: "\n").last { $0.hasPrefix("calls ") }.flatMap { Int($0.dropFirst(6)) })
    try #require(calls > 10, "there is something to kill")
    let expected = GroupOwnership(groups: ["a.b": ["g.1", "g.2"]])
    for number in 1...calls {
      let output = try attempt(number)
      let place = "call \(number) of \(calls): \(output.split(separator: "\n").last ?? "")"
      #expect(installer.groups() == expected, "\(place)")
      installer.sweep()
      #expect(installer.groups() == expected, "\(place)")
      #expect(try Files.names(in: "\(root)/a.b") == [".groups", "2", "current"], "\(place)")
    }
  }

  private func source(version: String, in scratch: Scratch) throws -> String {
    var app = SampleApp(identifier: "com.example.sessions", version: version)
    let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
    // The second one is told by its name.
    let isFirst = !Files.exists("\(scratch.path)/made")
    try Data().write(to: URL(fileURLWithPath: "\(scratch.path)/made"))
    app.info["CFBundleName"] = isFirst ? "Sessions 1" : "Sessions 2"
    return try app.write(in: folder)
  }
}
