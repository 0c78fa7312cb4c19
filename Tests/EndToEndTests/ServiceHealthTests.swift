import Foundation
import LinuxSystem
import ServiceProtocol
import TestSupport
import Testing

@testable import outrider

/// What `outrider doctor` says of the service in each state that it may be found in.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct ServiceHealthTests {
  private static func findings(_ state: String) async throws -> [String: ServiceHealth.Finding] {
    let health = await ServiceHealth.read(try ServicePlace(state: state, environment: ["HOME": state]))
    return Dictionary(uniqueKeysWithValues: health.findings.map { ($0.part, $0) })
  }

  private static func withFolder(_ body: (String) async throws -> Void) async throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-health-")
    defer { Files.removeTree(folder) }
    try await body(folder)
  }

  /// What `doctor --json` says of the service.
  private static func service(_ end: Workspace.Finished) throws -> [[String: String]] {
    let object = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any]
    return try #require(object?["service"] as? [[String: String]], "\(end)")
  }

  @Test("doctor: where no service ever ran, nothing is wrong, and it is said who starts one") func fresh() async throws
  {
    try await Self.withFolder { folder in
      let found = try await Self.findings(folder)
      #expect(Set(found.keys) == ["program", "socket", "process", "database", "units", "open files"])
      #expect(found["program"]?.state == "good", "\(found)")
      for part in ["socket", "process", "database"] { #expect(found[part]?.state == "absent", "\(found)") }
      #expect(found["process"]?.detail.contains("starts it") == true)
      #expect(found["database"]?.detail.contains("free") == true)
      // And nothing was started or made.
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }
  }

  @Test("doctor: of a service that runs it shows process, socket and database") func running() async throws {
    let service = try ScriptedService { peer, id, request in
      guard case .status = request else { return peer.reply(id) }
      peer.reply(
        id,
        .status(
          StatusSummary(
            process: 42, version: "0.1.0", startedAt: "2026-11-22T10:00:00.000Z", isDevelopment: false, socket: "/s",
            database: "/d", databaseBytes: 4096, apps: 1, downloads: 2, connections: 3, memoryBytes: 20 << 20)))
    }
    let found = try await Self.findings(service.folder)
    for part in ["socket", "process", "database"] { #expect(found[part]?.state == "good", "\(found)") }
    #expect(found["socket"]?.detail == service.paths.socket)
    #expect(found["process"]?.detail.contains("process 42") == true, "\(found)")
    service.die()
  }

  @Test("doctor: a socket that a killed service left is told from one that is served") func stale() async throws {
    let service = try ScriptedService { peer, id, _ in peer.reply(id) }
    service.die()
    let found = try await Self.findings(service.folder)
    #expect(found["socket"]?.state == "absent" && found["process"]?.state == "absent", "\(found)")
    #expect(found["socket"]?.detail.contains("the next one replaces it") == true, "\(found)")
  }

  @Test("doctor: a service that listens and says nothing is reported, not waited for") func silent() async throws {
    // Connections are made, and no service takes them.
    let service = try ScriptedService { peer, id, _ in peer.reply(id) }
    service.die()
    let listener = try service.listen()
    defer { close(listener) }
    let found = try await Self.findings(service.folder)
    #expect(found["process"]?.state == "bad" && found["process"]?.detail.contains("said nothing") == true, "\(found)")
    #expect(found["socket"]?.state == "bad" && found["database"] != nil && found["units"] != nil, "\(found)")
  }

  @Test("doctor: a path that no socket can have is named with both lengths") func longPath() async throws {
    try await Self.withFolder { folder in
      let found = try await Self.findings(folder + "/" + String(repeating: "x", count: 100))
      #expect(found["socket"]?.state == "bad" && found["process"]?.state == "bad", "\(found)")
      #expect(found["socket"]?.detail.contains("\(ServicePaths.maxSocketPath) at most") == true, "\(found)")
    }
  }

  @Test("doctor: a state folder that is a file isn't one") func notAFolder() async throws {
    try await Self.withFolder { folder in
      try "".write(toFile: folder + "/state", atomically: false, encoding: .utf8)
      let found = try await Self.findings(folder + "/state")
      #expect(found["database"]?.state == "bad", "\(found)")
      #expect(found["database"]?.detail.hasPrefix("\(folder)/state isn't a folder") == true, "\(found)")
    }
  }

  @Test(
    "doctor: a state folder that this user can't read is named", .enabled(if: getuid() != 0, "root reads everything"))
  func unreadable() async throws {
    try await Self.withFolder { folder in
      chmod(folder, 0)
      let found = try await Self.findings(folder + "/state")
      chmod(folder, 0o700)
      #expect(found["database"]?.state == "bad", "\(found)")
      #expect(found["database"]?.detail.contains("can't be used by this user") == true, "\(found)")
    }
  }

  @Test(
    "doctor: a socket's folder of another user is named with its owner",
    .enabled(if: getuid() == 0, "giving a folder away needs root"))
  func foreign() async throws {
    try await Self.withFolder { folder in
      try FileManager.default.createDirectory(atPath: folder + "/run", withIntermediateDirectories: false)
      try #require(chown(folder + "/run", 4242, 4242) == 0)
      let found = try await Self.findings(folder)
      #expect(found["socket"]?.state == "bad" && found["socket"]?.detail.contains("user 4242") == true, "\(found)")
    }
  }

  @Test("doctor: units that are installed are listed") func units() async throws {
    try await Self.withFolder { folder in
      let environment = ["XDG_CONFIG_HOME": folder, "HOME": folder, "OUTRIDER_SERVICE": "/bin/true"]
      let written = try Workspace.run(["service", "install", "--state", folder + "/state"], environment: environment)
      try #require(written.status == 0, "\(written)")
      let end = try Workspace.run(["doctor", "--state", folder + "/state", "--json"], environment: environment)
      let units = try #require(try Self.service(end).first { $0["part"] == "units" })
      #expect(units["detail"]?.contains("\(folder)/systemd/user/outrider.service") == true, "\(units)")
    }
  }

  @Test("doctor: how many files may be open is said, with what is enough") func openFiles() async throws {
    try await Self.withFolder { folder in
      let low = try Workspace.run(
        ["-c", "ulimit -n 1024; exec '\(Workspace.outrider)' doctor --state '\(folder)' --json"], program: "/bin/bash")
      let files = try #require(try Self.service(low).first { $0["part"] == "open files" })
      #expect(files["state"] == "bad" && files["detail"]?.hasPrefix("1024 may be open") == true, "\(files)")
    }
  }
}
