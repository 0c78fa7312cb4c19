import ServiceProtocol
import Testing

@testable import outrider

/// Whether what was asked for is what is there.
@Suite(.timeLimit(.minutes(1))) struct InstallEndTests {
  private static func app(_ version: String, _ path: String) -> AppSummary {
    AppSummary(
      identifier: "com.example.a", version: version, name: "A", state: .launchable, isPaused: false,
      gate: .init(isClosed: false, reason: "it was cancelled"),
      progress: .init(fraction: 1, base: 1, install: 1, essential: 1),
      restrictions: .init(
        isActive: false, allowance: .init(limit: 0, used: 0), essentialAllowance: .init(limit: 0, used: 0)),
      runtime: .init(usedSeconds: 0, budgetSeconds: 0, renewsAt: nil), nextPeriodicWake: nil, lastRefusal: nil,
      quarantine: nil, groups: [:], path: path)
  }

  @Test(
    "An installation that a later one replaces has succeeded where that is of the same version, and is told of otherwise",
    arguments: [
      ("1.0", "/apps/1.0", [], nil, nil), ("1.0", "/apps/1.0~1", [], nil, "took the place of this one"),
      ("2.0", "/apps/2.0", ["/other"], "isn't in place: another installation, of 2.0, took its place", nil),
      // The update was cancelled, and what was there before is there.
      ("0.9", "/apps/0.9", ["/apps/0.9"], "isn't in place: it was cancelled; 0.9 is there", nil),
      ("1.0", "/apps/1.0~1", ["/apps/1.0~1"], "isn't in place: it was cancelled; 1.0 is there", nil),
    ] as [(String, String, [String], String?, String?)])
  func ends(_ version: String, _ path: String, _ former: [String], _ failure: String?, _ note: String?) {
    let end = InstallEnd(of: Self.app("1.0", "/apps/1.0"), inPlace: Self.app(version, path), former: former)
    #expect(
      end.failure?.message == failure.map { "com.example.a 1.0 \($0)" } && end.failure?.status == failure.map { _ in 1 }
    )
    #expect(note.map { end.note?.contains($0) == true } ?? (end.note == nil))
  }
}
