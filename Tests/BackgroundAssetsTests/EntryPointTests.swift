import BackgroundAssets
import CExtension
import TestSupport
import Testing

extension HostSuite {
  @Suite(.timeLimit(.minutes(1))) struct EntryPoints {
    private let host = FakeHost()

    @Test("the library's table names all entry points with their signatures [L1]")
    func tableNamesAllEntryPointsWithTheirSignatures() throws {
      let table = try #require(Table(of: MinimalDownloader.self))
      #expect(table.name.hasSuffix("MinimalDownloader"))
      #expect(
        table.signatures == [
          BA_CONTENT_REQUEST: BA_CONTENT_REQUEST_SIGNATURE, BA_DOWNLOAD_FINISHED: BA_DOWNLOAD_FINISHED_SIGNATURE,
          BA_DOWNLOAD_FAILED: BA_DOWNLOAD_FAILED_SIGNATURE,
          BA_AUTHENTICATION_CHALLENGE: BA_AUTHENTICATION_CHALLENGE_SIGNATURE,
          BA_WILL_TERMINATE: BA_WILL_TERMINATE_SIGNATURE, BA_DELEGATE_EVENT: BA_DELEGATE_EVENT_SIGNATURE,
        ])
    }

    @Test func unknownHostVersionGetsNoTable() {
      MinimalDownloader.main()
      #expect(background_assets_extension(0) == nil)
    }

    @Test func defaultsAnswerNeutrally() throws {
      let table = try #require(Table(of: MinimalDownloader.self))
      #expect(table.contentRequest(host, kind: BA_REQUEST_INSTALL) == BA_OK)
      #expect(table.finished(host, "a", path: "/nowhere") == BA_OK)
      #expect(table.failed(host, "a", code: -1001) == BA_OK)
      #expect(table.challenge(host, "a").answer.disposition == BA_PERFORM_DEFAULT_HANDLING)
      table.willTerminate(host)
      #expect(host.state.withLock { $0.answered.isEmpty && $0.scheduled.isEmpty })
    }

