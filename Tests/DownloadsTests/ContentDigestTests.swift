import AssetModel
import DevelopmentOrigin
import Downloads
import Foundation
import Hashing
import Testing

/// `Content-Digest` (RFC 9530): what a server says of the bytes of one answer.
@Suite(.timeLimit(.minutes(2))) struct ContentDigestTests {
  private static let wrong = HeaderField(
    "Content-Digest", "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):")

  private static func right(_ range: Range<Int>) -> HeaderField {
    let digest = Data(RunningHash.digest(.sha256, of: Data(Trial.content.bytes(in: range))))
    return HeaderField("Content-Digest", "md5=:AAAA:, sha-256=:\(digest.base64EncodedString()):")
  }

  @Test("what the server says of each answer holds") func holds() async throws {
    let trial = try await Trial.run { _, nth in
      .with {
        $0.setHeaders = [Self.right(nth == 1 ? 0..<Trial.size : 2 << 20..<Trial.size)]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished && trial.ranges == [nil, "bytes=2097152-"], "a cut answer says nothing: \(trial.end)")
  }

  @Test("what came isn't what the server says it sent: once more, past every cache") func isWrong() async throws {
    let trial = try await Trial.run { _, nth in nth == 1 ? .with { $0.setHeaders = [Self.wrong] } : nil }
    #expect(trial.isFinished && trial.record.generation == 2 && trial.record.history.digestMismatches == 1)
    #expect(trial.requests.map { $0.header("Cache-Control") } == [nil, "no-cache"])
  }

  @Test("a part that isn't what the server says it sent: what was there before stays") func partIsWrong() async throws {
    let trial = try await Trial.run(digest: Trial.digest) { _, nth in
      switch nth {
      case 1: .half
      case 2: .with { $0.setHeaders = [Self.wrong] }
      default: nil
      }
    }
    #expect(trial.isFinished && trial.record.generation == 1, "\(trial.end)")
    #expect(trial.ranges == [nil, "bytes=2097152-", "bytes=2097152-"])
  }

  @Test(
    "less than was asked for, with a digest of that part: it is taken, and asked again where it isn't what the server says",
    arguments: [nil, 2, 3, 5])
  func parts(wrong: Int?) async throws {
    let trial = try await Trial.run(digest: Trial.digest) { request, nth in
      if nth == 1 { return .half }
      guard var part = Reply.part(of: request, atMost: 300_000), case .bytes(let bytes)? = part.body else { return nil }
      let digest = Data(RunningHash.digest(.sha256, of: Data(bytes)))
      part.setHeaders.append(
        nth == wrong ? Self.wrong : HeaderField("Content-Digest", "sha-256=:\(digest.base64EncodedString()):"))
      return part
    }
    let starts = (0..<4).map { "bytes=\((2 << 20) + $0 * 300_000)-" }
    var asked = [nil] + starts
    if let wrong { asked.insert(asked[wrong - 1], at: wrong) }
    #expect(trial.isFinished && trial.record.generation == 1, "\(trial.end)")
    #expect(trial.ranges == asked && trial.record.history.digestMismatches == (wrong == nil ? 0 : 1))
  }

  @Test("parts that are never what the server says fail the download") func alwaysWrongParts() async throws {
    let trial = try await Trial.run(digest: Trial.digest) { request, nth in
      if nth == 1 { return .half }
      var part = Reply.part(of: request, atMost: 300_000)
      part?.setHeaders.append(Self.wrong)
      return part
    }
    #expect(trial.failure == .digestMismatch && trial.requests.count == 3, "\(trial.end), \(trial.ranges)")
  }

  @Test("wrong for ever", arguments: [true, false]) func alwaysWrong(isSmall: Bool) async throws {
    let content = isSmall ? Content.text("hello") : Trial.content
    let trial = try await Trial.run(content: content) { _, _ in .with { $0.setHeaders = [Self.wrong] } }
    #expect(trial.failure == .digestMismatch && trial.requests.count == 2, "\(trial.end)")
  }

  @Test("what can't be read says nothing", arguments: ["sha-256=:AAAA:", "sha-256=x", "md5=:AAAA:", ""])
  func unreadable(value: String) async throws {
    let trial = try await Trial.run { _, _ in .with { $0.setHeaders = [HeaderField("Content-Digest", value)] } }
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end)")
  }
}
