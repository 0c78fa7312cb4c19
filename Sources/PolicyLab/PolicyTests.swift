internal import AssetModel
internal import HostProtocol
package import Sandbox
internal import StrictYAML
internal import Yams

/// A file of tests: what a library does under a policy, call by call.
///
///     version: 1
///     plugin: libz.so.1
///     policy: computation.yaml
///     tests:
///       - call: crc32
///         signature: u64(u64,bytes,u32)
///         arguments: [0, hello, 5]
///         expect: [returned 907060870, no denials]
///       - steps:
///           - {call: sqlite3_open, signature: 'i32(cstring,out(8))', arguments: [$CONTAINER/a.db], save: {db: out}}
///           - {call: sqlite3_close, signature: i32(pointer), arguments: [$db]}
package struct PolicyTests: Sendable {
  package struct Test: Sendable {
    package var name: String
    /// In their order, in one process.
    package var steps: [CallStep]
    package var policy: Policy
    package var expectations: [Expectation]
    /// Names of the limits that are the test's own, over those of its policy.
    package var ownLimits: Set<String> = []
    /// Where it stands in the file.
    package var line: Int
  }

  /// A name such as libz.so.1, or a path; a relative one begins where the file lies.
  package private(set) var plugin = ""
  package private(set) var tests: [Test] = []

  package static let maxTests = 1000
  private static let maxExpectations = 100
  private static let maxSteps = 200

  /// A policy that the file names couldn't be read.
  package struct UnreadPolicy: Error {
    /// The file, the line and the column that name it.
    package var place: String
    package var reason: any Error
  }

  /// `policy`: reads the policy that a relative or absolute path names. Throws `UnreadPolicy` with what that throws, else
  /// `YAMLFileError`.
  package init(
    parsing text: String, file: String, policy read: (String) throws -> Policy
  ) throws {
    let nodes = YAMLNodes(file: file)
    let root = try YAMLDocument(text, file: file, noun: "a test file").root
    let keys = ["version", "plugin", "policy", "tests"]
    var policy = Policy()
    var list: [Node]?
    for (key, value) in try nodes.pairs(root, "a test file", known: keys) {
      switch key {
      case "version":
        let version = try nodes.scalar(value, key)
        guard version == "1" else {
          throw nodes.error(value, "version is \(nodes.shown(version)); this host reads version 1")
        }
      case "plugin": plugin = try nodes.scalar(value, key)
      case "policy": policy = try Self.policy(value, nodes, read)
      default: list = try nodes.items(value, key)
      }
    }
    guard let list, !list.isEmpty, !plugin.isEmpty else {
      throw nodes.error(root, "a test file needs 'plugin' and 'tests'; the known keys are \(nodes.list(keys))")
    }
    guard list.count <= Self.maxTests else {
      throw nodes.error(root, "a test file has at most \(Self.maxTests) tests; this one has \(list.count)")
    }
    for node in list { tests.append(try Self.test(node, nodes, policy, read)) }
  }

  private static func policy(
    _ node: Node, _ nodes: YAMLNodes, _ read: (String) throws -> Policy
  ) throws -> Policy {
    let path = try nodes.scalar(node, "policy")
    do {
      return try read(path)
    } catch {
      let at = nodes.error(node, "")
      throw UnreadPolicy(place: "\(at.file):\(at.line):\(at.column)", reason: error)
    }
  }

  private static func test(
    _ node: Node, _ nodes: YAMLNodes, _ policy: Policy, _ read: (String) throws -> Policy
  ) throws -> Test {
    var test = Test(name: "", steps: [], policy: policy, expectations: [], line: node.mark?.line ?? 1)
    let keys =
      ["name", "call", "signature", "arguments", "steps", "policy", "limits", "observe", "expect"]
    let pairs = try nodes.pairs(node, "a test", known: keys)
    // Limits are set over those of the policy, wherever it stands.
    for (key, value) in pairs where key == "policy" { test.policy = try Self.policy(value, nodes, read) }
    for (key, value) in pairs {
      switch key {
      case "name": test.name = try nodes.scalar(value, key)
      case "limits":
        test.policy.limits = try nodes.limits(value, over: test.policy.limits)
        test.ownLimits = Set(try nodes.pairs(value, key, known: YAMLNodes.limitKeys).map(\.0))
      case "observe":
        let text = try nodes.scalar(value, key)
        guard ["true", "false"].contains(text) else { throw nodes.error(value, "observe is true or false") }
        test.policy.observesFiles = text == "true"
      case "expect": test.expectations = try expectations(value, nodes)
      default: break
      }
    }
    test.steps = try steps(of: node, pairs, nodes)
    if test.name.isEmpty { test.name = test.steps[0].symbol }
    if !test.expectations.contains(where: \.isOfOutcome), let returned = try? Expectation(parsing: "returned") {
      test.expectations.insert(returned, at: 0)
    }
    if test.expectations.contains(where: \.needsObservation) { test.policy.observesFiles = true }
    return test
  }

  /// Those under `steps`, or the one that the test itself is.
  private static func steps(
    of node: Node, _ pairs: [(String, Node)], _ nodes: YAMLNodes
  ) throws(YAMLFileError) -> [CallStep] {
    let own = ["call", "signature", "arguments"]
    guard let (_, list) = pairs.first(where: { $0.0 == "steps" }) else {
      let step = try step(node, pairs.filter { own.contains($0.0) }, nodes)
      try check(step, at: node, StepValues.reserved, nodes)
      return [step]
    }
    if let (key, value) = pairs.first(where: { own.contains($0.0) }) {
      throw nodes.error(value, "a test has either 'steps' or '\(key)'")
    }
    let items = try nodes.items(list, "steps")
    guard (1...maxSteps).contains(items.count) else {
      throw nodes.error(list, "steps has 1 to \(maxSteps) entries; this one has \(items.count)")
    }
    var steps: [CallStep] = []
    var saved = StepValues.reserved
    for item in items {
      let step = try step(item, try nodes.pairs(item, "a step", known: own + ["save", "returns"]), nodes)
      try check(step, at: item, saved, nodes)
      saved.formUnion(step.save.keys)
      steps.append(step)
    }
    return steps
  }

  private static func step(
    _ node: Node, _ pairs: [(String, Node)], _ nodes: YAMLNodes
  ) throws(YAMLFileError) -> CallStep {
    var step = CallStep(symbol: "", signature: CallSignature(result: .void, arguments: []), arguments: [])
    for (key, value) in pairs {
      switch key {
      case "call": step.symbol = try nodes.scalar(value, key)
      case "signature":
        let text = try nodes.scalar(value, key)
        do throws(CallSignature.ParseError) {
          step.signature = try CallSignature(parsing: text)
        } catch {
          throw nodes.error(value, error.description)
        }
      case "arguments": step.arguments = try texts(value, key, nodes, max: CallSignature.maxArguments)
      case "returns": step.returns = try nodes.scalar(value, key)
      default: step.save = try saved(value, nodes)
      }
    }
    guard !step.symbol.isEmpty else { throw nodes.error(node, "a call needs 'call', the name of a function") }
    guard step.signature.given.count == step.arguments.count else {
      throw nodes.error(
        node,
        "\(step.signature) takes \(step.signature.given.count) arguments (out(N) and 'out T' take none); there are \(step.arguments.count)"
      )
    }
    return step
  }

  private static func saved(_ node: Node, _ nodes: YAMLNodes) throws(YAMLFileError) -> [String: CallStep.Source] {
    var saved: [String: CallStep.Source] = [:]
    for (name, value) in try nodes.pairs(node, "save", naming: "names of what later steps use") {
      let isName = name.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7a).contains($0 | 0x20) || $0 == 0x5f
      }
      guard isName, !name.isEmpty, !StepValues.reserved.contains(name) else {
        throw nodes.error(
          value, "save: \(nodes.shown(name)) isn't a name of letters and digits, or has its own meaning")
      }
      let text = try nodes.scalar(value, "save.\(name)")
      switch text {
      case "result": saved[name] = .result
      case "out": saved[name] = .output(0)
      default:
        guard text.hasPrefix("out"), let number = Int(text.dropFirst(3)), (1...CallSignature.maxArguments) ~= number
        else {
          throw nodes.error(
            value, "save.\(name) is \(nodes.shown(text)); it is result, out, or out2 for the second out(N)")
        }
        saved[name] = .output(number - 1)
      }
    }
    return saved
  }

  private static func check(
    _ step: CallStep, at node: Node, _ known: Set<String>, _ nodes: YAMLNodes
  ) throws(YAMLFileError) {
    for word in step.arguments {
      guard let name = StepValues.reference(in: word), !known.contains(name) else { continue }
      throw nodes.error(
        node, "no step before saves \(nodes.shown("$" + name)); write $$ for an argument that begins with a dollar sign"
      )
    }
    for (name, source) in step.save {
      if case .output(let index) = source, index >= step.outputs {
        throw nodes.error(node, "save.\(name): \(step.signature) has \(step.outputs) of out(N)")
      }
    }
  }

  private static func texts(
    _ node: Node, _ key: String, _ nodes: YAMLNodes, max: Int
  ) throws(YAMLFileError) -> [String] {
    let items = try nodes.items(node, key)
    guard items.count <= max else { throw nodes.error(node, "\(key) has at most \(max) entries") }
    var texts: [String] = []
    for item in items { texts.append(try nodes.scalar(item, "an entry of \(key)")) }
    return texts
  }

  private static func expectations(_ node: Node, _ nodes: YAMLNodes) throws(YAMLFileError) -> [Expectation] {
    let items = try nodes.items(node, "expect")
    guard items.count <= maxExpectations else {
      throw nodes.error(node, "expect has at most \(maxExpectations) entries")
    }
    var all: [Expectation] = []
    for item in items {
      let text = try nodes.scalar(item, "an expectation")
      do throws(Expectation.Invalid) { all.append(try Expectation(parsing: text)) } catch {
        throw nodes.error(item, error.message)
      }
    }
    return all
  }
}
