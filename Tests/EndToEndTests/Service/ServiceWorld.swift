import DevelopmentOrigin
import Foundation
import LinuxSystem
import ServiceClient
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

/// A state folder, an origin on loopback, an app with the example extension in C, and services that come and go.
final class ServiceWorld: @unchecked Sendable {
  static let app = "com.example.sessions"
  static let group = "group.com.example.sessions"

  let folder: String
  let origin: Origin
  private let process = Mutex<TestProcess?>(nil)
  private let sizes: Mutex<[String: Int]>

  var state: String { folder + "/state" }
  var paths: ServicePaths { ServicePaths(state: state) }
  var container: String { "\(paths.groups)/\(Self.group)/container" }
  var shelf: String { container + "/Library/Caches/Sessions" }
  var log: String { (try? String(contentsOfFile: folder + "/service.log", encoding: .utf8)) ?? "" }

  init(_ configure: (inout OriginConfiguration) -> Void = { _ in }) throws {
    folder = NSTemporaryDirectory() + "ow-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    sizes = Mutex([:])
    origin = try Origin { configure(&$0) }
  }

  deinit {
    kill()
    origin.stop()
    try? FileManager.default.removeItem(atPath: folder)
  }

  // MARK: What the origin has

  /// Sessions by name, with their sizes; those that begin with `e` are essential.
  func publish(_ sessions: [String: Int]) {
    sizes.withLock { $0 = sessions }
    for (index, session) in sessions.sorted(by: { $0.key < $1.key }).enumerated() {
      origin.set("/\(session.key)", Resource(.pseudoRandom(seed: UInt64(index + 1), count: session.value)))
    }
    let entries = sessions.sorted { $0.key < $1.key }.map {
      #"{"id":"\#($0.key)","title":"\#($0.key)","url":"\#(origin.url("/\($0.key)"))","size":\#($0.value),"essential":\#($0.key.hasPrefix("e"))}"#
    }
    origin.set("/manifest.json", Resource(.text(#"{"sessions":[\#(entries.joined(separator: ","))]}"#)))
  }

  // MARK: The app

  /// A `Sessions.app` whose extension is `library`.
  func bundle(
    version: String = "1.0", library: String = Workspace.root + "/Plugins/catalog-c/catalog.so",
    allowance: Int = 1 << 30, domains: [String] = ["127.0.0.1"], identifier: String = ServiceWorld.app,
    group: String = ServiceWorld.group, executable: String? = nil
  ) throws -> String {
    let bundle = "\(folder)/\(version)-\(UUID().uuidString.prefix(4))/Sessions.app"
    let appex = bundle + "/Extensions/Downloader.appex"
    try FileManager.default.createDirectory(atPath: appex, withIntermediateDirectories: true)
    let info: [String: Any] = [
      "CFBundleIdentifier": identifier, "CFBundleExecutable": "Sessions", "CFBundleName": "Sessions",
      "CFBundleShortVersionString": version, "CFBundleVersion": version,
      "BAManifestURL": origin.url("/manifest.json"), "BAMaxInstallSize": 1 << 30, "BAEssentialMaxInstallSize": 1 << 30,
      "BAInitialDownloadRestrictions": [
        "BADownloadAllowance": allowance, "BAEssentialDownloadAllowance": allowance,
        "BADownloadDomainAllowList": domains,
      ] as [String: Any],
    ]
    try write(info, to: bundle + "/Info.plist")
    try write(["com.apple.security.application-groups": [group]], to: bundle + "/entitlements.plist")
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
      try "#!/bin/sh\nexec sleep 60\n".write(toFile: bundle + "/Sessions", atomically: false, encoding: .utf8)
    }
    chmod(bundle + "/Sessions", 0o755)
    return bundle
  }

  private func write(_ plist: [String: Any], to path: String) throws {
    try PropertyListSerialization.data(fromPropertyList: plist, format: .xml, options: 0).write(
      to: URL(fileURLWithPath: path))
  }

  // MARK: The service

  /// Starts a service and waits until it says that it is ready.
  func start(_ arguments: [String] = [], environment: [String: String] = [:]) throws {
    let service = TestProcess()
    service.executableURL = URL(fileURLWithPath: Workspace.products + "/outriderd")
    service.arguments = ["--state", state, "--development"] + arguments
    if !environment.isEmpty { service.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 } }
    service.standardInput = FileHandle.nullDevice
    let log = folder + "/service.log"
    if !FileManager.default.fileExists(atPath: log) { _ = FileManager.default.createFile(atPath: log, contents: nil) }
    let output = try #require(FileHandle(forWritingAtPath: log))
    output.seekToEndOfFile()
    service.standardOutput = output
    service.standardError = output
    try service.run()
    process.withLock { $0 = service }
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline, service.isRunning {
      if answers(service.processIdentifier) { return }
      usleep(5000)
    }
    throw Trouble(description: "no service: \(self.log)")
  }

  /// Whether it is this service that answers. That the socket takes connections says nothing: of a service that was killed
  /// while it started another program, the child holds the socket until it has executed that, and what is taken there ends
  /// with it.
  private func answers(_ service: Int32) -> Bool {
    guard let session = try? ServiceSession(ServiceConnection.connect(to: paths.socket)) else { return false }
    defer { session.close() }
    guard case .welcome(let welcome)? = try? session.requestBlocking(.hello(Hello(role: .operator))) else {
      return false
    }
    return welcome.process == service
  }

  /// `kill -9`, and the service is gone when this returns.
  func kill() {
    guard
      let service = process.withLock({ process in
        defer { process = nil }
        return process
      })
    else { return }
    if service.isRunning { Glibc.kill(service.processIdentifier, SIGKILL) }
    service.waitUntilExit()
  }

  /// As `kill`, but asks.
  func terminate() throws -> Int32 {
    let service = try #require(process.withLock { $0 })
    Glibc.kill(service.processIdentifier, SIGTERM)
    service.waitUntilExit()
    process.withLock { $0 = nil }
    return service.terminationStatus
  }

  var isRunning: Bool { process.withLock { $0?.isRunning } ?? false }
  var pid: Int32 { process.withLock { $0?.processIdentifier } ?? -1 }

  struct Trouble: Error, CustomStringConvertible { let description: String }

  // MARK: Clients

  func connect(
    _ hello: Hello = Hello(role: .operator), onMessage: @escaping @Sendable (ServiceMessage) -> Void = { _ in }
  ) async throws -> ServiceSession {
    let session = try ServiceSession(
      ServiceConnection.connect(to: paths.socket), handlers: .init(onMessage: onMessage))
    _ = try await session.request(.hello(hello))
    return session
  }

  func install(_ bundle: String, mustExist: Bool = false) async throws -> AppSummary {
    let session = try await connect()
    defer { session.close() }
    guard case .apps(let apps) = try await session.request(.install(.init(path: bundle, mustExist: mustExist))),
      let app = apps.first
    else { throw Trouble(description: "no app was answered") }
    return app
  }

  func summary(_ app: String = ServiceWorld.app) async throws -> AppSummary? {
    let session = try await connect()
    defer { session.close() }
    guard case .apps(let apps) = try await session.request(.apps(app: nil)) else { return nil }
    return apps.first { $0.identifier == app }
  }

  func downloads() async throws -> [DownloadSummary] {
    let session = try await connect()
    defer { session.close() }
    guard case .downloadList(let all) = try await session.request(.downloads(app: nil)) else { return [] }
    return all
  }

  func runs() async throws -> [RunSummary] {
    let session = try await connect()
    defer { session.close() }
    guard case .runs(let all) = try await session.request(.runs(app: nil, limit: 1000)) else { return [] }
    return all
  }

  /// Looks until the condition holds; fails after `seconds`.
  func wait(
    _ what: String, seconds: Int = 60, sourceLocation: SourceLocation = #_sourceLocation,
    until condition: () async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
      if try await condition() { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    Issue.record("\(what): not within \(seconds) s\n\(log.suffix(4000))", sourceLocation: sourceLocation)
    throw Trouble(description: what)
  }

  func waitUntilOpen() async throws {
    try await wait("the gate opens") { try await summary()?.gate.isClosed == false }
  }

  /// What the extension has put on its shelf, with sizes.
  func shelved() -> [String: Int] {
    var found: [String: Int] = [:]
    for name in (try? FileManager.default.contentsOfDirectory(atPath: shelf)) ?? [] where !name.hasPrefix(".") {
      found[name] = (try? Data(contentsOf: URL(fileURLWithPath: "\(shelf)/\(name)")))?.count
    }
    return found
  }

  func waitUntilShelved(_ sessions: [String: Int]) async throws {
    try await wait("all of it is delivered") { shelved() == sessions }
  }
}
