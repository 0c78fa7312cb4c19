import CExtension
import Testing

@testable import BackgroundAssets

extension HostSuite {
  @Suite(.timeLimit(.minutes(1))) struct Manager {
    private let host = FakeHost()
    private let manager = BADownloadManager.shared

    init() { ba_set_current_host(host.table) }

    private func download(
      _ url: String = "https://e.com/a", identifier: String = "name", size: Int = 5, essential: Bool = false,
      priority: Int = 0
    ) -> BAURLDownload {
      BAURLDownload(
        identifier: identifier, request: URLRequest(url: URL(string: url)!), essential: essential, fileSize: size,
        applicationGroupIdentifier: "group", priority: .init(priority))
    }

    private func error(_ body: () throws -> Void) -> NSError? {
      do { try body() } catch { return error as NSError }
      return nil
    }

    @Test func schedulingGoesToTheHost() throws {
      let download = download()
      try manager.scheduleDownload(download)
      #expect(download.state == .waiting)
      #expect(host.state.withLock { $0.scheduled.map(\.identifier) } == ["name"])
    }

    @Test func downloadOfUnknownSizeSaysSo() throws {
      try manager.scheduleDownload(
        BAURLDownload(
          identifier: "old", request: URLRequest(url: URL(string: "https://e.com/a")!),
          applicationGroupIdentifier: "group"))
      #expect(host.state.withLock { $0.scheduled.first?.flags } == BA_DOWNLOAD_SIZE_UNKNOWN)
    }

    @Test("misuse throws and names the value [L4]") func misuseThrowsAndNamesTheValue() throws {
      let essential = error { try manager.scheduleDownload(download(essential: true)) }
      #expect(essential?.domain == BAErrorDomain && essential?.code == 109)
      #expect(essential?.localizedDescription.contains("'name'") == true)
      let identifier = error { try manager.scheduleDownload(download(identifier: "")) }
      #expect(identifier?.code == 102 && identifier?.localizedDescription.contains("identifier is empty") == true)
      let size = error { try manager.scheduleDownload(download(size: -3)) }
      #expect(size?.code == 102 && size?.localizedDescription.contains("-3") == true)
      let priority = error { try manager.scheduleDownload(download(priority: 101)) }
      #expect(priority?.code == 102 && priority?.localizedDescription.contains("101") == true)
      let scheme = error { try manager.scheduleDownload(download("http://e.com/a")) }
      #expect(scheme?.code == 102 && scheme?.localizedDescription.contains("http://e.com/a") == true)
      let underlying = scheme?.userInfo[NSUnderlyingErrorKey] as? NSError
      #expect(underlying?.domain == NSURLErrorDomain && underlying?.code == -1002)
      #expect(error { try manager.startForegroundDownload(download()) }?.code == 50)
      #expect(host.state.withLock { $0.scheduled.isEmpty })
    }

    @Test func loopbackHTTPIsForTheHostToDecide() throws {
      try manager.scheduleDownload(download("http://127.0.0.1:8080/a"))
      #expect(host.state.withLock { $0.scheduled.count } == 1)
    }

    @Test func refusedLoopbackHTTPNamesTheURL() {
      host.state.withLock { $0.status = BA_DOWNLOAD_FAILED_TO_START }
      let refusal = error { try manager.scheduleDownload(download("http://localhost/a")) }
      #expect(refusal?.code == 102 && refusal?.localizedDescription.contains("http://localhost/a") == true)
      let underlying = refusal?.userInfo[NSUnderlyingErrorKey] as? NSError
      #expect(underlying?.domain == NSURLErrorDomain && underlying?.code == -1002)
    }

    @Test(arguments: [55, 56, 100, 102, 111, 112, 202])
    func refusalsOfTheHostKeepTheirCode(code: Int32) {
      host.state.withLock { $0.status = code }
      let refusal = error { try manager.scheduleDownload(download()) }
      #expect(refusal?.domain == BAErrorDomain && refusal?.code == Int(code))
      #expect(refusal?.localizedDescription.contains("'name'") == true)
    }

    @Test("an object whose download is over cancels none that was scheduled after it [B44, B76]")
    func cancellingWhatIsOver() throws {
      let failed = download()
      failed.move(to: .failed)
      try manager.scheduleDownload(failed.removingEssential())
      #expect(error { try manager.cancel(failed) }?.code == BAErrorCode.downloadAlreadyFailed.rawValue)
      let finished = download()
      finished.move(to: .finished)
      #expect(error { try manager.cancel(finished) }?.code == BAErrorCode.downloadNotScheduled.rawValue)
      #expect(host.state.withLock { $0.cancelled }.isEmpty)
      // The same object again is the new one.
      try manager.scheduleDownload(failed)
      try manager.cancel(failed)
      #expect(host.state.withLock { $0.cancelled } == ["name"])
    }

    @Test func cancellingGoesToTheHost() throws {
      try manager.cancel(download())
      #expect(host.state.withLock { $0.cancelled } == ["name"])
      host.state.withLock { $0.status = BA_DOWNLOAD_NOT_SCHEDULED }
      #expect(error { try manager.cancel(download()) }?.code == BAErrorCode.downloadNotScheduled.rawValue)
    }

    @Test func currentDownloadsInAllThreeForms() async throws {
      host.state.withLock { $0.current = ["a", "b"] }
      let fetched = try manager.fetchCurrentDownloads()
      #expect(fetched.map(\.identifier) == ["a", "b"] && fetched[0].state == .downloading && fetched[0].isEssential)
      #expect(try await manager.currentDownloads.count == 2)
      let count = await withCheckedContinuation { continuation in
        manager.fetchCurrentDownloads { downloads, error in
          continuation.resume(returning: error == nil ? downloads.count : -1)
        }
      }
      #expect(count == 2)
    }

    @Test func asynchronousControlReturnsAfterTheRelease() async throws {
      let value = try await manager.withExclusiveControl {
        host.event("body")
        return 42
      }
      #expect(value == 42)
      // The end comes after the caller goes on.
      try await host.waitForEvents(5)
      #expect(host.state.withLock { $0.events } == ["begin", "acquire", "body", "release", "end"])
      #expect(host.state.withLock { $0.timeouts } == [BA_NO_TIMEOUT])
    }

    @Test func asynchronousControlHandsErrorsThrough() async throws {
      await #expect(throws: CocoaError.self) {
        try await manager.withExclusiveControl(before: .now + 10) { throw CocoaError(.fileNoSuchFile) }
      }
      // The end comes after the caller goes on.
      try await host.waitForEvents(4)
      #expect(host.state.withLock { $0.events } == ["begin", "acquire", "release", "end"])
      let timeout = host.state.withLock { $0.timeouts[0] }
      #expect(timeout > 5_000_000_000 && timeout <= 10_000_000_000)
    }

