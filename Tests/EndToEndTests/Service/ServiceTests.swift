import DevelopmentOrigin
import Foundation
import LinuxSystem
import ServiceClient
import ServiceProtocol
import Synchronization
import TestSupport
import Testing

/// The service as a process, with a real bundle, socket, origin and extension.
@Suite(.ownThreads, .timeLimit(.minutes(5))) struct ServiceTests {
  private static let sessions = ["e1": 100_000, "e2": 200_000, "t1": 50_000, "t2": 1, "t3": 300_000]

  @Test("Manifest and essentials come before the gate opens, and everything is delivered once it has (B2, B14, B51)")
  func installs() async throws {
    let world = try ServiceWorld()
    world.publish(Self.sessions)
    try world.start()
    let accepted = try await world.install(world.bundle())
    #expect(accepted.state == .installing)
    #expect(accepted.gate.isClosed)
    try await world.waitUntilOpen()
    let order = world.origin.requests.map(\.path)
    #expect(order.first == "/manifest.json")
    #expect(order.contains("/e1") && order.contains("/e2"))
    try await world.waitUntilShelved(Self.sessions)
    let app = try #require(try await world.summary())
    #expect(app.state == .launchable)
    #expect(app.progress.fraction == 1)
    #expect(app.restrictions.isActive)
    try await world.wait("the runs have ended") { try await world.runs().allSatisfy { $0.outcome.kind != "running" } }
    let runs = try await world.runs()
    #expect(runs.map(\.outcome.kind).allSatisfy { $0 == "returned" }, "\(runs)")
    #expect(runs.first?.request == "install")
    #expect(runs.first?.downloads.accepted == 5)
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
    let manifests = try FileManager.default.contentsOfDirectory(atPath: world.paths.store + "/manifests")
    #expect(manifests.filter { !$0.hasPrefix(".") }.isEmpty)
  }

  @Test("A metered line isn't used while the service starts")
  func startsOnAMeteredLine() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000, "t1": 1000])
    try world.start()
    let session = try await world.connect()
    _ = try await session.request(.set(key: "isMetered", value: "true", app: nil))
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    try await world.wait("the other waits") { try await world.downloads().map(\.identifier) == ["t1"] }
    for _ in 0..<5 {
      world.kill()
      try world.start()
      _ = try await world.downloads()
    }
    #expect(!world.origin.requests.contains { $0.path == "/t1" })
    let after = try await world.connect()
    _ = try await after.request(.set(key: "isMetered", value: nil, app: nil))
    try await world.waitUntilShelved(["e1": 1000, "t1": 1000])
  }

  @Test("Who watches is told why a download waits that hasn't begun")
  func waitsFromTheBeginning() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000, "t1": 1000])
    try world.start()
    let told = Mutex<[String: String]>([:])
    let session = try await world.connect { message in
      guard case .event(.download(let download)) = message else { return }
      told.withLock { $0[download.identifier] = download.waiting?.code }
    }
    defer { session.close() }
    _ = try await session.request(.set(key: "isMetered", value: "true", app: nil))
    _ = try await session.request(.watch(app: nil))
    _ = try await world.install(world.bundle())
    try await world.wait("it is told") { told.withLock { $0["t1"] } == "metered" }
  }

  @Test("The log says what was downloaded and what failed, and why")
  func logs() async throws {
    let world = try ServiceWorld { $0.handler = { request, _ in request.path == "/t1" ? .status(410) : nil } }
    world.publish(["e1": 1000, "t1": 2000])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
    let lines = try Workspace.run(["log", ServiceWorld.app, "--json", "--state", world.state]).output
    #expect(lines.contains("e1, 1000 bytes") && lines.contains("\"downloaded\""), "\(lines)")
    #expect(lines.contains("t1: ") && lines.contains("\"failed\""), "\(lines)")
  }

  @Test("A simulation on a metered line is carried out, and where power is saved it says so at once (B10, B26)")
  func simulates() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    let session = try await world.connect()
    defer { session.close() }
    _ = try await session.request(.set(key: "isMetered", value: "true", app: nil))
    let runs = try await world.runs().count
    _ = try await session.request(.simulate(request: .periodic, app: ServiceWorld.app))
    try await world.wait("it was asked") { try await world.runs().count > runs }
    _ = try await session.request(.set(key: "isLowPower", value: "true", app: nil))
    let refused = await #expect(throws: ServiceFailure.self) {
      try await session.request(.simulate(request: .periodic, app: ServiceWorld.app))
    }
    #expect("\(try #require(refused))".contains("the machine saves power"))
    let refusal = try Workspace.run(["simulate", "app-periodic", ServiceWorld.app, "--state", world.state])
    #expect(refusal.status == 75 && refusal.errors.contains("isLowPower false"), "\(refusal)")
  }

  @Test("An update brings what is new, and nothing again that is there")
  func updates() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000, "t1": 1000])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000, "t1": 1000])
    world.origin.reset()
    world.publish(["e1": 1000, "t1": 1000, "e9": 2000])
    let app = try await world.install(world.bundle(version: "2.0"), mustExist: true)
    #expect(app.state == .updating)
    try await world.waitUntilOpen()
    try await world.waitUntilShelved(["e1": 1000, "t1": 1000, "e9": 2000])
    #expect(try await world.summary()?.version == "2.0")
    #expect(Set(world.origin.requests.map(\.path)) == ["/manifest.json", "/e9"])
  }

  @Test(
    "A cancelled update leaves the old version in place and nothing of the new one, also when the service dies then [B49]"
  )
  func cancelsUpdate() async throws {
    let world = try ServiceWorld { $0.bytesPerSecond = 200_000 }
    world.publish(["e1": 1000])
    try world.start()
    let old = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    try await world.wait("nothing is left") { try await world.downloads().isEmpty }
    let runs = try await world.runs().count
    // One of them is there before the update is cancelled, the other isn't.
    world.publish(["e1": 1000, "e2": 500, "e3": 20_000_000])
    let new = try await world.install(world.bundle(version: "2.0"), mustExist: true)
    #expect(new.path != old.path)
    let current = "\(world.paths.apps)/\(ServiceWorld.app)/current"
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: current) == "1.0")
    let lease = "\(world.paths.groups)/\(ServiceWorld.group)/lease"
    try await world.wait("one essential file is there") {
      try FileManager.default.contentsOfDirectory(atPath: lease).contains { $0.hasSuffix("-e2") }
    }
    let session = try await world.connect()
    _ = try await session.request(.installation(app: ServiceWorld.app, action: .cancel))
    session.close()
    world.kill()
    try world.start()
    try await world.waitUntilOpen()
    try await world.wait("nothing of the new version is left") {
      try FileManager.default.contentsOfDirectory(atPath: lease).allSatisfy { $0.hasPrefix(".") }
        && FileManager.default.contentsOfDirectory(atPath: "\(world.paths.apps)/\(ServiceWorld.app)").sorted()
          == ["1.0", "current"]
    }
    let app = try #require(try await world.summary())
    #expect(app.version == "1.0" && app.path == old.path && app.state == .launchable)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: current) == "1.0")
    #expect(world.shelved() == ["e1": 1000])
    try await world.wait("no download is left") { try await world.downloads().isEmpty }
    // The one of the update; no extension was woken for what it left.
    #expect(try await world.runs().count == runs + 1)
    // And it can be updated again.
    world.publish(["e1": 1000, "e2": 500])
    _ = try await world.install(world.bundle(version: "2.0"), mustExist: true)
    try await world.waitUntilOpen()
    try await world.waitUntilShelved(["e1": 1000, "e2": 500])
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: current) == "2.0")
  }

  @Test("A file that its recipient leaves where it is, is deleted (B55)")
  func leftFile() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    let told = Mutex(false)
    let session = Mutex<ServiceSession?>(nil)
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app)) { message in
      guard case .call(let id, .finished) = message else { return }
      told.withLock { $0 = true }
      session.withLock { $0 }?.answer(id, .handled)
    }
    session.withLock { $0 = app }
    _ = try await app.request(.observe(isObserving: true))
    let download = DownloadValue(
      identifier: "left", uniqueIdentifier: UUID().uuidString, url: world.origin.url("/e1"),
      applicationGroupIdentifier: ServiceWorld.group, fileSize: 1000)
    _ = try await app.request(.schedule(download: download))
    try await world.wait("the delegate is told") { told.withLock { $0 } }
    let lease = "\(world.paths.groups)/\(ServiceWorld.group)/lease"
    try await world.wait("the file is gone") {
      try FileManager.default.contentsOfDirectory(atPath: lease).allSatisfy { $0.hasPrefix(".") }
    }
    app.close()
    session.withLock { $0 = nil }
  }

  @Test("An extension that crashes in an installation doesn't keep the app from being launched (B8, F-58)")
  func crashes() async throws {
    let world = try ServiceWorld()
    world.publish(Self.sessions)
    try world.start()
    _ = try await world.install(world.bundle(library: Workspace.hostile + "/requests/no_function.so"))
    try await world.waitUntilOpen()
    let run = try #require(try await world.runs().last)
    #expect(run.outcome.kind != "returned", "\(run)")
    #expect(try await world.summary()?.gate.reason.contains("extension") == true)
  }

  @Test("Without its manifest an app becomes launchable, and says why it has nothing (B33)", arguments: [404, 403])
  func withoutManifest(status: Int) async throws {
    let world = try ServiceWorld { $0.handler = { _, _ in .status(status) } }
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    #expect(try await world.summary()?.gate.reason.contains("manifest") == true)
  }

  @Test("What is uninstalled leaves nothing behind, its groups included, and can come again")
  func uninstalls() async throws {
    let world = try ServiceWorld()
    world.publish(Self.sessions)
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(Self.sessions)
    let session = try await world.connect()
    _ = try await session.request(.set(key: "isBackgroundActivityAllowed", value: "false", app: ServiceWorld.app))
    let refusal = try Workspace.run(["simulate", "app-periodic", ServiceWorld.app, "--state", world.state])
    #expect(
      refusal.errors.contains("settings set isBackgroundActivityAllowed true --app \(ServiceWorld.app)"), "\(refusal)")
    _ = try await session.request(.uninstall(app: ServiceWorld.app))
    try await world.wait("it is gone") { try await world.summary() == nil }
    // One that is installed under its name begins without them.
    guard case .settings(let settings) = try await session.request(.settings) else {
      throw ServiceWorld.Trouble(description: "no settings")
    }
    #expect(settings.apps[ServiceWorld.app] == nil)
    #expect(!FileManager.default.fileExists(atPath: "\(world.paths.apps)/\(ServiceWorld.app)"))
    #expect(try await world.downloads().isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.paths.groups).isEmpty)
    _ = try await world.install(world.bundle())
    try await world.waitUntilOpen()
    try await world.waitUntilShelved(Self.sessions)
  }

  @Test(
    "A process of an app that is uninstalled hears how its downloads end, and each of its calls is answered with 55")
  func uninstalledWhileItRuns() async throws {
    var never = Reply()
    never.timing.beforeStatus = .seconds(3600)
    let world = try ServiceWorld { [never] in $0.handler = { request, _ in request.path == "/never" ? never : nil } }
    world.publish(Self.sessions)
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(Self.sessions)
    let told = Mutex<[String]>([])
    let hello = Hello(role: .operator, launches: ServiceWorld.app)
    let app = try await world.connect(hello) { message in
      guard case .call(_, .failed(let download, let failure)) = message else { return }
      told.withLock { $0.append("\(download.identifier) \(failure.domain) \(failure.code) \(failure.message)") }
    }
    defer { app.close() }
    let other = try await world.connect(hello)
    defer { other.close() }
    _ = try await app.request(.observe(isObserving: true))
    func download(_ name: String) -> DownloadValue {
      DownloadValue(
        identifier: name, uniqueIdentifier: UUID().uuidString, url: world.origin.url("/never"),
        applicationGroupIdentifier: ServiceWorld.group, fileSize: 10)
    }
    _ = try await app.request(.schedule(download: download("live")))
    _ = try await app.request(.acquireControl(token: 1, timeout: nil))
    async let waiting = Self.failure(of: other, .acquireControl(token: 1, timeout: nil))
    let session = try await world.connect()
    defer { session.close() }
    _ = try await session.request(.uninstall(app: ServiceWorld.app))
    let refused = "BAErrorDomain 55 the app \(ServiceWorld.app) was uninstalled while it runs"
    #expect(await waiting == refused)
    try await world.wait("it is told") { !told.withLock(\.isEmpty) }
    #expect(
      told.withLock { $0 } == [
        "live NSURLErrorDomain -999 the download was cancelled: the app was uninstalled"
      ])
    try await world.wait("it is gone") { try await world.summary() == nil }
    // Neither does it get anything of one that is installed under its name.
    for isBack in [false, true] {
      if isBack {
        _ = try await world.install(world.bundle())
        try await world.waitUntilOpen()
      }
      for request: ClientRequest in [
        .currentDownloads, .schedule(download: download("late")), .startForeground(download: download("late")),
        .cancel(identifier: "live", uniqueIdentifier: ""), .acquireControl(token: 2, timeout: nil),
        .acquireControl(token: 3, timeout: 5), .observe(isObserving: true),
      ] {
        #expect(await Self.failure(of: app, request) == refused, "\(request)")
      }
    }
  }

  private static func failure(of session: ServiceSession, _ request: ClientRequest) async -> String? {
    do {
      _ = try await session.request(request)
      return nil
    } catch {
      return "\(error.domain) \(error.code) \(error.message)"
    }
  }

  @Test("The groups of earlier versions stay the app's, with their files, and go when it is uninstalled [L16]")
  func groupsOfEarlierVersions() async throws {
    let world = try ServiceWorld()
    world.publish(Self.sessions)
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(Self.sessions)
    _ = try await world.install(world.bundle(version: "2.0", group: "group.second"))
    let folder = "\(world.paths.apps)/\(ServiceWorld.app)"
    try await world.wait("the first version is gone") {
      try await world.summary()?.gate.isClosed == false && !FileManager.default.fileExists(atPath: "\(folder)/1.0")
    }
    // A service that is killed knows them as well.
    world.kill()
    try world.start()
    let stranger = try world.bundle(identifier: "org.stranger")
    let refusal = try Workspace.run(["install", stranger, "--state", world.state])
    #expect(refusal.status == 77 && refusal.errors.contains("belongs to \(ServiceWorld.app)"), "\(refusal)")
    #expect(world.shelved() == Self.sessions)
    let session = try await world.connect()
    _ = try await session.request(.uninstall(app: ServiceWorld.app))
    try await world.wait("it is gone") { try await world.summary() == nil }
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.paths.groups).isEmpty)
    _ = try await world.install(stranger)
  }

  @Test("An app whose bundle was taken away is said to need its installation, and isn't waited for")
  func bundleGone() async throws {
    let world = try ServiceWorld()
    world.publish(Self.sessions)
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(Self.sessions)
    #expect(try world.terminate() == 0)
    Files.removeTree("\(world.paths.apps)/\(ServiceWorld.app)")
    try world.start()
    for command in [["simulate", "app-periodic", ServiceWorld.app], ["launch", ServiceWorld.app]] {
      let refusal = try Workspace.run(command + ["--state", world.state])
      #expect(refusal.status == 66 && refusal.errors.contains("install \(ServiceWorld.app) again"), "\(refusal)")
    }
    _ = try await world.install(world.bundle())
    let again = try Workspace.run(["simulate", "app-periodic", ServiceWorld.app, "--state", world.state])
    #expect(again.status == 0, "\(again)")
  }

  @Test("An app sees its downloads, and what its delegate handles wakes no extension (B28, B29)")
  func delegates() async throws {
    let world = try ServiceWorld()
    world.publish(["e1": 1000])
    try world.start()
    _ = try await world.install(world.bundle())
    try await world.waitUntilShelved(["e1": 1000])
    let runs = try await world.runs().count
    world.origin.set("/later", Resource(.pseudoRandom(seed: 9, count: 5000)))
    let taken = world.folder + "/taken"
    let session = Mutex<ServiceSession?>(nil)
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app)) { message in
      guard case .call(let id, .finished(let download, let path)) = message, download.identifier == "later" else {
        return
      }
      try? FileManager.default.moveItem(atPath: path, toPath: taken)
      session.withLock { $0 }?.answer(id, .handled)
    }
    session.withLock { $0 = app }
    _ = try await app.request(.observe(isObserving: true))
    let download = DownloadValue(
      identifier: "later", uniqueIdentifier: UUID().uuidString, url: world.origin.url("/later"),
      applicationGroupIdentifier: ServiceWorld.group, fileSize: 5000)
    _ = try await app.request(.schedule(download: download))
    try await world.wait("the delegate has it") { FileManager.default.fileExists(atPath: taken) }
    try await world.wait("it is settled") { try await world.downloads().isEmpty }
    #expect(try await world.runs().count == runs)
    #expect(try await world.summary()?.restrictions.isActive == false)
    app.close()
    session.withLock { $0 = nil }
  }

  @Test("An update of what isn't installed is refused, and leaves nothing")
  func updatesNothing() async throws {
    let world = try ServiceWorld()
    try world.start()
    await #expect { _ = try await world.install(world.bundle(), mustExist: true) } throws: {
      ($0 as? ServiceFailure)?.code == 66
    }
    #expect(!FileManager.default.fileExists(atPath: "\(world.paths.apps)/\(ServiceWorld.app)"))
  }

  @Test("A service with nothing to do ends by itself when it is told so")
  func idle() async throws {
    let world = try ServiceWorld()
    try world.start(["--idle-exit", "0.5"])
    try await world.wait("it has ended") { world.log.contains("stopped") }
    #expect(!FileManager.default.fileExists(atPath: world.paths.socket))
  }

  @Test("A second service says who has the state folder, in one sentence")
  func secondService() async throws {
    let world = try ServiceWorld()
    try world.start()
    let second = try Workspace.run(["--state", world.state], program: Workspace.products + "/outriderd")
    #expect(second.status == 75)
    #expect(second.errors.split(separator: "\n").count == 1)
    #expect(second.errors.contains("\(world.pid)"), "\(second.errors)")
    #expect(try world.terminate() == 0)
  }

  @Test("A user who can reach the service can stop it, from the first moment on", arguments: 0..<8)
  func stopsAtOnce(_: Int) throws {
    let world = try ServiceWorld()
    try world.start()
    #expect(try world.terminate() == 0)
  }
}
