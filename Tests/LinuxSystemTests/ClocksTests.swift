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

  @Test("moments are written for people, and for names of files") func texts() {
    let moment: Int64 = 1_795_510_983_999_999_999
    #expect(WallClock.text(moment) == "2026-11-24T09:03:03Z" && WallClock.stamp(moment) == "20261124T090303Z")
    #expect(WallClock.text(0) == "1970-01-01T00:00:00Z")
  }
}
