import AssetModel
import DevelopmentOrigin
import Downloads
import Foundation
import Hashing
import LinuxSystem
import Testing

/// One download from a scripted origin, with the invariants that hold in every case.
struct Trial {
  static let size = (3 << 20) + 17
  static let content = Content.pseudoRandom(seed: 42, count: size)
  static let path = "/file"

  let harness: Harness
  let end: Harness.End
  let record: JobRecord
  let requests: [RecordedRequest]
  let data: Data?

  /// What the origin has, for the digest of one version.
  static func digest(_ content: Content, count: Int) -> ContentDigest {
    let bytes =
      count == content.count ? content.digest() : RunningHash.digest(.sha256, of: content.bytes(in: 0..<count))
    return ContentDigest(.sha256, bytes: bytes)!
  }

  static let digest = digest(content, count: size)

  /// Serves `content` with what `reply` makes of it, fetches it once and checks what always has to hold.
  static func run(
    _ transferClass: TransferClass = .foreground, declares: Int64? = nil, digest: ContentDigest? = nil,
    essential: Bool = false,
    content: Content = content, versions: [Content] = [], journal: MemoryJournal = MemoryJournal(),
    clock: TestClock = TestClock(),
    files: any FileOperations = SystemFiles(), configure: ((inout OriginConfiguration) -> Void)? = nil,
    options: ((inout EngineOptions) -> Void)? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply?
  ) async throws -> Trial {
    let all = [content] + versions
    let origin = try Origin {
      $0.resources[path] = Resource(versions: all)
      $0.handler = reply
      configure?(&$0)
    }
    defer { origin.stop() }
    let harness = try Harness(journal: journal, clock: clock, files: files) { options?(&$0) }
    let specification = harness.specification(
      origin.url(path), transferClass, size: declares, digest: digest, essential: essential)
    let end = try await harness.fetch(specification)
    let record = try #require(try journal.job(app: "app", identifier: "file"), sourceLocation: sourceLocation)
    await harness.engine.close()
    let data = harness.contents()
    let versionBytes = all.map { Data($0.bytes(in: 0..<$0.count)) }
    switch end {
    case .finished(_, let count):
      #expect(
        data != nil && versionBytes.contains(data ?? Data()), "the file is one version, to the byte",
        sourceLocation: sourceLocation)
      #expect(data?.count == Int(count), sourceLocation: sourceLocation)
      if let digest {
        #expect(RunningHash.digest(.sha256, of: data ?? Data()) == digest.bytes, sourceLocation: sourceLocation)
      }
      #expect(record.state == .finished, sourceLocation: sourceLocation)
    case .failed, .cancelled:
      #expect(data == nil, "nothing unverified is handed over", sourceLocation: sourceLocation)
    }
    #expect(
      harness.staged.isEmpty == (end.failure?.keptBytes == nil), "what stays is told, and nothing else stays",
      sourceLocation: sourceLocation)
    #expect(journal.state.withLock { $0.deliveries.count } == 1, "one callback", sourceLocation: sourceLocation)
    return Trial(harness: harness, end: end, record: record, requests: origin.requests, data: data)
  }

  var isFinished: Bool { if case .finished = end { true } else { false } }
  var failure: TransferFailure.Reason? { if case .failed(let failure) = end { failure.reason } else { nil } }
  var ranges: [String?] { requests.map { $0.header("Range") } }
}

extension Reply {
  static func with(_ change: (inout Reply) -> Void) -> Reply {
    var reply = Reply()
    change(&reply)
    return reply
  }

  /// 206 with the first bytes of what is asked for.
  static func part(of request: RecordedRequest, atMost count: Int) -> Reply? {
    guard let range = request.header("Range")?.dropFirst("bytes=".count).split(separator: "-"),
      let first = range.first.flatMap({ Int($0) })
    else { return nil }
    let last = min(range.count > 1 ? Int(range[1]) ?? .max : .max, Trial.size - 1, first + count - 1)
    return .with {
      $0.status = 206
      $0.removedHeaders = ["Repr-Digest"]
      $0.setHeaders = [
        HeaderField("Content-Range", "bytes \(first)-\(last)/\(Trial.size)"), HeaderField("ETag", "\"1\""),
      ]
      $0.body = .bytes(Array(Trial.bytes[first...last]))
    }
  }

  /// Cut in the middle, so that there is something to resume.
  static var half: Reply { .cut(after: .byte(2 << 20)) }
}
