import Glibc
import LinuxSystem
import Testing

@Suite(.timeLimit(.minutes(1))) struct ClocksTests {
  @Test("a thread that waits uses no processor, and one that works does") func threadClock() {
    let (began, used) = (BootClock.now, ThreadClock.now)
    poll(nil, 0, 50)
    #expect(ThreadClock.now - used < (BootClock.now - began) / 2)
    let waited = ThreadClock.now
    // Ends by itself only if work counts.
    while ThreadClock.now - waited < .milliseconds(1) {}
  }
}
