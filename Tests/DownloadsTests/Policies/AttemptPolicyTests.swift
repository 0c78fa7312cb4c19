import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct AttemptPolicyTests {
  private static func policy(
    _ transferClass: TransferClass = .foreground, retests: Bool = true, longest: Duration = .seconds(1000)
  ) -> AttemptPolicy {
    AttemptPolicy(
      retry: RetryPolicy(transferClass: transferClass, appIdleForWeek: false), retestsPublication: retests,
      longestWithoutProgress: longest, random: 0.5)
  }

  @Test(arguments: [
    (403, TransferFailure.Reason.challenge), (410, .gone), (451, .gone), (400, .refused), (418, .refused),
  ])
  func aPermanentAnswerFailsAtOnceAndShowsThatTheRoadIsFree(status: Int, reason: TransferFailure.Reason) throws {
    var history = JobHistory()
    let (verdict, breaker) = Self.policy().failed(
      .status(status), requestedDelay: nil, withoutProgress: { .zero }, history: &history)
    guard case .fail(let failure) = verdict else { throw Unexpected("\(verdict)") }
    #expect(failure.reason == reason && failure.status == status && breaker == .closed && history == JobHistory())
  }

  @Test func aFileThatIsntThereIsLookedForTwiceMore() throws {
    var history = JobHistory()
    for count in 1...AttemptPolicy.maxRetests {
      let (verdict, breaker) = Self.policy().failed(
        .status(404), requestedDelay: nil, withoutProgress: { .zero }, history: &history)
      guard case .wait(.publication(count), let delay) = verdict else { throw Unexpected("\(verdict)") }
      #expect(delay > .zero && breaker == .unchanged)
    }
    let (verdict, _) = Self.policy().failed(
      .status(404), requestedDelay: nil, withoutProgress: { .zero }, history: &history)
    guard case .fail(let failure) = verdict else { throw Unexpected("\(verdict)") }
    #expect(failure.reason == .gone)
    var other = JobHistory()
    let (atOnce, _) = Self.policy(retests: false).failed(
      .status(404), requestedDelay: nil, withoutProgress: { .zero }, history: &other)
    guard case .fail = atOnce else { throw Unexpected("\(atOnce)") }
  }

  @Test func attemptsInARowEndWithAFailureThatSaysHowMany() throws {
    var history = JobHistory()
    let limit = RetryPolicy(transferClass: .foreground, appIdleForWeek: false).attemptLimit ?? 0
    for attempt in 1..<limit {
      let (verdict, breaker) = Self.policy().failed(
        .stalled, requestedDelay: nil, withoutProgress: { .zero }, history: &history)
      guard case .wait(.retry, let delay) = verdict else { throw Unexpected("\(attempt): \(verdict)") }
      #expect(breaker == .failed(delay: delay))
    }
    let (verdict, breaker) = Self.policy().failed(
      .stalled, requestedDelay: nil, withoutProgress: { .zero }, history: &history)
    guard case .fail(let failure) = verdict else { throw Unexpected("\(verdict)") }
    #expect(failure.reason == .noProgress && failure.detail.hasPrefix("\(limit) attempts") && breaker == .unchanged)
  }

  @Test func inTheBackgroundOnlyTimeEndsIt() throws {
    var history = JobHistory()
    history.fruitlessAttempts = 10_000
    let policy = Self.policy(.prefetch)
    let (patient, _) = policy.failed(
      .reset("x"), requestedDelay: nil, withoutProgress: { .seconds(999) }, history: &history)
    guard case .wait = patient else { throw Unexpected("\(patient)") }
    let (over, _) = policy.failed(
      .reset("x"), requestedDelay: nil, withoutProgress: { .seconds(1000) }, history: &history)
    guard case .fail = over else { throw Unexpected("\(over)") }
  }

  @Test func whatAServerAsksForIsHonouredAndSaid() throws {
    var history = JobHistory()
    let (verdict, _) = Self.policy().failed(
      .status(503), requestedDelay: .seconds(500), withoutProgress: { .zero }, history: &history)
    guard case .wait(.retry(let text), let delay) = verdict else { throw Unexpected("\(verdict)") }
    #expect(delay >= .seconds(500) && text.contains("500 s"))
  }

  @Test func aProxysFailuresCountForItself() throws {
    let policy = Self.policy()
    guard case .wait = policy.proxyFailed(.proxy("p"), tries: 1, failures: 1) else { throw Unexpected("no wait") }
    guard case .fail = policy.proxyFailed(.proxy("p"), tries: 6, failures: 6) else { throw Unexpected("no failure") }
  }
}