    @Test(arguments: [BA_REQUEST_INSTALL, BA_REQUEST_PERIODIC, BA_REQUEST_LANGUAGE_CHANGE])
    func contentRequestAnswersWithTheDownloadsOfTheManifest(kind: Int32) throws {
      let manifest = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID()).json")
      try Data(
        #"[{"name":"b","url":"https://e.com/b?q=1","size":7,"essential":false},{"name":"a","url":"https://e.com/a","size":9,"essential":true}]"#
          .utf8
      ).write(to: manifest)
      defer { try? FileManager.default.removeItem(at: manifest) }
      let table = try #require(Table(of: BackgroundDownloadHandler.self))
      #expect(table.contentRequest(host, kind: kind, manifest: manifest.path, remaining: 100) == BA_OK)
      let group = BackgroundDownloadHandler.groupIdentifier
      #expect(
        host.state.withLock { $0.answered } == [
          .init(
            identifier: "a", url: "https://e.com/a", flags: kind == BA_REQUEST_INSTALL ? BA_DOWNLOAD_ESSENTIAL : 0,
            fileSize: 9, priority: 100, headers: ["X-Client": "game"], group: group),
          .init(identifier: "b", url: "https://e.com/b?q=1", fileSize: 7, headers: ["X-Client": "game"], group: group),
        ])
      #expect(host.state.withLock { $0.log.contains("com.example.game.downloader:downloader Remaining: 100 of 100") })
    }

    @Test func unknownRequestAndShortStructAreRefused() throws {
      let table = try #require(Table(of: MinimalDownloader.self))
      #expect(table.contentRequest(host, kind: 99) == BA_FAILED)
      #expect(table.contentRequest(host, kind: BA_REQUEST_INSTALL, size: 8) == BA_FAILED)
    }

    @Test func refusedAnswerIsLoggedAndTheRequestGoesOn() throws {
      host.state.withLock { $0.status = BA_DOWNLOAD_FAILED_TO_START }
      let table = try #require(Table(of: RogueDownloader.self))
      #expect(table.contentRequest(host, kind: BA_REQUEST_PERIODIC) == BA_OK)
      #expect(host.state.withLock { $0.log.first?.contains("'rogue'") } == true)
    }

    @Test func schedulingDuringTheContentRequestIsRefused() throws {
      let table = try #require(Table(of: RogueDownloader.self))
      #expect(table.contentRequest(host, kind: BA_REQUEST_PERIODIC) == BA_OK)
      #expect(RogueDownloader.schedulingCode == BAErrorCode.callFromExtensionNotAllowed.rawValue)
      #expect(host.state.withLock { $0.scheduled.isEmpty && $0.answered.count == 1 })
    }

    @Test func essentialFailureIsScheduledAgainAsNonEssential() throws {
      let table = try #require(Table(of: BackgroundDownloadHandler.self))
      #expect(table.failed(host, "level", code: -1001, flags: BA_DOWNLOAD_ESSENTIAL) == BA_OK)
      let scheduled = try #require(host.state.withLock { $0.scheduled.first })
      #expect(scheduled.identifier == "level" && scheduled.flags == 0 && scheduled.fileSize == 12)
    }

    @Test("a failure of the network is an error of the URL's domain [B74]") func networkFailureIsAURLError() throws {
      let table = try #require(Table(of: RogueDownloader.self))
      #expect(table.failed(host, "a", code: -1001) == BA_OK)
      #expect((RogueDownloader.failure as? URLError)?.code == .timedOut)
      let failure = try #require(RogueDownloader.failure) as NSError
      #expect(
        failure.domain == NSURLErrorDomain && failure.code == -1001 && failure.localizedDescription == "timed out")
      #expect(table.failed(host, "a", code: 12345) == BA_OK)
      #expect((RogueDownloader.failure as? NSError)?.code == 12345)
    }

    @Test func manifestIsNotAnOrdinaryDownload() throws {
      let table = try #require(Table(of: BackgroundDownloadHandler.self))
      #expect(table.failed(host, "manifest", code: -1001, flags: BA_DOWNLOAD_MANIFEST | BA_DOWNLOAD_ESSENTIAL) == BA_OK)
      #expect(host.state.withLock { $0.scheduled.isEmpty })
      #expect(host.state.withLock { $0.log.first?.contains("unsupported type failed: <private>") } == true)
    }

    @Test func challengeIsAnsweredWithTheCredential() throws {
      let table = try #require(Table(of: BackgroundDownloadHandler.self))
      var (status, answer) = table.challenge(host, "a")
      #expect(status == BA_OK && answer.disposition == BA_USE_CREDENTIAL)
      #expect(
        withUnsafeBytes(of: &answer.user) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) } == "player")
      #expect(
        withUnsafeBytes(of: &answer.password) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
          == "secret")
    }

    @Test func credentialThatDoesNotFitCancels() throws {
      let table = try #require(Table(of: RogueDownloader.self))
      let (status, answer) = table.challenge(host, "a")
      #expect(status == BA_FAILED && answer.disposition == BA_CANCEL_CHALLENGE)
    }

    @Test func willTerminateReachesTheExtension() throws {
      try #require(Table(of: RogueDownloader.self)).willTerminate(host)
      #expect(RogueDownloader.terminated)
    }

    @Test func finishedFileIsMovedUnderExclusiveControl() async throws {
      let container = FileManager.default.temporaryDirectory.appending(path: "container-\(UUID())")
      try FileManager.default.createDirectory(at: container, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: container) }
      host.state.withLock { $0.containers = [BackgroundDownloadHandler.groupIdentifier: container.path] }
      let file = container.appending(path: "incoming")
      try Data("talk".utf8).write(to: file)
      let table = try #require(Table(of: BackgroundDownloadHandler.self))
      #expect(table.finished(host, "level", path: file.path) == BA_OK)
      #expect(host.state.withLock { $0.events.first } == "begin")
      try await host.waitForEvents(4)
      #expect(host.state.withLock { $0.events } == ["begin", "acquire", "release", "end"])
      #expect(try String(contentsOf: container.appending(path: "level"), encoding: .utf8) == "talk")
    }
  }
}

extension FakeHost {
  func waitForEvents(_ count: Int) async throws {
    #expect(try await eventually { state.withLock { $0.events.count >= count } })
  }
}
