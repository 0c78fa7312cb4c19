import DevelopmentOrigin
import Foundation
import LinuxSystem
import ServiceClient
import ServiceProtocol

/// A service on a state folder of its own, an origin on loopback, and apps with the example extension in C.
final class BenchmarkWorld {
  struct Trouble: Error, CustomStringConvertible { let description: String }

  private static let group = "group.com.example.sessions"

  private let folder: String
  private let origin: Origin
  private var service: Process?
  private var paths: ServicePaths { ServicePaths(state: folder + "/state") }
  private let products = (CommandLine.arguments[0] as NSString).deletingLastPathComponent
  private let library = FileManager.default.currentDirectoryPath + "/Plugins/catalog-c/catalog.so"

  init(in parent: String) throws {
    folder = try Files.temporaryDirectory(in: parent, prefix: "outrider-service-")
    origin = try Origin { _ in }
  }

  func remove() {
    try? stop()
    origin.stop()
    Files.removeTree(folder)
  }

  /// A manifest of so many sessions, none of them essential.
  func publish(_ count: Int) {
    let sessions = (0..<count).map {
      #"{"id":"session-\#($0)","title":"Session \#($0)","url":"\#(origin.url("/sessions/session-\($0).mp4"))","size":65536,"essential":false}"#
    }
    origin.set("/manifest.json", Resource(.text(#"{"sessions":[\#(sessions.joined(separator: ","))]}"#)))
  }

  // MARK: The service

  /// Returns how long it took from the start of the process until it answers.
  @discardableResult func start() throws -> Duration {
    let service = Process()
    service.executableURL = URL(fileURLWithPath: products + "/outriderd")
    service.arguments = ["--state", folder + "/state", "--development"]
    service.standardInput = FileHandle.nullDevice
    let log = folder + "/service.log"
    if !FileManager.default.fileExists(atPath: log) { _ = FileManager.default.createFile(atPath: log, contents: nil) }
    let output = FileHandle(forWritingAtPath: log)!
    output.seekToEndOfFile()
    service.standardOutput = output
    service.standardError = output
    let start = ContinuousClock.now
    try service.run()
    self.service = service
    while service.isRunning {
      if let session = try? ServiceSession(ServiceConnection.connect(to: paths.socket)) {
        // Ready is who answers.
        _ = try session.requestBlocking(.hello(Hello(role: .operator)))
        return ContinuousClock.now - start
      }
      usleep(2000)
    }
    throw Trouble(description: (try? String(contentsOfFile: log, encoding: .utf8)) ?? "no service")
  }

  func stop() throws {
    guard let service else { return }
    service.terminate()
    service.waitUntilExit()
    self.service = nil
  }

  private func session() async throws -> ServiceSession {
    let session = try ServiceSession(ServiceConnection.connect(to: paths.socket))
    _ = try await session.request(.hello(Hello(role: .operator)))
    return session
  }

  /// What is queued stays queued: no background download begins on a metered network.
  func hold() async throws {
    _ = try await session().request(.set(key: "isMetered", value: "true", app: nil))
  }

  func downloadCount() async throws -> Int {
    guard case .status(let status) = try await session().request(.status) else { return -1 }
    return status.downloads
  }

  // MARK: Apps

  /// Returns when the app may be launched and its extension has ended.
  func install(_ identifier: String, executable: String? = nil) async throws {
    let bundle = try bundle(identifier, executable)
    defer { Files.removeTree(bundle) }
    let session = try await session()
    defer { session.close() }
    _ = try await session.request(.install(.init(path: bundle, sharedGroups: [Self.group])))
    while true {
      guard case .apps(let apps) = try await session.request(.apps(app: identifier)), let app = apps.first else {
        throw Trouble(description: "\(identifier) isn't there")
      }
      if app.state == .launchable || app.state == .running { return }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  private func bundle(_ identifier: String, _ executable: String?) throws -> String {
    let bundle = "\(folder)/Sessions.app"
    let appex = bundle + "/Extensions/Downloader.appex"
    try FileManager.default.createDirectory(atPath: appex, withIntermediateDirectories: true)
    let info: [String: Any] = [
      "CFBundleIdentifier": identifier, "CFBundleExecutable": "Sessions", "CFBundleName": "Sessions",
      "CFBundleShortVersionString": "1.0", "CFBundleVersion": "1", "BAManifestURL": origin.url("/manifest.json"),
      "BAMaxInstallSize": 1 << 40, "BAEssentialMaxInstallSize": 1 << 30,
      "BAInitialDownloadRestrictions": [
        "BADownloadAllowance": 1 << 40, "BAEssentialDownloadAllowance": 1 << 30,
        "BADownloadDomainAllowList": ["127.0.0.1"],
      ] as [String: Any],
    ]
    try write(info, to: bundle + "/Info.plist")
    try write(["com.apple.security.application-groups": [Self.group]], to: bundle + "/entitlements.plist")
    try write(
      [
        "CFBundleIdentifier": identifier + ".downloader", "CFBundleExecutable": "downloader.so",
        "EXAppExtensionAttributes": [
          "EXExtensionPointIdentifier": "com.apple.background-asset-downloader-extension"
        ],
      ], to: appex + "/Info.plist")
    try FileManager.default.copyItem(atPath: library, toPath: appex + "/downloader.so")
    if let executable {
      try FileManager.default.copyItem(atPath: executable, toPath: bundle + "/Sessions")
    } else {
      try "#!/bin/sh\n".write(toFile: bundle + "/Sessions", atomically: false, encoding: .utf8)
    }
    chmod(bundle + "/Sessions", 0o755)
    return bundle
  }

  private func write(_ plist: [String: Any], to path: String) throws {
    try PropertyListSerialization.data(fromPropertyList: plist, format: .xml, options: 0).write(
      to: URL(fileURLWithPath: path))
  }

  /// Runs an app as its launcher would, to its end. Returns what it prints.
  func launch(_ identifier: String, _ arguments: [String]) async throws -> String {
    let session = try await session()
    defer { session.close() }
    guard case .launch(let ticket) = try await session.request(.launch(app: identifier)) else {
      throw Trouble(description: "\(identifier) can't be launched")
    }
    let app = Process()
    app.executableURL = URL(fileURLWithPath: ticket.executable)
    app.arguments = arguments
    app.environment = ticket.environment.merging([
      ServicePaths.stateVariable: folder + "/state", "SESSIONS_URL": origin.url("/sessions/"),
    ]) { $1 }
    let pipe = Pipe()
    app.standardOutput = pipe
    try app.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    app.waitUntilExit()
    guard app.terminationStatus == 0 else { throw Trouble(description: "the app ended with \(app.terminationStatus)") }
    return String(decoding: output, as: UTF8.self)
  }

  // MARK: What the service uses

  /// KiB, of /proc/PID/smaps_rollup (proc(5)).
  var memory: (resident: Int, proportional: Int) {
    let text =
      (try? String(contentsOfFile: "/proc/\(service?.processIdentifier ?? 0)/smaps_rollup", encoding: .utf8)) ?? ""
    func figure(_ name: String) -> Int {
      text.split(separator: "\n").first { $0.hasPrefix(name) }
        .flatMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } } ?? 0
    }
    return (figure("Rss:"), figure("Pss:"))
  }

  /// Seconds of processor time (user and system), of /proc/PID/stat.
  var processorTime: Double {
    let id = service?.processIdentifier ?? 0
    let text = (try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)) ?? ""
    // Behind the name: proc_pid_stat(5) has them as the 14th and the 15th, with threads that have ended.
    let fields = text.drop { $0 != ")" }.split(separator: " ")
    guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
