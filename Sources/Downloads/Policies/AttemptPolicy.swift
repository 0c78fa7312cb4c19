internal import AssetModel
internal import LinuxSystem

/// What follows when an attempt of a job failed. A pure function of what is known: the job's history, its class's policy, and
/// how long it has brought nothing new.
struct AttemptPolicy {
  enum Verdict: Equatable {
    case fail(TransferFailure)
    case wait(Hold.Reason, Duration)
  }

  /// What it means for the origin's circuit breaker.
  enum BreakerChange: Equatable {
    case closed
    case failed(delay: Duration)
    case unchanged
  }

  let retry: RetryPolicy
  /// A file that isn't there is looked for again: it may be published yet.
  let retestsPublication: Bool
  /// How long a job may go on without anything new.
  let longestWithoutProgress: Duration
  /// In 0..<1.
  let random: Double

  static let maxRetests = 2

  /// The proxy failed, which doesn't count against the origin. `tries`: how many of the job's requests it has failed in
  /// a row; `failures`: of all jobs'.
  func proxyFailed(_ problem: TransferProblem, tries: Int, failures: Int) -> Verdict {
    if let limit = retry.attemptLimit, tries >= limit {
      return .fail(
        TransferFailure(.noProgress, cause: .proxy(why: Self.attempts(tries, "in a row failed", problem))))
    }
    return .wait(.retry(problem.description), retry.delay(fruitless: failures - 1, random: random))
  }

  /// Any other problem. `withoutProgress`: how long nothing new has come.
  func failed(
    _ problem: TransferProblem, requestedDelay: Duration?, withoutProgress: () -> Duration, history: inout JobHistory
  ) -> (verdict: Verdict, breaker: BreakerChange) {
    func failure(_ reason: TransferFailure.Reason, _ detail: String) -> Verdict {
      .fail(TransferFailure(reason, status: problem.status, errno: problem.errno, detail: detail))
    }
    switch problem.classification(hasTime: requestedDelay != nil) {
    case .permanent(let reason):
      return (
        .fail(TransferFailure(reason, status: problem.status, cause: problem.cause, detail: problem.description)),
        .closed
      )
    case .publication:
      guard retestsPublication, history.publicationRetests < Self.maxRetests else {
        return (
          .fail(TransferFailure(.gone, status: problem.status, cause: problem.cause, detail: problem.description)),
          .unchanged
        )
      }
      history.publicationRetests += 1
      let delay = retry.delay(fruitless: history.publicationRetests, random: random)
      return (.wait(.publication(history.publicationRetests), delay), .unchanged)
    case .notAnAttempt, .transient:
      let tries = history.fruitlessAttempts
      history.fruitlessAttempts += 1
      if retry.attemptLimit.map({ tries + 1 >= $0 }) ?? false || withoutProgress() >= longestWithoutProgress {
        return (failure(.noProgress, Self.attempts(tries + 1, "brought nothing new", problem)), .unchanged)
      }
      let delay = RetryAfter.wait(
        backoff: retry.delay(fruitless: tries, random: random), requested: requestedDelay)
      let asked =
        requestedDelay.map { " and asks to wait \($0.inNanoseconds / 1_000_000_000) s" } ?? ""
      return (.wait(.retry(problem.description + asked), delay), .failed(delay: delay))
    }
  }

  private static func attempts(_ count: Int, _ what: String, _ last: TransferProblem) -> String {
    count == 1 ? last.description : "\(count) attempts \(what); the last: \(last.description)"
  }
}
