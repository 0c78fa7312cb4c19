import AssetModel
import Basics
import DevelopmentOrigin
import Foundation
import Testing

@testable import Downloads

/// Random bad days, each from its seed: the file is one version to the byte, or a failure is reported. `Trial` checks both.
@Suite(.timeLimit(.minutes(2))) struct DifferentialTests {
  static let scriptsPerBatch = 50

  @Test(arguments: 0..<42) func randomScripts(batch: Int) async throws {
    for script in 0..<Self.scriptsPerBatch {
      try await run(seed: UInt64(batch * Self.scriptsPerBatch + script))
    }
  }

  private func run(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let count = [0, 1, 1000, 70_000, 1 << 20, (1 << 20) + 1, 2_500_000][Int(random.next() % 7)]
    let content = Content.pseudoRandom(seed: seed, count: count)
    let hasSecondVersion = random.next() % 3 == 0
    let second = Content.pseudoRandom(seed: seed ^ 0xffff, count: random.next() % 2 == 0 ? count : count + 17)
    let versions = hasSecondVersion ? [second] : []
    let current = hasSecondVersion ? second : content
    let knowsDigest = random.next() % 2 == 0
    let isExact = random.next() % 3 == 0
    let faults = (0..<Int(random.next() % 5)).map { _ in Self.fault(&random, count, versions.isEmpty ? 1 : 2) }
    // A length that is too small can't be told from a right one by anything but a digest.
    let isShort = faults.contains { $0.length == .off(by: -5) }
    let hidesDigest = random.next() % 2 == 0 && !isShort
    let trial = try await Trial.run(
      declares: isExact ? Int64(current.count) : nil,
      digest: knowsDigest ? Trial.digest(current, count: current.count) : nil,
      essential: isExact, content: content, versions: versions
    ) { _, nth in
      var reply = nth <= faults.count ? faults[nth - 1] : Reply()
      if hidesDigest { reply.removedHeaders.append("Repr-Digest") }
      return reply
    }
    if trial.isFinished,
      !([content] + versions).contains(where: { (trial.data ?? Data()) == Data($0.bytes(in: 0..<$0.count)) })
    {
      Issue.record(
        "seed \(seed): \(trial.data?.count ?? -1) of \(count) bytes after \(faults), declared \(isExact), digest \(knowsDigest), hidden \(hidesDigest)"
      )
    }
    // Without a permanent fault the current version must arrive in the end.
    if faults.isEmpty { #expect(trial.isFinished, "seed \(seed): \(trial.end)") }
    if trial.isFinished, knowsDigest { #expect(trial.data?.count == current.count, "seed \(seed)") }
    #expect(trial.requests.count <= 40, "seed \(seed): \(trial.requests.count) requests")
    // The charge: all that a finished file has, and no more than was asked for; heads are below 4 KiB here.
    let charge = trial.record.receivedBytes
    let most = Int64(trial.requests.count) * Int64(max(count, second.count) * 101 / 100 + 4096)
    #expect(charge <= most && charge >= (trial.data?.count ?? 0), "seed \(seed): charged \(charge) of \(most)")
    if let reason = trial.failure {
      let isLawful = Self.mayEnd(
        reason, faults, isExact: isExact, knowsDigest: knowsDigest,
        hasOther: second.count != count && hasSecondVersion)
      #expect(isLawful, "seed \(seed): \(trial.end) after \(faults)")
    }
  }

  /// What a script may come to, but for the file: everything else in it passes within the attempts that there are.
  private static func mayEnd(
    _ reason: TransferFailure.Reason, _ faults: [Reply], isExact: Bool, knowsDigest: Bool, hasOther: Bool
  ) -> Bool {
    faults.contains { fault in
      switch reason {
      case .refused: fault.redirect == .loop || fault.framing == .untilClose
      case .sizeMismatch: isExact && (hasOther || fault.length != nil || fault.isGzipped)
      case .digestMismatch:
        fault.digest != nil && fault.digest != .unknownAlgorithm || fault.length == .off(by: -5)
          || knowsDigest && fault.entity?.version == 1
      case .hostileResponse: fault.isGzipped
      default: false
      }
    }
  }

  static func fault(_ random: inout SeededGenerator, _ count: Int, _ versions: Int) -> Reply {
    var reply = Reply()
    if versions > 1, random.next() % 2 == 0 {
      reply.entity = .init(
        version: Int(random.next() % 2) + 1, tag: [.new, .same, .weak, .none][Int(random.next() % 4)])
      // A server that lies about versions with one tag can't be found out without a digest; that isn't this test's matter.
      if reply.entity?.tag == .same { reply.entity?.tag = .new }
    }
    switch random.next() % 16 {
    case 0: reply.status = [500, 502, 503, 408, 429][Int(random.next() % 5)]
    case 1, 2, 3:
      reply.ending = .init(
        [.close, .reset][Int(random.next() % 2)], after: .byte(Int(random.next() % UInt64(count + 1))))
    case 4: reply.range = .ignored
    case 5: reply.range = .unasked(nil)
    case 6: reply.range = .refused(contentRange: random.next() % 2 == 0)
    case 7:
      reply.range = .shifted(
        start: Int(random.next() % 3) - 1, end: Int(random.next() % 3) - 1, total: Int(random.next() % 3) - 1)
    case 8: reply.length = [.off(by: 5), .off(by: -5), .twice, .contradicting, .withChunked][Int(random.next() % 5)]
    case 9: reply.framing = [.chunked, .untilClose, .withoutLastChunk, .badChunkSize][Int(random.next() % 4)]
    case 10: reply.isGzipped = true
    case 11: reply.redirect = [.hops(Int(random.next() % 4)), .loop][Int(random.next() % 2)]
    case 12:
      reply.retryAfter = [.seconds(3), .date(-5), .text("soon")][Int(random.next() % 3)]
      reply.status = 503
    case 13: reply.digest = [.wrong, .unknownAlgorithm, .disagreeing][Int(random.next() % 3)]
    case 14: reply.garbage = 500
    default: break
    }
    return reply
  }
}
