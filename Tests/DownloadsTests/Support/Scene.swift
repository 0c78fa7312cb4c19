import AssetModel
import DevelopmentOrigin
import Downloads
import Foundation
import Testing

/// A download that a test watches and meddles with while it runs: one origin, one engine, one job.
struct Scene {
  let origin: Origin
  let harness: Harness
  let id: JobID
  private let events: AsyncStream<DownloadEvent>

  var clock: TestClock { harness.clock }
  var engine: DownloadEngine { harness.engine }

  init(
    _ transferClass: TransferClass = .foreground, size: Int64? = nil, digest: ContentDigest? = nil,
    clock: TestClock = TestClock(), journal: MemoryJournal = MemoryJournal(),
    conditions: MachineConditions = MachineConditions(),
    specification change: ((inout DownloadSpecification) -> Void)? = nil,
    configure: ((inout OriginConfiguration) -> Void)? = nil, options: ((inout EngineOptions) -> Void)? = nil,
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply?
  ) async throws {
    origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = reply
      configure?(&$0)
    }
    harness = try Harness(journal: journal, clock: clock) { options?(&$0) }
    events = harness.engine.events
    harness.engine.setConditions(conditions)
    var specification = harness.specification(origin.url(Trial.path), transferClass, size: size, digest: digest)
    change?(&specification)
    guard case .added(let id, _) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("not added")
    }
    self.id = id
  }

  /// Waits for an event; a settled job before that is an error.
  @discardableResult
  func event(_ isWanted: (DownloadEvent) -> Bool) async throws -> DownloadEvent {
    for await event in events {
      if isWanted(event) { return event }
      switch event {
      case .finished, .failed, .cancelled: throw Unexpected("\(event)")
      default: break
      }
    }
    throw Unexpected("the engine was closed")
  }

  func isWaiting() async throws -> Explanation {
    guard case .waiting(_, let explanation) = try await event({ if case .waiting = $0 { true } else { false } }) else {
      throw Unexpected("no wait")
    }
    return explanation
  }

  func end() async throws -> Harness.End { try await harness.end(of: id, in: events) }

  /// Moves the clock; the engine looks at it when it is asked something.
  func advance(by step: Duration) async {
    // What the engine was told before is taken before the clock goes on.
    _ = await engine.progress(of: id)
    clock.advance(by: step)
    _ = await engine.progress(of: id)
  }

  /// Ends everything and gives the record back.
  func close() async throws -> JobRecord {
    await engine.close()
    origin.stop()
    return try #require(try harness.journal.job(id))
  }

  var isWhole: Bool { harness.contents() == Data(Trial.content.bytes(in: 0..<Trial.size)) }
}

extension Harness.End {
  var isFinished: Bool { if case .finished = self { true } else { false } }
  var reason: TransferFailure.Reason? { if case .failed(let failure) = self { failure.reason } else { nil } }
  var failure: TransferFailure? { if case .failed(let failure) = self { failure } else { nil } }
}
