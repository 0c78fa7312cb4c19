import Foundation
import TestSupport
import Testing

/// The units of `outrider service install` under a user manager of systemd that this test starts for itself.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct UserManagerTests {
  private static let program = Workspace.root + "/Tests/user-manager"
  static let isPossible = (try? Workspace.run(["/bin/true"], program: program))?.status == 0

  /// Every step prints what it saw; whatever fails ends it.
  private static let script = """
    set -euo pipefail
    value() { systemctl --user show outrider.service -p "$1" --value; }
    "$outrider" service install >/dev/null
    echo "installed: $(systemctl --user is-active outrider.socket) $(value Type) $(value SubState)"
    echo "status: $(value StatusText)"
    first=$(value MainPID)
    kill -9 "$first"
    until [ "$(value NRestarts)" = 1 ] && [ "$(value SubState)" = running ]; do sleep 0.02; done
    "$outrider" apps --json >/dev/null
    echo "restarted: $([ "$(value MainPID)" != "$first" ] && echo another process)"
    systemctl --user stop outrider.service 2>/dev/null
    echo "stopped: $(value SubState) $(value Result) $(systemctl --user is-active outrider.socket)"
    "$outrider" apps --json
    echo "activated: $(value SubState)"
    "$outrider" service uninstall >/dev/null
    echo "uninstalled: $(systemctl --user is-active outrider.socket || true) $(systemctl --user is-active outrider.service || true)"
    """

  @Test(
    "Under systemd the service says when it is ready, comes back after kill -9, and is started by its socket",
    .enabled(if: isPossible, "needs root, systemd and a control group of version 2"))
  func life() throws {
    let end = try Workspace.run(
      ["/bin/bash", "-c", Self.script], program: Self.program,
      environment: ["outrider": Workspace.outrider, "OUTRIDER_SERVICE": Workspace.products + "/outriderd"])
    #expect(end.status == 0, "\(end)")
    let lines = end.output.split(separator: "\n").map(String.init)
    #expect(lines.contains("installed: active notify running"), "\(end)")
    #expect(
      lines.contains { $0.hasPrefix("status: serving /") && $0.hasSuffix("/run/outrider/service.sock") }, "\(end)")
    #expect(lines.contains("restarted: another process"), "\(end)")
    #expect(lines.contains("stopped: dead success active"), "\(end)")
    #expect(lines.contains("activated: running"), "\(end)")
    #expect(lines.contains("uninstalled: inactive inactive"), "\(end)")
  }
}
