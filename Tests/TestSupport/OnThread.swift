import Foundation

/// Runs what blocks on a thread of its own.
///
/// All of Swift's tasks share as many threads as there are cores. A task that blocks until the test lets it go keeps one; where
/// two tests do that at once on two cores, no thread is left for the tests that would let them go.
public func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
