import AssetModel
import Basics
import HostProtocol
import TestSupport

/// Values of every kind that crosses a channel, with the edges more often than chance gives them.
extension SeededGenerator {
  mutating func integer<I: FixedWidthInteger & UnsignedInteger>(_: I.Type = I.self) -> I {
    switch below(4) {
    case 0: 0
    case 1: .max
    default: I(truncatingIfNeeded: next())
    }
  }

  mutating func signed<I: FixedWidthInteger & SignedInteger>(_: I.Type = I.self) -> I {
    switch below(5) {
    case 0: 0
    case 1: .max
    case 2: .min
    default: I(truncatingIfNeeded: next())
    }
  }

  mutating func text() -> String {
    let words = ["", "a", "com.example.game", "é", "e\u{301}", "\u{0}", "日本", "🎮", "\u{202e}", "/tmp/x", "\r\n"]
    return (0..<below(4)).map { _ in words[below(words.count)] }.joined()
  }

  mutating func bytes() -> [UInt8] { (0..<below(12)).map { _ in UInt8(truncatingIfNeeded: next()) } }

  mutating func list<T>(_ make: (inout SeededGenerator) -> T) -> [T] {
    var values: [T] = []
    for _ in 0..<below(4) { values.append(make(&self)) }
    return values
  }

  mutating func maybe<T>(_ make: (inout SeededGenerator) -> T) -> T? { chance(3) ? nil : make(&self) }

  mutating func download() -> Download {
    Download(
      identifier: text(), uniqueIdentifier: text(), url: text(), method: text(), body: bytes(),
      headers: list { .init(name: $0.text(), value: $0.text()) }, applicationGroupIdentifier: text(),
      fileSize: maybe { $0.signed() }, isEssential: chance(2), priority: signed(), isManifest: chance(2),
      state: signed())
  }

  mutating func value() -> CallValue {
    switch below(8) {
    case 0: .void
    case 1: .signed(signed())
    case 2: .unsigned(integer())
    // NaN isn't equal to itself; it has a test of its own.
    case 3: .single(Float(below(1000)) / 8)
    case 4: .double(-Double(below(1000)) / 8)
    case 5: .pointer(integer())
    case 6: .cstring(maybe { $0.bytes() })
    default: .bytes(bytes())
    }
  }

  /// At most 1,600 bytes.
  mutating func layout(depth: Int = 0) -> CallLayout {
    switch depth < 4 ? below(4) : 3 {
    case 0: .structure((0...below(3)).map { _ in layout(depth: depth + 1) })
    case 1: .array(layout(depth: depth + 2), count: 1 + below(5))
    default: .scalar(CallLayout.Scalar.allCases[below(CallLayout.Scalar.allCases.count)])
    }
  }

  mutating func challenge() -> ChallengeDescription {
    .init(
      host: text(), port: signed(), protocolName: text(), realm: text(), authenticationMethod: text(),
      previousFailureCount: signed())
  }

  mutating func decision() -> ChallengeDecision {
    let words = ["", "user", "é🎮", String(repeating: "x", count: 255)]
    let credential = maybe { ChallengeDecision.Credential(user: words[$0.below(4)], password: words[$0.below(4)]) }
    return ChallengeDecision(ChallengeDecision.Disposition.allCases[below(4)], credential ?? nil)
  }

  mutating func delegateCall() -> DelegateCall {
    switch below(6) {
    case 0: .began(download())
    case 1: .paused(download())
    case 2: .progress(download(), totalWritten: signed(), totalExpected: signed())
    case 3: .challenge(download(), challenge())
    case 4: .failed(download(), .init(domain: text(), code: signed(), description: text()))
    default: .finished(download(), path: text())
    }
  }

  mutating func hostMessage() -> HostMessage {
    switch below(8) {
    case 0:
      .load(
        .init(
          path: text(), device: integer(), inode: integer(), isExtension: chance(2), bundleIdentifier: text(),
          bundlePath: text(), containers: list { .init(group: $0.text(), path: $0.text()) }))
    case 1:
      .call(
        .contentRequest(
          kind: ContentRequestKind.allCases[below(4)], manifest: text(), remaining: signed(),
          essentialRemaining: signed()))
    case 2: .call(.downloadFinished(download(), path: text()))
    case 3: .call(.downloadFailed(download(), .init(domain: text(), code: signed(), description: text())))
    case 5: .call(.authenticationChallenge(download(), challenge()))
    case 6: .call(.delegate(delegateCall()))
    case 4: .call(.function(symbol: text(), signature: text(), arguments: list { $0.value() }))
    default: .call(.willTerminate)
    }
  }

