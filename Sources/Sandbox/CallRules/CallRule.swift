/// What of a system call a policy denies, or ends the run for, by the value of one of its arguments:
///
///     try CallRule(.deny, "prctl", argument: 0, equals: [15])
///     try CallRule(.kill, "clone", argument: 0, mask: 0x100, equals: [0])
///
/// A call is met where `argument & mask` is one of the values. Only registers count, never what a pointer leads to, and of a register
/// only what the kernel reads: no bits beside those get a call past a rule. A rule never lets through what is denied without it.
public struct CallRule: Sendable, Hashable {
  /// What meeting it leads to.
  public let action: Policy.DeniedAction
  /// The system call's name.
  public let call: String
  /// Which argument, from 0 to 5.
  public let argument: Int
  /// The bits that count; all that the kernel reads, where none were given.
  public let mask: UInt64
  /// The values of those bits, in ascending order; 1 to `maxValues`.
  public let values: [UInt64]

  /// Values of one rule.
  public static let maxValues = 16
  /// Rules of a policy with those that it extends, and values of all of them: the kernel bounds the length of a filter.
  public static let maxRules = 64
  /// Values of all of them.
  public static let maxValuesInAll = 256

  /// Why there can be no such rule.
  public struct Rejection: Error, Sendable, Equatable, CustomStringConvertible {
    enum Part: Sendable, Equatable {
      case call, argument, mask, values
      /// One of the values, by its place in what was given.
      case value(Int)
    }

    let part: Part
    /// One sentence for people.
    public let description: String
  }

  /// Creates a rule.
  ///
  /// - Parameters:
  ///   - action: What meeting it leads to.
  ///   - call: The system call's name.
  ///   - argument: Which argument, from 0 to 5.
  ///   - mask: The bits that count; nil: all that the kernel reads. An argument whose bits have meanings of their own needs one.
  ///   - values: The values of those bits, 1 to 16, each once. Negative numbers are given as two's complement, of 32 or of 64 bits.
  /// - Throws: `Rejection` where the kernel reads the argument otherwise, or the values can't be met.
  public init(
    _ action: Policy.DeniedAction, _ call: String, argument: Int, mask: UInt64? = nil, equals values: [UInt64]
  ) throws(Rejection) {
    let parameter = try Self.parameter(of: call, argument)
    let bits = parameter.bits
    if mask == nil, case .flags = parameter.kind {
      throw Rejection(
        part: .argument,
        description:
          "\(Self.named(call, argument, parameter)) is a set of bits: say with 'mask' which of them count, of \(Self.hexadecimal(bits))"
      )
    }
    let wanted = mask ?? bits
    guard wanted != 0 else { throw Rejection(part: .mask, description: "a mask of 0 looks at nothing") }
    guard wanted & ~bits == 0 else {
      throw Rejection(
        part: .mask,
        description:
          "the kernel doesn't read \(Self.hexadecimal(wanted & ~bits)) of \(Self.named(call, argument, parameter)), so a plugin could set that as it likes; a mask may have \(Self.hexadecimal(bits))"
      )
    }
    guard (1...Self.maxValues).contains(values.count) else {
      throw Rejection(part: .values, description: "a rule has 1 to \(Self.maxValues) values, not \(values.count)")
    }
    var seen: Set<UInt64> = []
    for (index, value) in values.enumerated() {
      let reduced = Self.reduced(value, parameter)
      guard let reduced, reduced & ~wanted == 0 else {
        throw Rejection(
          part: .value(index),
          description:
            "\(Self.hexadecimal(value)) has bits beside \(Self.hexadecimal(wanted)), which are all that the rule looks at, so no call would meet it"
        )
      }
      guard seen.insert(reduced).inserted else {
        throw Rejection(part: .value(index), description: "\(Self.text(reduced, parameter)) is listed twice")
      }
    }
    (self.action, self.call, self.argument, self.mask) = (action, call, argument, wanted)
    self.values = seen.sorted()
  }

