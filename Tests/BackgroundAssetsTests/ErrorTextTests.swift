import CExtension
import Foundation
import Testing

@testable import BackgroundAssets

/// An app's log is often all that its author sees of a failure, and `"\(error)"` is what is written there.
@Suite(.timeLimit(.minutes(1))) struct ErrorTextTests {
  private static let errors: [any Error] = {
    let date = Date(timeIntervalSince1970: 0)
    return [
      FrameworkError.foregroundFromInactiveProcess("a"), FrameworkError.schedulingDuringContentRequest("a"),
      FrameworkError.foregroundFromExtension("a"), FrameworkError.essentialNotPermitted("a"),
      FrameworkError.exclusiveControlTimedOut(date),
      FrameworkError.answered(101, to: "Call", fallback: .downloadInvalid),
      FrameworkError.answered(-7, to: "Call", fallback: .downloadInvalid),
      FileManager.failure(.fileWriteUnknown, at: URL(fileURLWithPath: "/a")),
      delivered("NSURLErrorDomain", -1001, "timed out"), delivered("BAErrorDomain", 102, "the URL isn't https"),
    ]
  }()

  private static func delivered(_ domain: StaticString, _ code: Int64, _ text: StaticString) -> any Error {
    ba_error(
      size: UInt32(MemoryLayout<ba_error>.size), reserved: 0, code: code, domain: literal(domain),
      description: literal(text)
    ).value
  }

  @Test("every error says why where it is printed", arguments: errors.indices) func saysWhy(index: Int) {
    let error = Self.errors[index]
    #expect(!"\(error)".contains("(null)") && !(error as NSError).description.contains("(null)"))
    #expect((error as NSError).localizedFailureReason?.isEmpty == false)
    #expect(!"\(error)".isEmpty && !error.localizedDescription.isEmpty)
  }

  @Test("a rejection keeps the host's reason and has the URL's error underneath") func rejectionKeepsItsReason() {
    let download = BAURLDownload(
      identifier: "a", request: URLRequest(url: URL(string: "http://e.com/a")!), fileSize: 1,
      applicationGroupIdentifier: "group")
    let error = download.record.explaining(Self.delivered("BAErrorDomain", 102, "the host's reason")) as NSError
    #expect(error.localizedDescription == "the host's reason" && error.localizedFailureReason == "the host's reason")
    let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
    #expect(underlying?.domain == NSURLErrorDomain && underlying?.code == -1002)
    // What a host doesn't explain is explained here.
    let bare = download.record.explaining(Self.delivered("BAErrorDomain", 102, "")) as NSError
    #expect(bare.localizedDescription.contains("http://e.com/a"))
  }

  @Test(
    "a process is named after its library",
    arguments: [
      ("/bundle/libDownloader.so", "Downloader"), ("catalog.so", "catalog"), ("/a/lib.so", "lib.so"), ("/a/b", "b"),
      ("/a/libx.so.1", "libx.so.1"), ("", ""),
    ])
  func processName(path: String, expected: String) { #expect(ProcessName.name(ofLibrary: path) == expected) }
}
