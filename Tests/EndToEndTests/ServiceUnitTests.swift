import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import outrider

/// The units of systemd that `outrider service install` writes.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ServiceUnitTests {
  private func environment(_ folder: String) -> [String: String] {
    ["XDG_CONFIG_HOME": folder, "HOME": folder, "OUTRIDER_SERVICE": "/bin/true", "XDG_RUNTIME_DIR": folder]
  }

  @Test("--dry-run prints both units and writes nothing") func dryRun() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-units-")
    defer { Files.removeTree(folder) }
    let end = try Workspace.run(["service", "install", "--dry-run"], environment: environment(folder))
    #expect(end.status == 0 && end.output.contains("ListenStream=%t/outrider/service.sock"), "\(end)")
    #expect(end.output.contains("Type=notify") && end.output.contains("ExecStart=/bin/true\n"), "\(end)")
    #expect(!Files.exists("\(folder)/systemd"))
  }

  @Test("install writes them and uninstall removes them; a state folder stands in both")
  func installAndRemove() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-units-")
    defer { Files.removeTree(folder) }
    let end = try Workspace.run(
      ["service", "install", "--state", "\(folder)/my state"], environment: environment(folder))
    #expect(end.status == 0, "\(end)")
    let units = "\(folder)/systemd/user"
    let socket = try String(contentsOfFile: "\(units)/outrider.socket", encoding: .utf8)
    let service = try String(contentsOfFile: "\(units)/outrider.service", encoding: .utf8)
    #expect(socket.contains("ListenStream=\(folder)/my state/run/service.sock\n"))
    #expect(service.contains("ExecStart=/bin/true --state \"\(folder)/my state\"\n"))
    let removed = try Workspace.run(["service", "uninstall"], environment: environment(folder))
    #expect(removed.status == 0 && ServiceUnits.installed(in: units).isEmpty, "\(removed)")
    let again = try Workspace.run(["service", "uninstall"], environment: environment(folder))
    #expect(again.status == 0 && again.errors.contains("no units"), "\(again)")
  }

  @Test("words of a command line are quoted as systemd reads them")
  func quotes() {
    #expect(ServiceUnits.quoted("/usr/bin/outriderd") == "/usr/bin/outriderd")
    #expect(ServiceUnits.quoted("/a b") == "\"/a b\"" && ServiceUnits.quoted("/50%") == "/50%%")
    #expect(ServiceUnits.quoted("a\"$HOME\\") == "\"a\\\"$$HOME\\\\\"" && ServiceUnits.quoted("") == "\"\"")
  }

  @Test(
    "systemd understands every line of them",
    .enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "needs systemd-analyze"))
  func verified() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-units-")
    defer { Files.removeTree(folder) }
    let units = ServiceUnits(place: try ServicePlace(state: "\(folder)/state"), program: "/bin/true")
    try units.write(to: folder)
    let end = try Workspace.run(
      ["--user", "verify", "--man=no", "\(folder)/outrider.service", "\(folder)/outrider.socket"],
      program: "/usr/bin/systemd-analyze", environment: environment(folder))
    // systemd before 254 leaves it out, and says so.
    let complaints = end.errors.split(separator: "\n").filter { $0.contains("outrider.") }
    #expect(end.status == 0 && complaints.allSatisfy { $0.contains("'DelegateSubgroup'") }, "\(end)")
  }
}
