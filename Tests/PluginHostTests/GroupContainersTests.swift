import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct GroupContainersTests {
  private static let two = GroupContainers(
    [("one", "/srv/groups/one", nil), ("two", "/srv/groups/two", nil)], hidesFiles: true)

  @Test(
    "paths of containers are translated both ways",
    arguments: [
      ("/srv/groups/one", "/container"), ("/srv/groups/one/a/b", "/container/a/b"),
      ("/srv/groups/two", "/containers/1"), ("/srv/groups/two/a", "/containers/1/a"),
    ])
  func translates(path: String, view: String) {
    #expect(Self.two.view(of: path) == view)
    #expect(Self.two.path(ofView: view) == path)
  }

  @Test(
    "what is in no container, or may lead out of one, has no translation",
    arguments: [
      "/srv/groups/one/../two", "/srv/groups/onetwo", "/srv", "/", "", "srv/groups/one", "/srv/groups/one/\0",
    ])
  func refusesOthers(path: String) {
    #expect(Self.two.view(of: path) == nil)
  }

  @Test(
    "the plugin's own names lead to nothing else",
    arguments: ["/container/../etc", "/containers", "/containers/2", "/containers/10", "/containers/1x", "/etc/passwd"])
  func refusesOthersOfThePlugin(view: String) {
    #expect(Self.two.path(ofView: view) == nil)
  }

  @Test("a container within another has its own place") func takesTheInnermost() {
    let nested = GroupContainers([("one", "/srv/one", nil), ("two", "/srv/one/two", nil)], hidesFiles: true)
    #expect(nested.view(of: "/srv/one/two/a") == "/containers/1/a")
    #expect(nested.view(of: "/srv/one/twofold") == "/container/twofold")
  }

  @Test("without namespaces the view is the machine's") func isTheMachines() {
    let open = GroupContainers([("one", "/srv/one", nil)], hidesFiles: false)
    #expect(open.view(of: "/srv/one/a") == "/srv/one/a")
  }

  @Test("a group has its place, or the one that is for all") func findsTheGroup() {
    #expect(Self.two.place(of: "two")?.path == "/srv/groups/two")
    #expect(Self.two.place(of: "three") == nil && Self.two.place(of: "") == nil)
    #expect(Self.two.groups == ["one", "two"])
    let all = GroupContainers([("", "/srv/all", nil)], hidesFiles: true)
    #expect(all.place(of: "three")?.path == "/srv/all" && all.groups == nil)
  }

  @Test func contradictionsAreNamed() {
    #expect(
      GroupContainers.rejectionReason(for: ["a", "b"]) == nil && GroupContainers.rejectionReason(for: [""]) == nil)
    #expect(GroupContainers.rejectionReason(for: ["a", "a"])?.contains("two containers") == true)
    #expect(GroupContainers.rejectionReason(for: ["", "a"])?.contains("every app group") == true)
    #expect(GroupContainers.rejectionReason(for: (0...32).map { "\($0)" })?.contains("at most 32") == true)
  }
}
