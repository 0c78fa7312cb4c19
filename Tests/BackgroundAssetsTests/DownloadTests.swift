import Testing

@testable import BackgroundAssets

@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
  private func make() -> BAURLDownload {
    var request = URLRequest(url: URL(string: "https://e.com/a?b=c")!)
    request.httpMethod = "POST"
    request.httpBody = Data([0, 1, 255])
    request.setValue("v", forHTTPHeaderField: "H")
    return BAURLDownload(
      identifier: "name", request: request, essential: true, fileSize: 9, applicationGroupIdentifier: "group",
      priority: .init(7))
  }

  @Test func newDownloadIsCreated() {
    let download = make()
    #expect(download.state == .created && download.identifier == "name" && download.priority.rawValue == 7)
    #expect(UUID(uuidString: download.uniqueIdentifier) != nil)
    #expect(BADownload.Priority.min.rawValue == -100 && BADownload.Priority.max.rawValue == 100)
  }

  @Test func archiveRoundTrip() throws {
    let download = make()
    download.move(to: .downloading)
    let data = try NSKeyedArchiver.archivedData(withRootObject: download, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: BAURLDownload.self, from: data))
    #expect(copy == download && copy !== download && copy.state == .downloading && copy.isEssential)
    #expect(copy.record.httpBody == Data([0, 1, 255]) && copy.record.httpHeaders == ["H": "v"])
    #expect(type(of: copy) == BAURLDownload.self)
  }

  @Test("an array of downloads comes out of an archive as it went in, and nothing else does") func archivedArray()
    throws
  {
    let downloads = [make(), make()]
    let data = try NSKeyedArchiver.archivedData(
      withRootObject: NSArray(array: downloads), requiringSecureCoding: true)
    let copies = try NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: BAURLDownload.self, from: data)
    #expect(copies == downloads)
    let one = try NSKeyedArchiver.archivedData(withRootObject: downloads[0], requiringSecureCoding: true)
    #expect((try? NSKeyedUnarchiver.unarchivedArrayOfObjects(ofClass: BAURLDownload.self, from: one)) == nil)
  }

  @Test("the body of a request that is given as a stream", arguments: [0, 5, 20_000, 65_536, 65_537, 300_000])
  func bodyOfStream(count: Int) throws {
    let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 251) })
    var request = URLRequest(url: try #require(URL(string: "https://e.com/a")))
    request.httpMethod = "POST"
    request.httpBodyStream = InputStream(data: bytes)
    let download = BAURLDownload(
      identifier: "name", request: request, essential: false, fileSize: 9, applicationGroupIdentifier: "group",
      priority: .default)
    // One byte too many, so that it is refused and nothing else is sent in its place.
    #expect(download.record.httpBody == bytes.prefix(65_537))
  }

  @Test func infoRoundTrip() throws {
    let info = BAAppExtensionInfo(restrictedDownloadSizeRemaining: 5, restrictedEssentialDownloadSizeRemaining: nil)
    let data = try NSKeyedArchiver.archivedData(withRootObject: info, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: BAAppExtensionInfo.self, from: data))
    #expect(copy.restrictedDownloadSizeRemaining == 5 && copy.restrictedEssentialDownloadSizeRemaining == nil)
  }

  @Test func removingEssentialMakesANewDownload() throws {
    let download = make()
    download.move(to: .failed)
    let again = download.removingEssential()
    #expect(!again.isEssential && again.state == .created && again.identifier == "name")
    #expect(again.uniqueIdentifier != download.uniqueIdentifier && Set<BADownload>([download, again]).count == 2)
    #expect(try #require(download.copy() as? BAURLDownload) == download)
  }

  @Test("the manifest's download is of a subclass [L5]") func manifestIsASubclass() {
    let manifest: BADownload = ManifestDownload(record: make().record, state: .failed)
    #expect(type(of: manifest) != BAURLDownload.self)
    #expect(manifest is BAURLDownload)
    #expect(type(of: manifest.removingEssential()) == ManifestDownload.self)
  }

  @Test("raw values, error codes and the error domain [L15]") func rawValues() {
    #expect(BADownload.State(rawValue: -1) == .failed && BADownload.State(rawValue: 3) == .finished)
    #expect(BAContentRequest(rawValue: 4) == .languageChange && BAContentRequest(rawValue: 0) == nil)
    #expect(
      BAErrorDomain == "BAErrorDomain" && BAErrorCode(rawValue: 206) == .sessionDownloadNotPermittedBeforeAppLaunch)
  }
}

@Suite(.timeLimit(.minutes(1))) struct DelegateDefaultsTests {
  private let download = BAURLDownload(
    identifier: "name", request: URLRequest(url: URL(string: "https://e.com/a")!), fileSize: 1,
    applicationGroupIdentifier: "group")

  private final class Silent: NSObject, BADownloadManagerDelegate {}

  private final class Closure: NSObject, BADownloadManagerDelegate {
    func download(
      _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) { completionHandler(.rejectProtectionSpace, nil) }
  }

  @Test("the default of a delegate's method marks the event as unhandled [L2]") func defaultsMarkTheEventUnhandled() {
    let session = DownloadSession()
    let silent: any BADownloadManagerDelegate = Silent()
    let error = NSError(domain: NSURLErrorDomain, code: -999)
    #expect(DelegateEvent.isHandled { session.download(download, failedWithError: error) })
    #expect(session.failures == ["name": -999])
    let file = URL(fileURLWithPath: "/nowhere")
    #expect(!DelegateEvent.isHandled { session.download(download, finishedWithFileURL: file) })
    #expect(!DelegateEvent.isHandled { silent.download(download, failedWithError: error) })
    #expect(!DelegateEvent.isHandled { silent.downloadDidBegin(download) })
  }

  @Test func bothSpellingsOfTheChallengeAreOneMethod() async {
    func ask(_ delegate: any BADownloadManagerDelegate) async -> (Bool, URLSession.AuthChallengeDisposition?) {
      var answer: URLSession.AuthChallengeDisposition?
      let handled = await DelegateEvent.isAnswered {
        answer = await delegate.download(download, didReceive: URLAuthenticationChallenge(copying: .init())).0
      }
      return (handled, answer)
    }
    #expect(await ask(Silent()) == (false, .performDefaultHandling))
    #expect(await ask(Closure()) == (true, .rejectProtectionSpace))
    #expect(await ask(DownloadSession()) == (true, .cancelAuthenticationChallenge))
  }

  @Test func managerHoldsItsDelegateWeakly() {
    var delegate: Silent? = Silent()
    let manager = BADownloadManager()
    manager.delegate = delegate
    #expect(manager.delegate === delegate)
    delegate = nil
    #expect(manager.delegate == nil)
  }
}
