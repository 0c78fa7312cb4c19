import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(1))) struct DeadlineTimerTests {
  @Test("A deadline replaces the one before, each that comes fires once, and one that is taken away doesn't")
  func deadlines() async throws {
    let (fired, continuation) = AsyncStream.makeStream(of: Void.self)
    let timer = try DeadlineTimer { continuation.yield() }
    var firings = fired.makeAsyncIterator()
    for _ in 0..<10_000 { timer.arm(after: .seconds(3600)) }
    timer.arm(after: .milliseconds(1))
    #expect(await firings.next() != nil)
    timer.arm(after: .milliseconds(5))
    timer.arm(after: nil)
    // Long gone, and as far away as a duration can be.
    timer.arm(after: .seconds(Int64.max / 4))
    timer.arm(after: .seconds(-5))
    #expect(await firings.next() != nil)
    continuation.finish()
    // Nothing else had fired before.
    #expect(await firings.next() == nil)
  }
}
