import Basics
import CLinux
import Glibc
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// What the host decides about a call that meets a rule of the policy, and about the others.
@Suite(.timeLimit(.minutes(1))) struct CallRuleDecisionTests {
  private static let numbers: [String: Int32] = Dictionary(
    (0..<600).compactMap { number in SystemCalls.name(of: number).map { ($0, number) } },
    uniquingKeysWith: { first, _ in first })
  /// OUTRIDER_SEED repeats one.
  private static let seed = UInt64.random(in: 0...UInt64.max)

  private func decide(
    _ name: String, _ arguments: [UInt64], _ policy: Policy, loading: Bool = false, traced: Set<String> = []
  ) throws -> NotificationPolicy.Decision {
    var call = ol_notification()
    call.number = try #require(Self.numbers[name])
    call.architecture = CallArchitecture.native
    let padded = arguments + Array(repeating: 0, count: 6 - arguments.count)
    call.arguments = (padded[0], padded[1], padded[2], padded[3], padded[4], padded[5])
    return NotificationPolicy(
      policy: policy, grants: .init(), isLoading: loading, threads: { 1 }, traced: traced, now: .seconds(1)
    ).decide(call)
  }

  @Test(
    "a call that meets a rule is denied with the errno that it has otherwise, whatever else would become of it",
    arguments: [
      // Let through by the filter, counted, decided by arguments, denied anyway.
      ("madvise", 2, nil, [0, 0, 21], "advice = 21", EPERM),
      ("prctl", 0, nil, [0xdead_0000_000f], "option = 15", EPERM),
      ("clone", 0, 0x100, [0x3d0f00], "flags & 0x100 = 0x100", EPERM),
      ("mmap", 3, 1, [0, 4096, 1, 0x21], "flags & 0x1 = 0x1", EACCES), ("fcntl", 1, nil, [3, 6], "command = 6", EPERM),
      ("epoll_ctl", 1, nil, [3, 1], "operation = 1", EPERM),
      ("fallocate", 1, nil, [3, 1, 0, 1], "mode = 1", EOPNOTSUPP),
      ("openat", 2, 0o100, [0, 0, 0o101], "flags & 0x40 = 0x40", EPERM),
      ("socket", 0, nil, [2, 1], "family = 2", EAFNOSUPPORT), ("ptrace", 0, nil, [.max], "request = -1", EPERM),
    ] as [(String, Int, UInt64?, [UInt64], String, Int32)])
  func denies(
    _ name: String, _ argument: Int, _ mask: UInt64?, _ arguments: [UInt64], _ target: String, _ code: Int32
  ) throws {
    let value = arguments[argument] & (mask ?? (name == "ptrace" ? .max : 0xffff_ffff))
    for action in [Policy.DeniedAction.deny, .kill] {
      let rule = try CallRule(action, name, argument: argument, mask: mask, equals: [value])
      var policy = Policy()
      policy.systemCalls.rules = [rule]
      for observes in [false, true] {
        policy.observesFiles = observes
        for loading in [false, true] {
          #expect(
            try decide(name, arguments, policy, loading: loading, traced: [name])
              == .breach(rule, target: target, code: code, kills: action == .kill))
        }
      }
    }
  }

  @Test("where the policy ends a run for what is denied of a call, it does for what a rule denies") func kills() throws
  {
    var policy = Policy()
    let rule = try CallRule(.deny, "mmap", argument: 3, mask: 0x8000, equals: [0x8000])
    policy.systemCalls.rules = [rule]
    policy.systemCalls.onDenied = ["mmap": .kill]
    #expect(
      try decide("mmap", [0, 4096, 1, 0x8022], policy)
        == .breach(rule, target: "flags & 0x8000 = 0x8000", code: EACCES, kills: true))
  }

  @Test("a rule widens nothing: what doesn't meet it is decided as without it", arguments: [seed])
  func narrows(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let known = CallParameter.calls.filter { Self.numbers[$0] != nil }
    for _ in 0..<4000 {
      let name = known[random.below(known.count)]
      let places = (CallParameter.all(of: name) ?? [:]).filter { $0.value.kind != .pointer }.keys.sorted()
      let argument = places[random.below(places.count)]
      let mask = UInt64(random.below(256))
      let values = (0..<4).map { _ in UInt64(random.below(256)) & mask }
      var plain = Policy()
      if random.chance(3) { plain.systemCalls.refused = [name] }
      if random.chance(3) { plain.systemCalls.onDenied = [name: .kill] }
      plain.executableMemory = Policy.ExecutableMemory.allCases[random.below(3)]
      guard
        let rule = try? CallRule(
          random.chance(2) ? .deny : .kill, name, argument: argument, mask: mask, equals: Array(Set(values)))
      else { continue }
      var policy = plain
      policy.systemCalls.rules = [rule]
      var arguments = (0..<6).map { _ in random.chance(2) ? random.next() : UInt64(random.below(256)) }
      if random.chance(2) { arguments[argument] = arguments[argument] & ~mask | values[0] }
      let (before, after) = (try decide(name, arguments, plain), try decide(name, arguments, policy))
      // Of the register the kernel reads the low half at most, and the mask lies in that.
      guard values.contains(UInt64(UInt32(truncatingIfNeeded: arguments[argument])) & mask) else {
        #expect(after == before, "\(name) \(arguments) with \(rule.text)")
        continue
      }
      guard case .breach(rule, _, let code, let kills) = after else {
        Issue.record("\(name) \(arguments) with \(rule.text): \(after)")
        continue
      }
      #expect(code == SystemCalls.denial(of: name) && code != 0)
      #expect(kills == (rule.action == .kill || plain.systemCalls.onDenied[name] == .kill))
    }
  }

  @Test("a call of another architecture ends the run, and isn't taken for one that a rule is about") func foreign()
    throws
  {
    var policy = Policy()
    policy.systemCalls.rules = [try CallRule(.deny, "prctl", argument: 0, equals: [0])]
    var call = ol_notification()
    (call.number, call.architecture) = (try #require(Self.numbers["prctl"]), 0x4000_0003)
    #expect(
      NotificationPolicy(policy: policy, grants: .init(), isLoading: false, threads: { 1 }, now: .zero).decide(call)
        == .foreign("i386"))
  }
}
