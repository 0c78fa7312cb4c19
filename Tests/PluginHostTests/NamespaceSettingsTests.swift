import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct NamespaceSettingsTests {
  @Test(
    "what refuses user namespaces is named with what allows them",
    arguments: [
      (NamespaceSettings(), ["a container's seccomp filter may refuse unshare(2)"]),
      (
        NamespaceSettings(count: "96365", unprivileged: "1", restricted: "0"),
        ["a container's seccomp filter may refuse unshare(2)"]
      ),
      (NamespaceSettings(count: "0"), ["'sysctl user.max_user_namespaces=10000'"]),
      (NamespaceSettings(count: "96365", unprivileged: "0"), ["'sysctl kernel.unprivileged_userns_clone=1'"]),
      (NamespaceSettings(count: "96365", restricted: "1"), ["'sysctl kernel.apparmor_restrict_unprivileged_userns=0'"]),
      (
        NamespaceSettings(count: "0", unprivileged: "0", restricted: "1"),
        ["user.max_user_namespaces is 0", "unprivileged_userns_clone is 0", "restrict_unprivileged_userns is 1"]
      ),
    ])
  func remedies(settings: NamespaceSettings, words: [String]) {
    let remedy = settings.remedy
    for word in words { #expect(remedy.contains(word), "\(remedy)") }
    #expect(remedy.split(separator: "; ").count == words.count, "\(remedy)")
    let walls: [Wall: WallState] = [
      .userNamespace: WallState(.absent, "user: refused"), .mountNamespace: WallState(.absent, "mount: refused"),
    ]
    let explained = settings.explained(walls)
    #expect(explained[.userNamespace] == WallState(.absent, "user: refused; \(remedy)"))
    #expect(explained[.mountNamespace] == walls[.mountNamespace])
  }

  @Test("a user namespace that is there needs no remedy, unless it gives no rights", arguments: ["0", "1"])
  func present(restricted: String) {
    let settings = NamespaceSettings(count: "0", unprivileged: "0", restricted: restricted)
    let full: [Wall: WallState] = [
      .userNamespace: WallState(.full, "one id"), .mountNamespace: WallState(.full, "an empty root"),
    ]
    #expect(settings.explained(full) == full)
    let bare = full.merging([.mountNamespace: WallState(.absent, "mount: refused")]) { $1 }
    let explained = settings.explained(bare)
    #expect(explained[.userNamespace] == full[.userNamespace])
    #expect(explained[.mountNamespace]?.detail.contains("=0'") == (restricted == "1"))
  }
}