    @Test func controlThatIsNotAcquiredIsNotReleased() async throws {
      host.state.withLock { $0.acquireStatus = BA_FAILED }
      await #expect(throws: NSError.self) {
        try await manager.withExclusiveControl(before: .now) { host.event("body") }
      }
      // The end comes after the caller goes on.
      try await host.waitForEvents(3)
      #expect(host.state.withLock { $0.events } == ["begin", "acquire", "end"])
      #expect(host.state.withLock { $0.timeouts } == [0])
    }

    @Test(arguments: [Date.distantPast, .distantFuture, Date(timeIntervalSinceReferenceDate: -.infinity)])
    func datesFarAway(date: Date) async throws {
      host.state.withLock { $0.acquireStatus = BA_FAILED }
      await #expect(throws: NSError.self) { try await manager.withExclusiveControl(before: date) {} }
      try await host.waitForEvents(3)
      #expect(host.state.withLock { $0.timeouts } == [date == .distantFuture ? BA_NO_TIMEOUT : 0])
    }

    @Test("the closure is told why control wasn't acquired [B67]") func closureControlReportsTheFailure() async throws {
      host.state.withLock { $0.acquireStatus = BA_CALLER_CONNECTION_INVALID }
      let (acquired, code) = await withCheckedContinuation { continuation in
        manager.withExclusiveControl { acquired, error in
          continuation.resume(returning: (acquired, (error as NSError?)?.code))
        }
      }
      #expect(!acquired && code == 56)
    }

    @Test func turnsDoNotOverlap() async throws {
      let manager = self.manager
      let host = self.host
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<20 {
          group.addTask {
            if index.isMultiple(of: 2) {
              try? await manager.withExclusiveControl { host.event("body") }
            } else {
              manager.withExclusiveControl { _, _ in host.event("body") }
            }
          }
        }
      }
      try await manager.withExclusiveControl {}
      let events = host.state.withLock { $0.events }.filter { $0 != "begin" && $0 != "end" }
      let turns = stride(from: 0, to: 60, by: 3).map { Array(events[$0..<$0 + 3]) }
      #expect(turns.allSatisfy { $0 == ["acquire", "body", "release"] })
    }

    @Test func containerComesFromTheHost() {
      let long = "/" + String(repeating: "x", count: 6000)
      host.state.withLock { $0.containers = ["group": "/srv/container", "long": long] }
      #expect(
        FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group")?.path == "/srv/container")
      #expect(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "long")?.path == long)
      #expect(FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "other") == nil)
      #expect(FoundationAlone.container(of: "group")?.path == "/srv/container")
    }
  }
}
