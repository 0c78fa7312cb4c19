import Basics
import Foundation
import ServiceMachines
import ServiceProtocol
import TestSupport
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(2))) struct ScheduledDownloadTests {
  private static func random(_ random: inout SeededGenerator) -> ScheduledDownload {
    func text() -> String { ["", "a", "session-1", "ü|\\\n\0", String(repeating: "x", count: 300)][random.below(5)] }
    func number() -> Int64? { (random.below(100) < 50) ? nil : [0, 1, .max, .min, 65536][random.below(5)] }
    let unique = UUID().uuidString
    let value = DownloadValue(
      identifier: text(), uniqueIdentifier: unique, url: text(), httpMethod: (random.below(100) < 80) ? "GET" : "POST",
      httpHeaders: (random.below(100) < 30) ? [text(): text(), "b": text()] : [:],
      httpBody: (random.below(100) < 20) ? Data(text().utf8) : nil, applicationGroupIdentifier: text(),
      fileSize: number(),
      isEssential: (random.below(100) < 30), priority: random.below(201) - 100, isManifest: (random.below(100) < 10),
      state: random.below(5) - 1)
    var entry: DownloadRegistry.Entry?
    if random.below(100) < 80 {
      entry = DownloadRegistry.Entry(
        download: PlannedDownload(
          uniqueIdentifier: unique, identifier: (random.below(100) < 80) ? value.identifier : text(), size: number(),
          priority: random.below(201) - 100, host: text()),
        state: [.failed, .created, .waiting, .downloading, .finished][random.below(5)],
        ownUrgency: [.foreground, .essential, .background][random.below(3)],
        owner: [.app, .extension, .service][random.below(3)],
        generation: (random.below(100) < 50) ? nil : random.below(9),
        promotedBy: (random.below(100) < 20) ? [1, 2, .max] : [], isPaused: (random.below(100) < 30),
        isManifest: (random.below(100) < 10), isCancelling: (random.below(100) < 10),
        isKnownToEngine: (random.below(100) < 50))
    }
    var download = ScheduledDownload(
      value: value, entry: entry,
      failure: (random.below(100) < 20) ? .framework(100, text(), remedy: (random.below(100) < 50) ? text() : nil) : nil
    )
    download.isDiscarded = random.below(100) < 10
    download.isUndelivered = random.below(100) < 10
    download.hasFreshAnswer = random.below(100) < 10
    return download
  }

  @Test("A download comes back from its row as it was, and what is no row of one is nothing", arguments: [1, 2, 3])
  func rows(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var names = SharedNames()
    for _ in 0..<2000 {
      let download = Self.random(&random)
      let row = download.row
      #expect(ScheduledDownload(row: row, &names) == download)
      let cut = random.below(row.count)
      #expect(ScheduledDownload(row: Array(row[..<cut]), &names) == nil)
      #expect(ScheduledDownload(row: row + [0], &names) == nil)
      // Whatever the bytes are, it is one or none.
      var changed = row
      changed[random.below(row.count)] = UInt8(random.below(256))
      _ = ScheduledDownload(row: changed, &names)
    }
    #expect(ScheduledDownload(row: Array("{}".utf8), &names) == nil)
  }

  @Test("What a transfer was is gone with the service, and what isn't known takes no room") func transfer() {
    var names = SharedNames()
    let value = DownloadValue(
      identifier: "a", uniqueIdentifier: "u", url: "https://example.com/a", applicationGroupIdentifier: "g",
      fileSize: nil)
    var download = ScheduledDownload(value: value)
    let before = download
    download.transfer.received = 9
    #expect(download.transfer.received == 9 && download != before)
    #expect(ScheduledDownload(row: download.row, &names) == before)
    download.transfer = TransferFacts()
    #expect(download == before)
    #expect(MemoryLayout<ScheduledDownload>.stride <= 336)
  }
}
