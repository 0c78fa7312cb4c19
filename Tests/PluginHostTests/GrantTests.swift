import HostProtocol
import LinuxSystem
import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct GrantTests {
  private static let machine = Machine(
    landlockABI: 7, hasListener: true, hello: .init(missing: [], runtime: [], hasPreloaded: false))

  /// None of them is there, and the host doesn't look: what can't be asked for isn't looked up.
  @Test func tooManyPathsAreRefusedAtOnce() {
    var policy = Policy()
    policy.read = (0..<20_000).map { "/nonexistent/\($0)" }
    do {
      _ = try Grant.all(of: policy, writable: [], machine: Self.machine)
      Issue.record("granted")
    } catch {
      #expect("\(error)".contains("grant folders that hold them"))
    }
  }

  /// The last that a request has room for, each looked up among all others.
  @Test func manyPathsHaveTheirPlaces() {
    let paths = (0..<3000).map { "/g/\($0)/x" }
    let places = GrantPlaces(paths + ["/g"], runtime: ["/usr/lib"]) { $0 == "/g/7" ? "8" : nil }
    #expect(places.place(of: "/g/7/x") == "/g/8/x" && places.place(of: "/g/9/x") == "/g/9/x")
  }
}
