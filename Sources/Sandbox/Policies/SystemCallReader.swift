internal import StrictYAML
internal import Yams

/// Reads `systemCalls` of a policy of version 2: names of calls and of groups, and rules about arguments.
struct SystemCallReader {
  private static let ruleKeys = ["call", "argument", "mask", "equals"]

  let nodes: YAMLNodes
  private(set) var policy: Policy
  /// The rules of this file, each where it stands.
  private(set) var rules: [(Node, CallRule)] = []
  private var named: [String: String] = [:]
  /// Under which key each value of a rule is.
  private var decided: [CallRule.Atom: Policy.DeniedAction] = [:]

  init(nodes: YAMLNodes, policy: Policy) { (self.nodes, self.policy) = (nodes, policy) }

  mutating func read(_ node: Node) throws(YAMLFileError) {
    for (key, value) in try nodes.pairs(node, "systemCalls", known: ["deny", "kill"]) {
      let action: Policy.DeniedAction = key == "kill" ? .kill : .deny
      for item in try nodes.items(value, "systemCalls.\(key)") {
        if case .mapping = item { try readRule(item, action) } else { try readName(item, action) }
      }
    }
  }

  // MARK: Names

  private mutating func readName(_ item: Node, _ action: Policy.DeniedAction) throws(YAMLFileError) {
    let key = action.rawValue
    let name = try nodes.scalar(item, "an entry of systemCalls.\(key)")
    let group = SystemCallGroup.named(name)
    guard group != nil || SystemCalls.isKnown(name) else {
      throw nodes.error(
        item,
        "\(nodes.shown(name)) is neither a system call nor a group; the groups are \(nodes.list(SystemCallGroup.all.map(\.name)))"
      )
    }
    if let other = named[name] {
      throw nodes.error(
        item, other == key ? "systemCalls.\(key): \(name) is listed twice" : "\(name) is under deny and under kill")
    }
    named[name] = key
    // What this machine's architecture doesn't have can't be called either.
    for call in group?.calls.filter(SystemCalls.isKnown) ?? [name] { try refuse(call, kills: action == .kill, item) }
  }

  private mutating func refuse(_ call: String, kills: Bool, _ item: Node) throws(YAMLFileError) {
    if SystemCalls.indispensable.contains(call) {
      // Some of these are denied for what their arguments are.
      guard kills, !SystemCalls.isFree(call) else {
        let hint = CallParameter.calls.contains(call) ? "; a rule about an argument can deny some of it" : ""
        throw nodes.error(item, "systemCalls: \(Policy.rejectionReason(forRefusing: call) ?? call)\(hint)")
      }
    } else if SystemCalls.isEverAllowed(call) || !kills && SystemCalls.connecting.contains(call)
      || SystemCalls.starting.contains(call)
    {
      policy.systemCalls.refused.insert(call)
    }
    if kills { policy.systemCalls.onDenied[call] = .kill }
  }

  // MARK: Rules

  private mutating func readRule(_ item: Node, _ action: Policy.DeniedAction) throws(YAMLFileError) {
    let what = "a rule of systemCalls.\(action.rawValue)"
    var parts: [String: Node] = [:]
    for (key, value) in try nodes.pairs(item, what, known: Self.ruleKeys) { parts[key] = value }
    guard let call = parts["call"], let argument = parts["argument"], let equals = parts["equals"] else {
      throw nodes.error(
        item, "\(what) needs 'call', 'argument' and 'equals', as {call: prctl, argument: 0, equals: PR_SET_NAME}")
    }
    let values = try valueNodes(equals)
    let name = try nodes.scalar(call, "call")
    let place = try nodes.integer(argument, "argument", 0...5)
    let constants = CallConstants.all(of: name, place)
    let mask = try parts["mask"].map { (node) throws(YAMLFileError) in try number(node, "mask", constants) }
    var numbers: [UInt64] = []
    for value in values { numbers.append(try number(value, "equals", constants)) }
    let rule: CallRule
    do throws(CallRule.Rejection) {
      rule = try CallRule(action, name, argument: place, mask: mask, equals: numbers)
    } catch {
      let node =
        switch error.part {
        case .call: call
        case .argument: argument
        case .mask: parts["mask"] ?? item
        case .values: equals
        case .value(let index): values[index]
        }
      throw nodes.error(node, "systemCalls.\(action.rawValue): \(error.description)")
    }
    try add(rule, item)
  }

  private mutating func add(_ rule: CallRule, _ item: Node) throws(YAMLFileError) {
    for atom in rule.atoms {
      guard let other = decided[atom] else {
        decided[atom] = rule.action
        continue
      }
      throw nodes.error(
        item,
        other == rule.action
          ? "systemCalls.\(other.rawValue) has \(rule.words) already" : "\(rule.words) is under deny and under kill")
    }
    rules.append((item, rule))
    policy.systemCalls.rules.insert(rule)
    // After each: a million would each be compared with those before.
    if let reason = policy.callRulesRejectionReason { throw nodes.error(item, "systemCalls: \(reason)") }
  }

  /// A whole number of 64 bits: in decimal, with a sign where it is negative, or in hexadecimal or octal digits; or names of constants
  /// that the argument has, with `|` between.
  private func number(_ node: Node, _ key: String, _ constants: CallConstants?) throws(YAMLFileError) -> UInt64 {
    let text = try nodes.scalar(node, key)
    guard let number = Self.number(text) ?? constants?.value(of: text) else {
      let names = constants.map { "; names that it may have here are \(nodes.list($0.names))" } ?? ""
      throw nodes.error(
        node,
        "\(key) is \(nodes.shown(text)); it is a whole number such as 15, -1, 0x8000 or 0o644, of at most 64 bits\(names)"
      )
    }
    return number
  }

  private static func number(_ text: String) -> UInt64? {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] where text.hasPrefix(prefix) {
      let digits = text.dropFirst(2)
      // A sign could stand there, too.
      return digits.utf8.allSatisfy { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }
        ? UInt64(digits, radix: radix) : nil
    }
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    // YAML reads 010 as eight and people as ten.
    let isPlain =
      digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      && (digits.count == 1 || digits.first != UInt8(ascii: "0"))
    guard isPlain else { return nil }
    return UInt64(text) ?? Int64(text).map(UInt64.init(bitPattern:))
  }

  private func valueNodes(_ node: Node) throws(YAMLFileError) -> [Node] {
    if case .scalar = node { return [node] }
    return try nodes.items(node, "equals")
  }
}
