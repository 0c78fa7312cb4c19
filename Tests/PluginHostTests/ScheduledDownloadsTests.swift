import AssetModel
import Testing

@testable import PluginHost

@Suite struct ScheduledDownloadsTests {
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
    #expect(scheduled.bytes <= ScheduledDownloads.mostBytes)
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
}
