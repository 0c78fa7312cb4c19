import Foundation
import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct SystemCallGroupTests {
  @Test func groupsHaveNamesOfTheirOwn() {
    let names = SystemCallGroup.all.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names { #expect(!SystemCalls.isKnown(name) && SystemCallGroup.named(name)?.name == name) }
  }

  /// A group that a policy couldn't refuse as a whole would be none.
  @Test(arguments: SystemCallGroup.all.map(\.name)) func groupsCanBeRefused(_ name: String) throws {
    let group = try #require(SystemCallGroup.named(name))
    #expect(Set(group.calls).isDisjoint(with: SystemCalls.indispensable))
    #expect(Set(group.calls).count == group.calls.count && group.calls.contains(where: SystemCalls.isKnown))
    let policy = try Policy(parsing: "version: 2\nsystemCalls: {deny: [\(name)]}", file: "p")
    // With hosts under `network`, the calls that connect to them would be let through, and with `processes` those that start them.
    let allowed = group.calls.filter {
      SystemCalls.isEverAllowed($0) || SystemCalls.connecting.contains($0) || SystemCalls.starting.contains($0)
    }
    #expect(policy.systemCalls.refused == Set(allowed))
  }

  /// Whatever is refused, the filter lets none of it through, and all else as before.
  @Test func refusedCallsAreHandedToTheHost() throws {
    let all = SystemCallGroup.all.flatMap(\.calls).filter { SystemCalls.isEverAllowed($0) }
    var options = SeccompProgram.Options()
    let before = FilterMachine(try SeccompProgram(options).bytes)
    options.refused = Set(all)
    let machine = FilterMachine(try SeccompProgram(options).bytes)
    for number in Int32(0)...700 {
      let verdict = machine.run(.init(number: UInt32(number)))
      let name = SystemCalls.name(of: number) ?? ""
      if options.refused.contains(name) {
        #expect(verdict != .allow, "\(name)")
      } else {
        #expect(verdict == before.run(.init(number: UInt32(number))), "\(name)")
      }
    }
  }

  @Test func summariesNameWholeGroups() {
    let names = Set(SystemCallGroup.all.first { $0.name == "timers" }?.calls ?? []).union(["mkdir"])
    #expect(
      SystemCallGroup.summary(of: names) { _ in true } == [
        "timers (have signals and descriptors fire at a time)", "mkdir",
      ])
  }

  @Test func documentationHasTheSameContents() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: root.appendingPathComponent("docs/policies.md"), encoding: .utf8)
    for group in SystemCallGroup.all {
      let row = "| `\(group.name)` | \(group.purpose): \(group.calls.joined(separator: ", ")) |"
      #expect(text.contains(row), "docs/policies.md has to say: \(row)")
    }
  }
}
