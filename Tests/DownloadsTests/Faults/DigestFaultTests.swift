import AssetModel
import Downloads
import Foundation
import Testing

@testable import DevelopmentOrigin

/// Group A of the fault corpus: what servers say of a file's digest.
@Suite(.timeLimit(.minutes(2))) struct DigestFaultTests {
  @Test("F-26 a wrong file fails with both digests") func bothDigests() async throws {
    let wrong = try #require(ContentDigest(hex: String(repeating: "0", count: 64)))
    let trial = try await Trial.run(digest: wrong) { _, _ in nil }
    guard case .failed(let failure) = trial.end else { throw POSIXError(.EINVAL) }
    #expect(failure.reason == .digestMismatch)
    #expect(failure.detail.contains("sha-256 is \(Trial.digest.hex), expected was \(wrong.hex)"), "\(failure.detail)")
  }

  @Test("F-26 digest fields", arguments: Reply.DigestFault.allCases) func digestField(fault: Reply.DigestFault)
    async throws
  {
    let trial = try await Trial.run { _, _ in .with { $0.digest = fault } }
    #expect(trial.isFinished == (fault == .unknownAlgorithm), "\(trial.end)")
    if fault != .unknownAlgorithm { #expect(trial.failure == .digestMismatch) }
  }

  @Test("F-26 a digest that comes only with the rest", arguments: [true, false]) func digestWithTheRest(isRight: Bool)
    async throws
  {
    let trial = try await Trial.run { _, nth in
      .with {
        if nth == 2 {
          if !isRight { $0.digest = .wrong }
        } else {
          $0.removedHeaders = ["Repr-Digest"]
        }
        if nth % 2 == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished == isRight, "\(trial.end)")
    if isRight { #expect(trial.requests.count == 2) } else { #expect(trial.failure == .digestMismatch) }
  }

  @Test("F-26 a digest that came with a part in the middle isn't forgotten", arguments: [true, false])
  func digestInTheMiddle(isRight: Bool) async throws {
    let trial = try await Trial.run { _, nth in
      .with {
        if nth % 3 != 2 { $0.removedHeaders = ["Repr-Digest"] } else if !isRight { $0.digest = .wrong }
        // Of what is sent, and each brings a third.
        if nth % 3 != 0 { $0.ending = .init(.close, after: .byte(1 << 20)) }
      }
    }
    #expect(trial.isFinished == isRight, "\(trial.end)")
    if isRight { #expect(trial.requests.count >= 3) } else { #expect(trial.failure == .digestMismatch) }
  }

  @Test("F-26 another digest with the rest: both have to hold") func secondDigestWithTheRest() async throws {
    let trial = try await Trial.run { _, nth in
      if nth == 1 { return .half }
      let wrong = ContentDigest(.sha512, bytes: [UInt8](repeating: 1, count: 64))!
      return .with {
        $0.setHeaders = [HeaderField("Repr-Digest", "sha-512=:\(Data(wrong.bytes).base64EncodedString()):")]
      }
    }
    #expect(trial.failure == .digestMismatch, "\(trial.end)")
  }
}
