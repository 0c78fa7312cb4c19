import DevelopmentOrigin
import Foundation
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

/// An app and its extension in Swift, on the public API alone, with a real service.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(5))) struct AppContractTests {
  private static let `extension` = Result { try SwiftExtension.build(["Downloader.swift": extensionSource]) }
  private static let app = Result { try SwiftExtension.build(["App.swift": appSource], isApp: true) }

  private static func world(_ configure: (inout OriginConfiguration) -> Void = { _ in }) throws -> ServiceWorld {
    let world = try ServiceWorld(configure)
    world.publish(["talk": 1000])
    for path in ["/app", "/extension", "/large", "/small", "/later"] {
      world.origin.set(path, Resource(.pseudoRandom(seed: 3, count: 1000)))
    }
    return world
  }

  private static func install(
    _ world: ServiceWorld, allowance: Int = 1 << 30, domains: [String] = ["127.0.0.1"]
  ) async throws {
    let bundle = try world.bundle(library: `extension`.get(), allowance: allowance, domains: domains)
    try FileManager.default.removeItem(atPath: bundle + "/Sessions")
    try FileManager.default.copyItem(atPath: app.get(), toPath: bundle + "/Sessions")
    try world.start()
    _ = try await world.install(bundle)
    try await world.waitUntilOpen()
  }

  private static func launch(_ world: ServiceWorld, _ scene: String) throws -> [String] {
    let end = try Workspace.run(
      ["launch", ServiceWorld.app, "--state", world.state, "--", scene, world.origin.url("/")])
    #expect(end.status == 0, "\(end)")
    return end.output.split(separator: "\n").map(String.init)
  }

  @Test("misuse of the manager throws the code that is documented for it, and ends no process (6.2, B44, B75)")
  func misuse() async throws {
    var never = Reply()
    never.timing.beforeStatus = .seconds(3600)
    let world = try Self.world { [never] in $0.handler = { request, _ in request.path == "/never" ? never : nil } }
    try await Self.install(world)
    #expect(
      try Self.launch(world, "misuse") == [
        "essential 109", "zero 102", "negative 102", "priority 102", "http 102 under -1002", "group 55", "unnamed 102",
        "scheduled waiting", "same object 100", "same identifier 100", "cancelled", "told -999 failed", "gone 101",
        "unknown 101", "inactive 51", "foreign container nil",
      ])
  }

  @Test(
    "what has failed is scheduled again within its callback, and what the extension makes unessential comes (B47, B54)")
  func again() async throws {
    let world = try Self.world { configuration in
      configuration.handler = { request, nth in
        ["/app", "/extension"].contains(request.path) && nth == 1 ? .status(403) : nil
      }
    }
    try await Self.install(world)
    let taken = world.container + "/extension"
    try await world.wait("the extension has it") { FileManager.default.fileExists(atPath: taken) }
    #expect(
      try Self.launch(world, "again") == [
        "failed -1013 failed", "scheduled waiting", "began downloading same", "progress 1000 1000 1000",
        "finished finished same",
      ])
    // The app has ended by then; the service may still be settling what it has handled.
    try await world.wait("it is settled") { try await world.downloads().allSatisfy { $0.identifier != "again" } }
  }

  @Test(
    "without a delegate, what is scheduled again is cancelled and promoted by the same object (B37, B44, X7)"
  )
  func twice() async throws {
    var never = Reply()
    never.timing.beforeStatus = .seconds(3600)
    let world = try Self.world { [never] in
      $0.handler = { request, nth in request.path == "/twice" && nth > 1 ? never : nil }
    }
    world.origin.set("/twice", Resource(.pseudoRandom(seed: 3, count: 1000)))
    try await Self.install(world)
    #expect(
      try Self.launch(world, "twice") == [
        "scheduled", "again", "promoted", "copy cancelled", "gone 101", "after that", "promoted too", "cancelled",
        "gone 101",
        "archive", "cancelled",
      ])
  }

  @Test("an app's request keeps its method and body") func post() async throws {
    let world = try Self.world { configuration in
      configuration.handler = { request, _ in
        guard request.path == "/ask" else { return nil }
        guard request.method == "POST", request.body == Array("level=3".utf8),
          request.header("Content-Type") == "text/plain"
        else { return .status(400) }
        var reply = Reply()
        reply.body = .resource("/app")
        return reply
      }
    }
    try await Self.install(world)
    #expect(try Self.launch(world, "post") == ["finished finished another"])
  }

  @Test("a periodic request ends by itself, and what it brought and what was rejected is told (B3, B50)")
  func periodic() async throws {
    let world = try Self.world()
    try await Self.install(world)
    let session = try await world.connect()
    defer { session.close() }
    _ = try await session.request(.simulate(request: .periodic, app: ServiceWorld.app))
    for name in ["wrong BAErrorDomain 109", "later"] {
      try await world.wait("\(name) is told") {
        FileManager.default.fileExists(atPath: "\(world.container)/\(name)")
      }
    }
    try await world.wait("no run goes on") { try await world.runs().allSatisfy { $0.outcome.kind == "returned" } }
    let run = try #require(try await world.runs().first { $0.request == "periodic" })
    #expect(run.downloads.accepted == 1 && run.downloads.rejected.map(\.code) == [109], "\(run.downloads)")
  }

  @Test(
    "before the first launch a download fails where the allowance ends, of unknown size or larger than it said (B63)",
    arguments: ["large", "small"])
  func beyond(name: String) async throws {
    let world = try Self.world()
    world.origin.set("/\(name)", Resource(.pseudoRandom(seed: 3, count: 6 << 20)))
    try await Self.install(world, allowance: 2 << 20)
    let told = world.container + "/\(name) BAErrorDomain 204"
    try await world.wait("the extension is told") { FileManager.default.fileExists(atPath: told) }
    #expect(try await world.downloads().allSatisfy { $0.identifier != name || $0.state == "failed" })
    let log = try Workspace.run(["log", ServiceWorld.app, "--state", world.state]).output
    #expect(log.contains("failed: \(name)") && !log.contains("cancelled"), "\(log)")
  }

  @Test(
    "a manifest that the allow list refuses, or that exceeds its allowance, opens the gate and is told (B62, B63)",
    arguments: [202, 204])
  func refusedManifest(code: Int) async throws {
    let world = try Self.world()
    if code == 204 { world.origin.set("/manifest.json", Resource(.pseudoRandom(seed: 3, count: 1_300_000))) }
    try await Self.install(world, allowance: 1 << 20, domains: code == 202 ? ["example.com"] : ["127.0.0.1"])
    #expect(try await world.summary()?.gate.reason.contains("manifest") == true)
    let told = "\(world.container)/\(ServiceWorld.app).manifest BAErrorDomain \(code)"
    try await world.wait("the extension is told") { FileManager.default.fileExists(atPath: told) }
    // Its transfer is over as well.
    try await world.wait("no manifest is on its way") {
      try await world.downloads().allSatisfy { $0.state == "failed" }
    }
    #expect(world.origin.requests.count { $0.path == "/manifest.json" } == (code == 202 ? 0 : 1))
  }

  @Test("a service starts again with downloads that wait for another attempt") func restarts() async throws {
    let world = try Self.world { $0.handler = { request, _ in request.path == "/busy" ? .status(503) : nil } }
    try await Self.install(world)
    let app = try await world.connect(Hello(role: .operator, launches: ServiceWorld.app))
    let download = DownloadValue(
      identifier: "busy", uniqueIdentifier: UUID().uuidString, url: world.origin.url("/busy"),
      applicationGroupIdentifier: ServiceWorld.group, fileSize: 10)
    _ = try await app.request(.schedule(download: download))
    try await world.wait("it waits") {
      try await world.downloads().first { $0.identifier == "busy" }?.waiting?.code == "retrying"
    }
    world.kill()
    try world.start()
    try await world.wait("it still waits, and the service knows why") {
      try await world.downloads().first { $0.identifier == "busy" }?.waiting?.data["lastError"]?.contains("503") == true
    }
  }

  private static let extensionSource = #"""
    import BackgroundAssets

    private let group = "group.com.example.sessions"

    @main
    struct Downloader: BADownloaderExtension {
      func downloads(
        for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
      ) -> Set<BADownload> {
        guard let text = try? String(contentsOf: manifestURL, encoding: .utf8),
          let start = text.range(of: "http://"), let end = text[start.lowerBound...].range(of: "/talk"),
          let base = URL(string: String(text[start.lowerBound..<end.lowerBound]))
        else { return [] }
        func make(_ name: String, essential: Bool) -> BAURLDownload {
          BAURLDownload(
            identifier: name, request: URLRequest(url: base.appending(path: name)), essential: essential, fileSize: 1000,
            applicationGroupIdentifier: group, priority: .default)
        }
        switch request {
        case .install:
          return [
            make("extension", essential: true), make("small", essential: false), unsized(base.appending(path: "large")),
          ]
        case .periodic: return [make("wrong", essential: true), make("later", essential: false)]
        default: return []
        }
      }

      private func unsized(_ url: URL) -> BAURLDownload {
        BAURLDownload(identifier: "large", request: URLRequest(url: url), applicationGroupIdentifier: group)
      }

      func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error) {
        let (container, error) = (
          FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)!, error as NSError
        )
        try? Data().write(to: container.appending(path: "\(failedDownload.identifier) \(error.domain) \(error.code)"))
        guard failedDownload.isEssential, error.domain == NSURLErrorDomain else { return }
        try? BADownloadManager.shared.scheduleDownload(failedDownload.removingEssential())
      }

      func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
        let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)!
        try? FileManager.default.moveItem(at: fileURL, to: container.appending(path: finishedDownload.identifier))
      }
    }
    """#

  private static let appSource = #"""
    import BackgroundAssets

    private let group = "group.com.example.sessions"

    final class Delegate: NSObject, BADownloadManagerDelegate, @unchecked Sendable {
      let ended = DispatchSemaphore(value: 0)
      var first: BADownload?

      func downloadDidBegin(_ download: BADownload) {
        // Whatever the first attempt does, the second one is the app's own object again.
        if first != nil { print("began", download.state, download === first ? "same" : "another") }
      }

      func download(
        _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
        totalBytesExpectedToWrite totalExpectedBytes: Int64
      ) { if first != nil { print("progress", bytesWritten, totalBytesWritten, totalExpectedBytes) } }

      func download(_ download: BADownload, failedWithError error: any Error) {
        let code = (error as NSError).code
        if download.identifier == "again", first == nil {
          first = download
          print("failed", code, download.state)
          do {
            try BADownloadManager.shared.scheduleDownload(download)
            print("scheduled", download.state)
          } catch { print("refused", error) }
        } else {
          print("told", code, download.state)
          ended.signal()
        }
      }

      func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
        print("finished", download.state, download === first ? "same" : "another")
        ended.signal()
      }
    }

    @main
    struct App {
      static let manager = BADownloadManager.shared
      static let delegate = Delegate()

      static func main() throws {
        let (scene, base) = (CommandLine.arguments[1], URL(string: CommandLine.arguments[2])!)
        if scene != "twice" { manager.delegate = delegate }
        switch scene {
        case "twice": try twice(base)
        case "misuse": misuse(base)
        case "post": try post(base)
        default: try again(base)
        }
      }

      static func make(
        _ name: String, _ url: URL, essential: Bool = false, size: Int = 1000, group: String = group, priority: Int = 0
      ) -> BAURLDownload {
        BAURLDownload(
          identifier: name, request: URLRequest(url: url), essential: essential, fileSize: size,
          applicationGroupIdentifier: group, priority: BADownload.Priority(priority))
      }

      static func attempt(_ name: String, _ body: () throws -> Void) {
        do {
          try body()
          print(name)
        } catch let error as NSError {
          let below = (error.userInfo[NSUnderlyingErrorKey] as? NSError).map { " under \($0.code)" } ?? ""
          print(name, error.domain == BAErrorDomain ? "\(error.code)\(below)" : "\(error)")
        }
      }

      static func misuse(_ base: URL) {
        let talk = base.appending(path: "talk")
        attempt("essential") { try manager.scheduleDownload(make("e", talk, essential: true)) }
        attempt("zero") { try manager.startForegroundDownload(make("z", talk, size: 0)) }
        attempt("negative") { try manager.scheduleDownload(make("n", talk, size: -1)) }
        attempt("priority") { try manager.scheduleDownload(make("p", talk, priority: 101)) }
        attempt("http") { try manager.scheduleDownload(make("h", URL(string: "http://example.com/x")!)) }
        attempt("group") { try manager.scheduleDownload(make("g", talk, group: "group.foreign")) }
        attempt("unnamed") { try manager.scheduleDownload(make("", talk)) }
        let slow = make("slow", base.appending(path: "never"))
        attempt("scheduled waiting") { try manager.scheduleDownload(slow) }
        attempt("same object") { try manager.scheduleDownload(slow) }
        attempt("same identifier") { try manager.scheduleDownload(make("slow", talk)) }
        attempt("cancelled") { try manager.cancel(slow) }
        delegate.ended.wait()
        attempt("gone") { try manager.cancel(make("slow", talk)) }
        attempt("unknown") { try manager.cancel(make("never", talk)) }
        manager.isProcessActive = false
        attempt("inactive") { try manager.startForegroundDownload(make("i", talk)) }
        let foreign = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.foreign")
        print("foreign container", foreign?.path ?? "nil")
      }

      /// As soon as what was there before is over.
      static func schedule(_ download: BADownload) throws {
        while true {
          do { return try manager.scheduleDownload(download) } catch let error as NSError where error.code == 100 {
            usleep(20_000)
          }
        }
      }

      static func twice(_ base: URL) throws {
        let taken = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)!.appending(path: "twice")
        let download = make("twice", base.appending(path: "twice"))
        let archive = try NSKeyedArchiver.archivedData(withRootObject: download, requiringSecureCoding: true)
        attempt("scheduled") { try manager.scheduleDownload(download) }
        while !FileManager.default.fileExists(atPath: taken.path) { usleep(20_000) }
        attempt("again") { try schedule(download) }
        attempt("promoted") { try manager.startForegroundDownload(download) }
        attempt("copy cancelled") { try manager.cancel(download.copy() as! BADownload) }
        while try manager.fetchCurrentDownloads().contains(where: { $0.identifier == "twice" && $0.state != .failed }) {
          usleep(20_000)
        }
        attempt("gone") { try manager.cancel(download) }
        attempt("after that") { try schedule(download) }
        attempt("promoted too") { try manager.startForegroundDownload(download) }
        attempt("cancelled") { try manager.cancel(download) }
        while try manager.fetchCurrentDownloads().contains(where: { $0.identifier == "twice" && $0.state != .failed }) {
          usleep(20_000)
        }
        attempt("gone") { try manager.cancel(download) }
        let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: BAURLDownload.self, from: archive)!
        attempt("archive") { try schedule(read) }
        attempt("cancelled") { try manager.cancel(read) }
      }

      static func post(_ base: URL) throws {
        var request = URLRequest(url: base.appending(path: "ask"))
        request.httpMethod = "POST"
        request.httpBody = Data("level=3".utf8)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        try manager.startForegroundDownload(
          BAURLDownload(
            identifier: "post", request: request, essential: false, fileSize: 1000, applicationGroupIdentifier: group,
            priority: .default))
        delegate.ended.wait()
      }

      static func again(_ base: URL) throws {
        try manager.startForegroundDownload(make("again", base.appending(path: "app")))
        delegate.ended.wait()
      }
    }
    """#
}
