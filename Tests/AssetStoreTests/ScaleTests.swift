import AssetModel
import AssetStore
import Foundation
import TestSupport
import Testing

/// A store of many jobs is used and opened without a look at each. What it costs is printed, never asserted: a test machine may
/// be busy.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct ScaleTests {
  @Test(arguments: [("/tmp", 5000), ("/dev/shm", 20_000)]) func manyJobs(root: String, number: Int) throws {
    let folder = try AssetStoreTests.Folder(in: root)
    let clock = ContinuousClock()
    var store = try AssetStore(opening: folder.path)
    let specifications = (0..<number).map { number in
      DownloadSpecification(
        app: "com.example.app\(number % 200)", identifier: "asset-\(number)",
        url: "https://cdn\(number % 50).example.com/assets/\(number).bin", transferClass: .background,
        declaredSize: 1 << 20, directory: "/tmp", fileName: "asset-\(number)", budget: "app")
    }
    var results: [AddResult] = []
    let adding = try clock.measure { results = try store.add(specifications, now: AssetStoreTests.moment()) }
    #expect(results.allSatisfy { $0.job != nil })
    let duplicates = try clock.measure {
      let again = try store.add(Array(specifications.prefix(1000)), now: AssetStoreTests.moment())
      #expect(again.allSatisfy { $0.job == nil })
    }
    var count = 0
    let reading = try clock.measure { try store.forEachOpenJob { _ in count += 1 } }
    #expect(count == number)
    var jobs = try (1...200).map { try #require(try store.job(JobID($0))) }
    let single = try clock.measure {
      for index in jobs.indices {
        jobs[index].receivedBytes += 1000
        try store.commit([.job(jobs[index])])
      }
    }
    let batches = try clock.measure {
      for _ in 0..<20 { try store.commit(jobs.map { .job($0) }) }
    }
    let closing = try clock.measure { try store.close() }
    let opening = try clock.measure { store = try AssetStore(opening: folder.path) }
    #expect(!store.recovery.wasChecked)
    try store.close()
    print(
      "\(number) in \(root): add \(adding), 1000 duplicates \(duplicates), read \(reading), 200 commits \(single), 4000 changes in 20 commits \(batches), close with backup \(closing), open \(opening)"
    )
  }
}
