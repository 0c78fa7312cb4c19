internal import AssetModel
package import Sandbox
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
package struct PolicyTests: Sendable {
  package struct Test: Sendable {
    package var name: String
    package var symbol: String
    package var signature: String
    package var arguments: [String]
    package var policy: Policy
    package var expectations: [Expectation]
    /// Where it stands in the file.
    package var line: Int
  }

  /// A name such as libz.so.1, or a path; a relative one begins where the file lies.
  package private(set) var plugin = ""
  package private(set) var tests: [Test] = []

  package static let maxTests = 1000
  private static let maxExpectations = 100
  private static let maxArguments = 64

  /// `policy`: reads the policy that a relative or absolute path names. Throws what that throws, else `PolicyFileError`.
  package init(
    parsing text: String, file: String, policy read: (String) throws -> Policy
  ) throws {
    let nodes = PolicyNodes(file: file)
    let root = try PolicyDocument(text, file: file, noun: "a test file").root
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
      case "policy": policy = try read(try nodes.scalar(value, key))
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

  private static func test(
    _ node: Node, _ nodes: PolicyNodes, _ policy: Policy, _ read: (String) throws -> Policy
  ) throws -> Test {
    var test = Test(
      name: "", symbol: "", signature: "void()", arguments: [], policy: policy, expectations: [],
      line: node.mark?.line ?? 1)
    let keys = ["name", "call", "signature", "arguments", "policy", "limits", "observe", "expect"]
    let pairs = try nodes.pairs(node, "a test", known: keys)
    // Limits are set over those of the policy, wherever it stands.
    for (key, value) in pairs where key == "policy" { test.policy = try read(try nodes.scalar(value, key)) }
    for (key, value) in pairs {
      switch key {
      case "name": test.name = try nodes.scalar(value, key)
      case "call": test.symbol = try nodes.scalar(value, key)
      case "signature": test.signature = try nodes.scalar(value, key)
      case "arguments": test.arguments = try texts(value, key, nodes, max: maxArguments)
      case "limits": test.policy.limits = try nodes.limits(value, over: test.policy.limits)
      case "observe":
        let text = try nodes.scalar(value, key)
        guard ["true", "false"].contains(text) else { throw nodes.error(value, "observe is true or false") }
        test.policy.observesFiles = text == "true"
      case "expect": test.expectations = try expectations(value, nodes)
      default: break
      }
    }
    guard !test.symbol.isEmpty else { throw nodes.error(node, "a test needs 'call', the name of a function") }
    if test.name.isEmpty { test.name = test.symbol }
    if !test.expectations.contains(where: \.isOfOutcome), let returned = try? Expectation(parsing: "returned") {
      test.expectations.insert(returned, at: 0)
    }
    if test.expectations.contains(where: \.needsObservation) { test.policy.observesFiles = true }
    return test
  }

  private static func texts(
    _ node: Node, _ key: String, _ nodes: PolicyNodes, max: Int
  ) throws(PolicyFileError) -> [String] {
    let items = try nodes.items(node, key)
    guard items.count <= max else { throw nodes.error(node, "\(key) has at most \(max) entries") }
    var texts: [String] = []
    for item in items { texts.append(try nodes.scalar(item, "an entry of \(key)")) }
    return texts
  }

  private static func expectations(_ node: Node, _ nodes: PolicyNodes) throws(PolicyFileError) -> [Expectation] {
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
