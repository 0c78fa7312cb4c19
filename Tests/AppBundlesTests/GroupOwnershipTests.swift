import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import AppBundles

/// Whose an app group is (L16): also after updates that name it no more, kills, and damage to the record of it.
@Suite(.timeLimit(.minutes(2))) struct GroupOwnershipTests {
  @Test("L16: a group of another app needs to be shared by the installation that brings it in")
  func groups() throws {
    let scratch = try Scratch()
    _ = try install(SampleApp(identifier: "a.b", groups: ["group.a", "group.shared"]), scratch)
    do throws(BundleError) {
      do { _ = try install(SampleApp(identifier: "c.d", groups: ["group.c", "group.shared"]), scratch) } catch let error
        as BundleError
      { throw error } catch { Issue.record(error) }
      Issue.record("placed")
    } catch {
      #expect(error.code == .groupTaken && error.description.contains("group.shared, which belongs to a.b"))
      #expect(error.remedy?.contains("--share-group group.shared") == true)
    }
    #expect(try Files.names(in: root(scratch)) == [".lock", "a.b"])
    _ = try install(
      SampleApp(identifier: "c.d", groups: ["group.c", "group.shared"]), scratch, sharing: ["group.shared"])
    // It had it before.
    _ = try install(SampleApp(identifier: "c.d", version: "2", groups: ["group.c", "group.shared"]), scratch)
    _ = try install(SampleApp(identifier: "a.b", version: "2", groups: ["group.a", "group.shared"]), scratch)
  }

  @Test("A group that is to be shared is one that the app declares")
  func undeclaredGroups() throws {
    let scratch = try Scratch()
    let app = SampleApp(identifier: "a.b", groups: ["group.a", "group.b"])
    let error = #expect(throws: BundleError.self) {
      _ = try install(app, scratch, sharing: ["group.a", "group.x", "group.y"])
    }
    #expect(error?.code == .groupNotDeclared, "\(String(describing: error))")
    #expect(
      error?.reason
        == "doesn't declare the app group group.x, which --share-group names; it declares group.a, group.b")
    #expect(try !Files.names(in: root(scratch)).contains("a.b"))
    _ = try install(app, scratch, sharing: ["group.b"])
  }

  @Test("L16: who owns which group")
  func ownership() throws {
    func app(_ identifier: String, _ groups: [String]) throws -> AppDescription {
      try #require(try SampleApp(identifier: identifier, groups: groups).findings().0)
    }
    let installed = GroupOwnership(groups: ["a.b": ["g.1", "g.2"], "c.d": ["g.2"]])
    let new = try app("e.f", ["g.0", "g.1", "g.2"])
    #expect(
      installed.conflicts(of: new, sharing: []) == [
        .init(group: "g.1", owners: ["a.b"]), .init(group: "g.2", owners: ["a.b", "c.d"]),
      ])
    #expect(installed.conflicts(of: new, sharing: ["g.1"]).map(\.group) == ["g.2"])
    #expect(GroupOwnership().conflicts(of: new, sharing: []) == [])
    // An update may not take a further group of another app on.
    #expect(installed.conflicts(of: try app("c.d", ["g.1", "g.2"]), sharing: []).map(\.group) == ["g.1"])
    #expect(installed.own(of: "a.b") == ["g.1"] && installed.own(of: "c.d") == [] && installed.own(of: "e.f") == [])
    // What isn't known of one app is in the way of what others would declare anew, and of nothing else.
    let error = BundleError(.unreadable, "a.b", "is damaged")
    let doubtful = GroupOwnership(groups: installed.groups, problems: ["a.b": error])
    #expect(doubtful.doubt(of: try app("c.d", ["g.2", "g.3"]), sharing: []) == error)
    #expect(doubtful.doubt(of: try app("c.d", ["g.2", "g.3"]), sharing: ["g.3"]) == nil)
    #expect(doubtful.doubt(of: try app("c.d", ["g.2"]), sharing: []) == nil)
  }

  @Test("L16: a group that an update names no more stays its app's until that is removed")
  func groupsOfEarlierVersions() throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    let stranger = SampleApp(identifier: "org.stranger", groups: ["g.first"])
    func refusal() throws -> BundleError? {
      do { _ = try install(stranger, scratch) } catch let error as BundleError { return error }
      return nil
    }
    _ = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.first"]), scratch)
    _ = try install(SampleApp(identifier: "a.b", version: "2", groups: ["g.second"]), scratch)
    #expect(try refusal()?.code == .groupTaken)
    installer.sweep()
    #expect(try Files.names(in: "\(root(scratch))/a.b") == [".groups", "2", "current"])
    #expect(try refusal()?.description.contains("g.first, which belongs to a.b") == true)
    #expect(installer.groups() == GroupOwnership(groups: ["a.b": ["g.first", "g.second"]]))

    // Its own it has back, also after more updates.
    _ = try install(SampleApp(identifier: "a.b", version: "3", groups: ["g.third"]), scratch)
    installer.sweep()
    #expect(installer.groups().own(of: "a.b") == ["g.first", "g.second", "g.third"])
    _ = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.first"]), scratch)
    installer.sweep()
    #expect(installer.groups().own(of: "a.b") == ["g.first", "g.second", "g.third"])

    // One that was shared once belongs to both.
    _ = try install(stranger, scratch, sharing: ["g.first"])
    #expect(installer.groups().own(of: "a.b") == ["g.second", "g.third"])
    try installer.remove("org.stranger")
    try installer.remove("a.b")
    #expect(try refusal() == nil)
  }

  @Test("L16: an update that was given up leaves its groups with its app; an installation that was, doesn't")
  func groupsOfPreparedVersions() throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    func prepare(_ app: SampleApp) throws {
      let folder = try Files.temporaryDirectory(in: scratch.path, prefix: "source-")
      _ = try installer.prepare(try installer.stage(from: app.write(in: folder))) { _ in }
    }
    let first = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.1"]), scratch)
    try prepare(SampleApp(identifier: "a.b", version: "2", groups: ["g.2"]))
    // Its extension may have put files there.
    installer.sweep(keeping: [first.path])
    #expect(installer.groups() == GroupOwnership(groups: ["a.b": ["g.1", "g.2"]]))
    try prepare(SampleApp(identifier: "c.d", version: "1", groups: ["g.3"]))
    installer.sweep(keeping: [first.path])
    #expect(installer.groups() == GroupOwnership(groups: ["a.b": ["g.1", "g.2"]]))
    #expect(try Files.names(in: root(scratch)) == [".lock", "a.b"])
  }

  @Test("L16: where a record of groups is damaged, none is given away", arguments: 0..<8)
  func damagedGroups(kind: Int) throws {
    let scratch = try Scratch()
    let installer = AppInstaller(root: root(scratch), isDevelopment: false)
    _ = try install(SampleApp(identifier: "a.b", version: "1", groups: ["g.1", "g.2"]), scratch)
    let file = "\(root(scratch))/a.b/.groups"
    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: file)) }
    switch kind {
    case 0: try write("")
    case 1: try write("[\"g.9\"")
    case 2: try write("{\"groups\":[]}")
    case 3: try write("[\"g.9\",\"g.8\"]")
    case 4: try write("[\"../g\"]")
    case 5: try write("[" + String(repeating: " ", count: 1 << 20) + "]")
    case 6: mkfifo(file, 0o600)
    default: symlink("1/description.json", file)
    }
    for app in ["a.b", "c.d"] {
      let error = #expect(throws: BundleError.self, "\(app)") {
        _ = try install(SampleApp(identifier: app, version: "2", groups: ["g.3"]), scratch)
      }
      #expect(error?.code == .unreadable && error?.remedy == "uninstall a.b, then install it again")
    }
    _ = try install(SampleApp(identifier: "e.f", groups: ["g.3"]), scratch, sharing: ["g.3"])
    // A version whose groups can't be written down is their record.
    _ = try install(SampleApp(identifier: "a.b", version: "3", groups: ["g.2"]), scratch)
    installer.sweep()
    #expect(installer.groups().groups["a.b"] == ["g.1", "g.2"])
    try installer.remove("a.b")
    _ = try install(SampleApp(identifier: "c.d", version: "2", groups: ["g.1"]), scratch)
  }
}
