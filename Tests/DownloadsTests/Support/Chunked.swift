import AssetModel
import DevelopmentOrigin
import Foundation
import Hashing
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

extension Trial {
  static let chunkSize = 64 << 10
  static let bytes = Data(content.bytes(in: 0..<size))

  /// The chunk list of the trial's content.
  static let chunks: ChunkList = chunks(of: bytes)

  static func chunks(of data: Data, size chunkSize: Int = chunkSize) -> ChunkList {
    let digests = stride(from: 0, to: data.count, by: chunkSize).flatMap {
      RunningHash.digest(.sha256, of: data[$0..<min($0 + chunkSize, data.count)])
    }
    return ChunkList(chunkSize: Int64(chunkSize), totalSize: Int64(data.count), digests: digests)!
  }
}

extension Harness {
  /// Where a partial file lies.
  static func staging(_ folder: String, app: String = "app", identifier: String = "file", generation: Int = 1) -> String
  {
    let name = Destination.stagingName(app: app, identifier: identifier, generation: generation)
    return "\(folder)/.outrider/\(Destination.digest([app], length: 16))/\(name)"
  }

  /// A folder with the staging directory of an app, as an earlier engine would have left it.
  static func folderWithStaging(app: String = "app") throws -> String {
    let folder = try Files.temporaryDirectory(in: ProcessFolder.path, prefix: "downloads-")
    let staging = "\(folder)/.outrider/\(Destination.digest([app], length: 16))"
    try Files.makeDirectories(staging, mode: 0o700)
    return folder
  }
}

extension AsyncStream where Element == DownloadEvent {
  /// Waits until a job waits, and says why.
  func waiting(_ id: JobID) async throws -> Explanation {
    for await event in self {
      switch event {
      case .waiting(id, let explanation): return explanation
      case .finished(id, _), .failed(id, _), .cancelled(id): throw Unexpected("\(event)")
      default: break
      }
    }
    throw Unexpected("the engine was closed")
  }

  /// Waits for an event of one kind.
  func first(_ isWanted: (DownloadEvent) -> Bool) async throws -> DownloadEvent {
    for await event in self where isWanted(event) { return event }
    throw Unexpected("the engine was closed")
  }
}

/// Looks until something is so; the pause lets others work. What never comes fails the test instead of holding it up.
func until(
  within limit: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < end else {
      Issue.record("it didn't come to that", sourceLocation: sourceLocation)
      throw Unexpected("waited for \(limit)")
    }
    try await Task.sleep(for: .milliseconds(2))
  }
}

extension DownloadEngine {
  func received(_ id: JobID, _ bytes: Int64, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await until(sourceLocation: sourceLocation) { await progress(of: id)?.received ?? 0 >= bytes }
  }

  func isHeld(_ id: JobID, by code: Explanation.Code, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await until(sourceLocation: sourceLocation) { await explain(id)?.code == code }
  }
}
