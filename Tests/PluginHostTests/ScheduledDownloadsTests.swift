import AssetModel
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ScheduledDownloadsTests {
  private func download(_ identifier: String, body: Int = 0) -> Download {
    Download(
      identifier: identifier, url: "https://assets.example.com/1", body: Array(repeating: 0, count: body),
      applicationGroupIdentifier: "group.game", fileSize: 10)
  }

  @Test func keepsToItsBytes() {
    var scheduled = ScheduledDownloads()
    var accepted = 0
    while scheduled.add(download("large-\(accepted)", body: 60_000)) == 0 { accepted += 1 }
    #expect(accepted == (1 << 20) / 60_200)
    #expect(scheduled.bytes <= ScheduledDownloads.maxBytes)
    #expect(scheduled.add(download("small")) == 0)
  }

  @Test func whatIsCancelledIsGivenBack() {
    var scheduled = ScheduledDownloads()
    for round in 0..<100 {
      #expect(scheduled.add(download("a", body: 60_000)) == 0, "round \(round)")
      #expect(scheduled.add(download("a")) == 100)
      #expect(scheduled.cancel("a") == 0)
    }
    #expect(scheduled.cancel("a") == 101)
    #expect(scheduled.bytes == 0)
    #expect(scheduled.downloads.isEmpty)
  }

  @Test func whatTheRulesRefuseIsntKept() {
    var scheduled = ScheduledDownloads()
    #expect(scheduled.add(download("a", body: 70_000)) == 102)
    #expect(scheduled.bytes == 0)
  }

  /// Whatever it was when the plugin handed it in: a finished one may be scheduled again, and C plugins give no UUID.
  @Test func whatIsKeptWaitsUnderAnIdentifierOfItsOwn() {
    var scheduled = ScheduledDownloads()
    var finished = download("a")
    (finished.state, finished.uniqueIdentifier) = (3, "its-own")
    #expect(scheduled.add(finished) == 0 && scheduled.add(download("b")) == 0)
    #expect(scheduled.downloads.map(\.state) == [1, 1])
    #expect(scheduled.downloads[0].uniqueIdentifier == "its-own")
    #expect(scheduled.downloads[1].uniqueIdentifier.utf8.count == 36)
  }

  @Test func whatTheHostTookOnIsCurrentUntilItFinishes() {
    var scheduled = ScheduledDownloads()
    scheduled.adopt([download("a"), download("b")])
    #expect(scheduled.add(download("a")) == 100 && scheduled.add(download("c")) == 0)
    #expect(scheduled.current.map(\.identifier) == ["a", "b", "c"])
    #expect(scheduled.downloads.map(\.identifier) == ["c"])
    scheduled.finish("a")
    scheduled.finish("c")
    #expect(scheduled.cancel("b") == 0 && scheduled.cancel("c") == 101)
    #expect(scheduled.current.isEmpty && scheduled.downloads.map(\.identifier) == ["c"])
    #expect(scheduled.add(download("c")) == 0 && scheduled.add(download("a")) == 0)
    #expect(scheduled.current.map(\.identifier) == ["c", "a"])
  }

  @Test func whatTheHostTookOnIsListedWithinTheSameBytes() {
    var scheduled = ScheduledDownloads()
    scheduled.adopt((0..<40).map { download("large-\($0)", body: 60_000) })
    #expect(scheduled.current.count == (1 << 20) / 60_200)
    #expect(scheduled.add(download("large-39")) == 100)
  }
}
