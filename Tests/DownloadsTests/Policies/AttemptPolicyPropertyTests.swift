import AssetModel
import Basics
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// Whatever goes wrong, in whatever order: what is permanent isn't tried again, and every wait has its bounds.
@Suite(.timeLimit(.minutes(1))) struct AttemptPolicyPropertyTests {
  private static func problem(_ random: inout SeededGenerator) -> TransferProblem {
    switch random.below(10) {
    case 0: .resolve("x")
    case 1: .connect("x")
    case 2: .tls("x")
    case 3: .reset("x")
    case 4: .truncated
    case 5: .stalled
    case 6: .protocolFault("x")
    case 7: .http2(enhanceYourCalm: .random(using: &random), detail: "x")
    default: .status([400, 401, 403, 404, 404, 407, 408, 410, 429, 451, 500, 503, 777][random.below(13)])
    }
  }

  private static func duration(_ random: inout SeededGenerator, upTo seconds: Int64) -> Duration {
    .nanoseconds(Int64.random(in: 0...seconds * 1_000_000_000, using: &random))
  }

  @Test(arguments: 0..<200) func randomProblems(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let transferClass = TransferClass.allCases[random.below(TransferClass.allCases.count)]
    let retry = RetryPolicy(
      transferClass: transferClass, appIdleForWeek: .random(using: &random),
      attemptLimit: random.chance(3) ? 1 + random.below(12) : nil)
    let longest = Self.duration(&random, upTo: 1_000_000)
    var history = JobHistory()
    var transient = 0
    for _ in 0..<60 {
      let policy = AttemptPolicy(
        retry: retry, retestsPublication: !random.chance(4), longestWithoutProgress: longest,
        random: .random(in: 0..<1, using: &random))
      let problem = Self.problem(&random)
      let requested = random.chance(3) ? Self.duration(&random, upTo: 200_000) : nil
      let idle = random.chance(8) ? longest : min(longest / 2, Self.duration(&random, upTo: 1000))
      let before = history
      let (verdict, road) = policy.failed(
        problem, requestedDelay: requested, withoutProgress: { idle }, history: &history)
      let context = "seed \(seed): \(problem), \(verdict)"
      switch verdict {
      case .wait(let reason, let delay):
        #expect(reason.isPartOfTrying, "\(context)")
        #expect(delay >= retry.base / 2, "a wait is no storm: \(context)")
        let asked = min(requested ?? .zero, RetryAfter.longest)
        #expect(delay <= max(retry.cap * 1.5, asked), "\(context)")
        if case .publication(let count) = reason {
          #expect(
            problem.status == 404 && (1...AttemptPolicy.maxRetests).contains(count) && road == .unchanged, "\(context)")
        } else {
          #expect(delay >= asked && road == .failed(delay: delay), "what a server asks for is heeded: \(context)")
        }
      case .fail(let failure):
        #expect(failure.cause == problem.cause || failure.reason == .noProgress, "\(context)")
        if failure.reason != .noProgress { #expect(failure.detail == problem.description, "\(context)") }
      }
      switch problem.classification(hasTime: requested != nil) {
      case .permanent(let reason):
        guard case .fail(let failure) = verdict else {
          Issue.record("what is permanent is tried again: \(context)")
          continue
        }
        #expect(failure.reason == reason && history == before && road == .closed, "\(context)")
      case .publication:
        #expect(history.fruitlessAttempts == before.fruitlessAttempts, "\(context)")
        #expect(history.publicationRetests <= AttemptPolicy.maxRetests, "\(context)")
      case .transient, .notAnAttempt:
        transient += 1
        #expect(history.fruitlessAttempts == transient, "\(context)")
        let isOver = retry.attemptLimit.map { transient >= $0 } ?? false || idle >= longest
        if case .fail = verdict { #expect(isOver, "\(context)") } else { #expect(!isOver, "\(context)") }
      }
    }
  }

  @Test(arguments: 0..<50) func proxies(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let retry = RetryPolicy(
      transferClass: TransferClass.allCases[random.below(TransferClass.allCases.count)], appIdleForWeek: false)
    for _ in 0..<50 {
      let policy = AttemptPolicy(
        retry: retry, retestsPublication: true, longestWithoutProgress: .zero,
        random: .random(in: 0..<1, using: &random))
      let (tries, failures) = (1 + random.below(20), 1 + random.below(200))
      switch policy.proxyFailed(.proxy("p"), tries: tries, failures: failures) {
      case .wait(let reason, let delay):
        #expect(reason == .retry("p") && retry.attemptLimit.map { tries < $0 } ?? true, "seed \(seed)")
        #expect(delay >= retry.base / 2 && delay <= retry.cap * 1.5, "seed \(seed)")
      case .fail(let failure):
        #expect(failure.reason == .noProgress && retry.attemptLimit.map { tries >= $0 } == true, "seed \(seed)")
      }
    }
  }
}
