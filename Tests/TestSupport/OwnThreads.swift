import Foundation
public import Testing

extension Trait where Self == OwnThreads {
  /// For suites that run programs and wait for them.
  public static var ownThreads: Self { Self() }
}

/// Runs tests on threads of their own, not on the few (as many as cores) that all tasks share.
///
/// A test that waits for a program keeps its thread until that has ended. On the shared threads two such tests would hold up
/// all others, among them those whose answers a plugin waits for under a time limit.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(ThreadPool.shared) { try await function() }
  }
}

/// Threads for tests that block. There are more than tests run at once.
private final class ThreadPool: TaskExecutor, @unchecked Sendable {
  static let shared = ThreadPool(threads: 32)

  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []

  init(threads: Int) {
    for _ in 0..<threads { Thread.detachNewThread { [self] in runJobs() } }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock {
      jobs.append(job)
      condition.signal()
    }
  }

  private func runJobs() {
    while true {
      let job = condition.withLock {
        while jobs.isEmpty { condition.wait() }
        return jobs.removeFirst()
      }
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
