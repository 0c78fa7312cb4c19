import Glibc

/// Looks every millisecond until something is so, for at most `limit`: for what no event tells, as the state of another process.
/// Whether it became so. Keeps its thread.
public func becomes(within limit: Duration = .seconds(30), _ isSo: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + limit
  while try !isSo() {
    guard ContinuousClock.now < end else { return false }
    usleep(1000)
  }
  return true
}

/// As `becomes`, for tests on threads that all tasks share: it leaves its thread to others meanwhile. It has a name of its own,
/// because `#expect(try await becomes { … })` takes the other one where nothing in the closure is asynchronous.
public func eventually(within limit: Duration = .seconds(30), _ isSo: () async throws -> Bool) async throws -> Bool {
  let end = ContinuousClock.now + limit
  while try await !isSo() {
    guard ContinuousClock.now < end else { return false }
    try await Task.sleep(for: .milliseconds(1))
  }
  return true
}