  mutating func runnerMessage() -> RunnerMessage {
    switch below(14) {
    case 11:
      .threadFrame(
        thread: integer(),
        .init(index: integer(), library: text(), symbol: text(), symbolOffset: integer(), address: integer()))
    case 12: .threadTold(thread: integer(), name: text())
    case 9:
      .stackFrame(
        .init(index: integer(), library: text(), symbol: text(), symbolOffset: integer(), address: integer()))
    case 10: .answered
    case 13: chance(2) ? .corruptQuestion : .reenteredCallback
    case 7: .ready
    case 8:
      .wildPointer(.init(source: chance(2) ? .result : chance(2) ? .table : .argument, address: integer()))
    case 0: .wallsClosed(.init(failures: list { .init(step: $0.text(), code: $0.signed()) }))
    case 1:
      .loaded(
        .init(
          abiVersion: integer(), name: text(), isSwift: chance(2),
          entryPoints: list { .init(name: $0.text(), signature: $0.text()) }))
    case 2: .loadFailed(text())
    case 3:
      .returned(
        .init(
          value: value(), out: list { $0.bytes() }, downloads: list { $0.download() }, refused: list { $0.text() },
          decision: maybe { $0.decision() }))
    case 4: .entryPointMissing
    case 5: .symbolIsData
    default:
      .crashed(
        .init(
          signal: signed(), address: integer(), instruction: integer(), stackPointer: integer(), library: text(),
          symbol: text(), offset: integer()))
    }
  }

  mutating func serviceRequest() -> ServiceRequest {
    switch below(9) {
    case 8: .callback(number: integer(), arguments: list { $0.value() })
    case 0: .log(level: UInt8(below(5)), subsystem: text(), category: text(), message: text())
    case 1: .schedule(download())
    case 2: .cancel(identifier: text())
    case 3: .currentDownloads
    case 4: .acquireExclusiveControl(timeout: maybe { $0.signed() })
    case 5: .releaseExclusiveControl
    case 6: .beginActivity
    default: .endActivity
    }
  }

  mutating func serviceReply() -> ServiceReply {
    chance(3)
      ? .callback(integer(), filled: list { $0.bytes() })
      : chance(2) ? .status(signed()) : .downloads(list { $0.download() })
  }

  mutating func spawnRequest() -> SpawnRequest {
    SpawnRequest(
      run: integer(), environment: list { $0.text() },
      limits: list { .init(resource: $0.signed(), soft: $0.integer(), hard: $0.integer()) },
      landlock: maybe {
        .init(
          filesystem: $0.integer(), network: $0.integer(), scoped: $0.integer(),
          rules: $0.list { .init(path: $0.text(), rights: $0.integer()) })
      },
      filter: bytes(), hasListener: chance(2), isDumpable: chance(2), joinsCgroup: chance(2), sharesMemory: chance(2),
      attachments: maybe { $0.list { $0.attachment() } }, freshPoints: list { $0.text() },
      suitsSpare: chance(2),
      network: maybe {
        .init(
          listeners: $0.list { .init(address: $0.bytes(), port: $0.integer()) }, hosts: $0.text(),
          bufferBytes: $0.integer())
      }, keepsDescriptors: chance(2), tellsFileLimit: chance(2))
  }

  mutating func serverRequest() -> ServerRequest {
    chance(8)
      ? .prepare
      : chance(8) ? .lease : chance(8) ? .signal(run: integer(), RunSignal.allCases[below(3)]) : .spawn(spawnRequest())
  }

  mutating func attachment() -> SpawnRequest.Attachment {
    let source: SpawnRequest.Attachment.Source =
      switch below(3) {
      case 0: .descriptor
      case 1: .path(text(), device: integer(), inode: integer())
      default: .memory(bytes: integer())
      }
    return .init(source: source, target: text(), attributes: integer(), createsFile: chance(2))
  }

  mutating func serverEvent() -> ServerEvent {
    switch below(7) {
    case 0: .wantsIdentity
    case 4: .prepared
    case 5: .stopped(at: integer())
    case 1:
      .ready(
        .init(
          missing: list { .init(step: $0.text(), code: $0.signed()) }, runtime: list { $0.text() },
          hasPreloaded: chance(2)))
    case 2: .spawned(run: integer(), cpuNanoseconds: integer())
    case 3: .spawnFailed(run: integer(), step: text(), code: signed())
    default:
      .exited(
        .init(
          run: integer(), status: signed(), wasSignalled: chance(2), cpuNanoseconds: integer()))
    }
  }
}