  private static func parameter(of call: String, _ argument: Int) throws(Rejection) -> CallParameter {
    guard SystemCalls.isKnown(call) else {
      throw Rejection(
        part: .call, description: "\(String(call.prefix(60)).debugDescription) isn't a system call that this host knows"
      )
    }
    guard (0...5).contains(argument) else {
      throw Rejection(part: .argument, description: "a system call has arguments 0 to 5, and no \(argument)")
    }
    guard let parameters = CallParameter.all(of: call) else {
      throw Rejection(
        part: .call,
        description: SystemCalls.indispensable.contains(call)
          ? "there are no rules about \(call): the runner makes it for every plugin"
          : "there are no rules about \(call): its arguments aren't values that tell one use from another")
    }
    let summary = CallParameter.summary(of: call)
    let others = summary.isEmpty ? "there are no rules about it" : "there are rules about \(summary)"
    guard let parameter = parameters[argument] else {
      throw Rejection(
        part: .argument,
        description:
          "argument \(argument) of \(call) has no values that tell one use from another, or the call doesn't have it; \(others)"
      )
    }
    guard parameter.kind != .pointer else {
      throw Rejection(
        part: .argument,
        description:
          "\(named(call, argument, parameter)) is a pointer, and what it leads to could change after a look at it; \(others)"
      )
    }
    return parameter
  }

  /// As the kernel reads it; nil: it has more bits. A negative number of 32 bits may be given with 64.
  private static func reduced(_ value: UInt64, _ parameter: CallParameter) -> UInt64? {
    guard parameter.kind == .number(bits: 32), value > 0xffff_ffff else { return value }
    return value >= 0xffff_ffff_8000_0000 ? value & 0xffff_ffff : nil
  }

  private static func named(_ call: String, _ argument: Int, _ parameter: CallParameter) -> String {
    "argument \(argument) of \(call) (\(parameter.name))"
  }
}

extension CallRule {
  /// Whether a call with these arguments meets it. Fewer than six: the others are 0.
  package func isMet(by arguments: [UInt64]) -> Bool { met(by: arguments) != nil }

  /// The value that a call with these arguments meets it by.
  package func met(by arguments: [UInt64]) -> UInt64? {
    let value = (argument < arguments.count ? arguments[argument] : 0) & mask
    return values.contains(value) ? value : nil
  }

  /// One value of it.
  package struct Atom: Sendable, Hashable {
    package let call: String
    package let argument: Int
    package let mask: UInt64
    package let value: UInt64
  }

  package var atoms: [Atom] { values.map { Atom(call: call, argument: argument, mask: mask, value: $0) } }

  /// Whether every call that meets the other meets this one.
  package func covers(_ other: Atom) -> Bool {
    call == other.call && argument == other.argument && mask & ~other.mask == 0 && values.contains(other.value & mask)
  }

  /// As a policy has it.
  package var text: String {
    let parameter = CallParameter.all(of: call)?[argument]
    let shown = values.map { Self.text($0, parameter) }
    let equals = shown.count == 1 ? shown[0] : "[\(shown.joined(separator: ", "))]"
    let part = mask == parameter?.bits && !isOfFlags ? "" : "mask: \(Self.hexadecimal(mask)), "
    return "{call: \(call), argument: \(argument), \(part)equals: \(equals)}"
  }

  /// The part of a policy of version 2 that says it.
  package var policyLine: String { "systemCalls: {\(action.rawValue): [\(text)]}" }

  /// What of a call it is about, in words.
  package var words: String { words(of: values) }

  /// The same of some of its values.
  package func words(of values: [UInt64]) -> String { "\(call) where \(condition(values.sorted()))" }

  /// What the call has that meets it by that value, for a report: no more of the register than counts, since a plugin could
  /// make each call a row of its own by the rest.
  package func target(_ value: UInt64) -> String { condition([value]) }

  private func condition(_ values: [UInt64]) -> String {
    let parameter = CallParameter.all(of: call)?[argument]
    let shown = values.map { Self.text($0, parameter) }.joined(separator: " or ")
    let part = mask == parameter?.bits && !isOfFlags ? "" : " & \(Self.hexadecimal(mask))"
    return "\(parameter?.name ?? "argument \(argument)")\(part) = \(shown)"
  }

