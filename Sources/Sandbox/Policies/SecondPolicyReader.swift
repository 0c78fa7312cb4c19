internal import Basics
internal import StrictYAML
internal import Yams

/// Turns the nodes of a policy of version 2 into values. Lists add to those of the policy that it extends, and single values take
/// the place of its: so nothing that a parent denies or requires is lost without a word.
struct SecondPolicyReader {
  static let keys = [
    "version", "extends", "files", "devices", "environment", "network", "systemCalls", "processes", "executableMemory",
    "limits", "require", "observe",
  ]
  /// What version 1 called otherwise.
  private static let formerKeys = [
    "read": "files: {read: […]}", "write": "files: {write: […]}",
    "libraries": "files: {execute: […]} with executableMemory: later", "onDenied": "systemCalls: {kill: […]}",
  ]

  let nodes: YAMLNodes
  /// What it extends; nil: nothing.
  let parent: Policy?
  let parentName: String
  private(set) var policy: Policy
  private(set) var warnings: [YAMLFileError] = []
  private(set) var places: [String: PolicyFile.Place] = [:]
  /// Rules about arguments, each where it stands.
  private var rules: [(Node, CallRule)] = []

  init(nodes: YAMLNodes, parent: Policy?, parentName: String) {
    (self.nodes, self.parent, self.parentName) = (nodes, parent, parentName)
    policy = parent ?? Policy()
  }

  static func hint(for key: String) -> String? { formerKeys[key].map { "in version 2 it is '\($0)'" } }

  mutating func read(_ pairs: [(String, Node)], _ root: Node) throws(YAMLFileError) {
    for (key, value) in pairs {
      switch key {
      case "files": try readFiles(value)
      case "devices": try readDevices(value)
      case "environment": try readEnvironment(value)
      case "network": try readNetwork(value)
      case "systemCalls": try readSystemCalls(value)
      case "processes": try readProcesses(value)
      case "executableMemory": try readExecutableMemory(value)
      case "limits": try readLimits(value)
      case "require": policy.require.formUnion(try nodes.walls(value))
      case "observe": policy.observesFiles = try boolean(value, key)
      default: break
      }
    }
    for (key, value) in pairs where key == "files" { try checkFiles(value) }
    for (key, value) in pairs where key == "network" || key == "systemCalls" { try checkNetwork(value) }
    for (key, value) in pairs where key == "processes" || key == "systemCalls" { try checkProcesses(value) }
    checkRules()
  }

  private mutating func readFiles(_ node: Node) throws(YAMLFileError) {
    var reader = FileGrantReader(nodes: nodes, policy: policy, parent: parent)
    try reader.read(node)
    (policy, places) = (reader.policy, reader.places)
    for (node, text) in reader.widenings { widens(node, text) }
    for (node, text) in reader.needless { warnings.append(nodes.error(node, text)) }
  }

  /// What only all keys together tell.
  private mutating func checkFiles(_ node: Node) throws(YAMLFileError) {
    let isExecuted = !policy.libraries.isEmpty || policy.patterns.contains { $0.access == .execute }
    if isExecuted, policy.executableMemory == .loading {
      throw nodes.error(
        node, "files.execute names code that is mapped while the plugin runs, which needs 'executableMemory: later'")
    }
    for path in policy.libraries where policy.write.contains(path) {
      throw nodes.error(
        node, "\(nodes.shown(path)) is under write and under execute: a plugin could map what it wrote as code")
    }
  }

  /// A list takes the place of the machine's four devices; under a parent it adds to the parent's.
  private mutating func readDevices(_ node: Node) throws(YAMLFileError) {
    var devices: Set<PolicyDevice> = []
    for item in try nodes.items(node, "devices") {
      let name = try nodes.scalar(item, "a device in devices")
      guard let device = PolicyDevice(rawValue: name) else {
        throw nodes.error(
          item, "\(nodes.shown(name)) isn't a device that a plugin may have; they are \(nodes.list(Self.deviceNames))")
      }
      guard devices.insert(device).inserted else { throw nodes.error(item, "devices: \(name) is listed twice") }
      if let parent, !parent.devices.contains(device) { widens(item, "the device \(name)") }
    }
    policy.devices = (parent?.devices ?? []).union(devices)
  }

  private static let deviceNames = PolicyDevice.allCases.map(\.rawValue)