  private var isOfFlags: Bool {
    if case .flags = CallParameter.all(of: call)?[argument]?.kind { true } else { false }
  }

  /// Small numbers as such, also negative ones; bits and others by their digits.
  private static func text(_ value: UInt64, _ parameter: CallParameter?) -> String {
    guard case .number(let bits) = parameter?.kind else { return hexadecimal(value) }
    let signed = bits == 64 ? Int64(bitPattern: value) : Int64(Int32(truncatingIfNeeded: value))
    return (-4096...4096).contains(signed) ? "\(signed)" : hexadecimal(value)
  }

  private static func hexadecimal(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }
}

extension CallRule: Comparable {
  /// What ends a run comes first, then by what a policy says.
  public static func < (left: Self, right: Self) -> Bool {
    if left.action != right.action { return left.action == .kill }
    if left.call != right.call { return left.call < right.call }
    if left.argument != right.argument { return left.argument < right.argument }
    if left.mask != right.mask { return left.mask < right.mask }
    return left.values.lexicographicallyPrecedes(right.values)
  }
}

extension Policy {
  /// The rule that decides about a call; nil: none is met. One that ends the run goes before one that denies.
  package func rule(for call: String, _ arguments: [UInt64]) -> CallRule? {
    guard !systemCalls.rules.isEmpty else { return nil }
    return systemCalls.rules.filter { $0.call == call && $0.isMet(by: arguments) }.min()
  }

  /// Whether no call of that name gets through, whatever its arguments are.
  package func denies(_ call: String) -> Bool {
    // `network` lets some of these through.
    let mayConnect = hasNetwork && SystemCallGroup.named("sockets")?.calls.contains(call) == true
    return systemCalls.refused.contains(call) || !SystemCalls.isEverAllowed(call) && !mayConnect
  }

  /// The part of a policy of version 2 without which a call of that name would be decided as for others; nil: there is none.
  package func lineRefusing(_ call: String) -> String? {
    // It is answered as if there were none, and who asks makes a thread by clone(2) then.
    if call == "clone3", systemCalls.onDenied[call] == .kill { return "systemCalls: {kill: [clone3]}" }
    var rest = self
    rest.systemCalls.refused.remove(call)
    guard denies(call), !rest.denies(call) else { return nil }
    return "systemCalls: {\(systemCalls.onDenied[call] == .kill ? "kill" : "deny"): [\(call)]}"
  }

  /// Why a rule of this policy changes nothing, or not what it says; nil: it does. `inherited`: those of what it extends.
  func lackOfEffect(of rule: CallRule, inherited: Set<CallRule>) -> String? {
    let call = rule.call
    let isKilled = systemCalls.onDenied[call] == .kill
    let isClosed = denies(call)
    if isClosed, isKilled { return "\(rule.text) has no effect: \(call) ends the run anyway" }
    if isClosed, rule.action == .deny { return "\(rule.text) has no effect: \(call) is denied anyway" }
    if inherited.contains(rule) { return "\(rule.text) has no effect: what it extends has it already" }
    let others = systemCalls.rules.filter { $0 != rule && ($0.action == .kill || rule.action == .deny) }
    let isCovered = rule.atoms.allSatisfy { atom in others.contains { $0.covers(atom) } }
    if isCovered, let other = others.sorted().first(where: { other in rule.atoms.contains(where: other.covers) }) {
      return "\(rule.text) has no effect: \(other.text) under \(other.action.rawValue) decides about that already"
    }
    guard isKilled, rule.action == .deny else { return nil }
    return "\(call) is under kill, so that what \(rule.text) denies ends the run, too"
  }

  /// Why a policy can't have these rules; nil: it can.
  package var callRulesRejectionReason: String? {
    guard systemCalls.rules.count <= CallRule.maxRules,
      systemCalls.rules.reduce(0, { $0 + $1.values.count }) <= CallRule.maxValuesInAll
    else {
      return
        "a policy has at most \(CallRule.maxRules) rules about arguments, and \(CallRule.maxValuesInAll) values in them, with those that it extends"
    }
    return nil
  }
}