  private mutating func readEnvironment(_ node: Node) throws(YAMLFileError) {
    var own: Set<String> = []
    for item in try nodes.items(node, "environment") {
      let variable = PolicyVariable(try nodes.scalar(item, "a variable in environment"))
      if let rejectionReason = variable.rejectionReason { throw nodes.error(item, "environment: \(rejectionReason)") }
      guard own.insert(variable.name).inserted else {
        throw nodes.error(item, "environment: \(variable.name) is listed twice")
      }
      if parent != nil, !policy.environment.contains(variable) { widens(item, "the variable \(variable.name)") }
      policy.environment.removeAll { $0.name == variable.name }
      policy.environment.append(variable)
      guard policy.environment.count <= PolicyVariable.maxCount else {
        throw nodes.error(
          item, "environment has at most \(PolicyVariable.maxCount) variables, with those that it extends")
      }
    }
  }

  private mutating func readNetwork(_ node: Node) throws(YAMLFileError) {
    var reader = NetworkReader(nodes: nodes, policy: policy, parent: parent)
    try reader.read(node)
    (policy.network, policy.socketPairs) = (reader.endpoints, reader.pairs)
    for (node, text) in reader.widenings { widens(node, text) }
  }

  private func checkNetwork(_ node: Node) throws(YAMLFileError) {
    guard policy.hasNetwork else { return }
    for name in SystemCalls.connecting
    where policy.systemCalls.refused.contains(name) || policy.systemCalls.onDenied[name] == .kill {
      throw nodes.error(
        node,
        policy.network.isEmpty
          ? "network allows pairs of sockets, and systemCalls denies \(name), without which there are none"
          : "network lists hosts, and systemCalls denies \(name), without which there is no connection to them")
    }
  }

  private mutating func readProcesses(_ node: Node) throws(YAMLFileError) {
    let text = try nodes.scalar(node, "processes")
    // A leading zero means eight as the base to some readers.
    let isPlain = text.utf8.count <= 4 && DecimalText.isDigits(text) && (text == "0" || text.utf8.first != 0x30)
    guard let number = text == "none" ? 0 : isPlain ? Int(text) : nil, number <= Policy.maxProcesses else {
      throw nodes.error(
        node,
        "processes is \(nodes.shown(text)); it is none, or how many there may be beside the plugin's own, up to \(Policy.maxProcesses)"
      )
    }
    if let parent, number > parent.processes { widens(node, "processes: \(number)") }
    policy.processes = number
  }

  private func checkProcesses(_ node: Node) throws(YAMLFileError) {
    guard policy.processes > 0, let name = policy.deniedStarts.first else { return }
    throw nodes.error(node, "processes allows some, and systemCalls denies \(name)")
  }

  private mutating func readSystemCalls(_ node: Node) throws(YAMLFileError) {
    var reader = SystemCallReader(nodes: nodes, policy: policy)
    try reader.read(node)
    policy = reader.policy
    rules = reader.rules
  }

  /// What only all keys together tell.
  private mutating func checkRules() {
    for (node, rule) in rules {
      guard let text = policy.lackOfEffect(of: rule, inherited: parent?.systemCalls.rules ?? []) else { continue }
      warnings.append(nodes.error(node, text))
    }
  }

  private mutating func readExecutableMemory(_ node: Node) throws(YAMLFileError) {
    let text = try nodes.scalar(node, "executableMemory")
    guard let value = Policy.ExecutableMemory(rawValue: text) else {
      let values = Policy.ExecutableMemory.allCases.map(\.rawValue)
      throw nodes.error(node, "executableMemory is \(nodes.shown(text)); it is one of \(nodes.list(values))")
    }
    if let parent, value > parent.codeAllowed { widens(node, "executableMemory: \(text)") }
    policy.executableMemory = value
  }

  private mutating func readLimits(_ node: Node) throws(YAMLFileError) {
    policy.limits = try nodes.limits(node, over: policy.limits)
    guard let parent else { return }
    for (key, value) in try nodes.pairs(node, "limits", known: YAMLNodes.limitKeys)
    where policy.limits.exceeds(parent.limits, in: key) {
      widens(value, "limits.\(key)")
    }
  }

  private func boolean(_ node: Node, _ key: String) throws(YAMLFileError) -> Bool {
    switch try nodes.scalar(node, key) {
    case "true": return true
    case "false": return false
    case let text: throw nodes.error(node, "\(key) is \(nodes.shown(text)); it is true or false")
    }
  }

  private mutating func widens(_ node: Node, _ what: String) {
    guard parent != nil else { return }
    warnings.append(nodes.error(node, "\(what) is more than \(nodes.shown(parentName)) allows, which it extends"))
  }
}
