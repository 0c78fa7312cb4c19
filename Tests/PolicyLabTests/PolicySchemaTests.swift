import Foundation
import Sandbox
import StrictYAML
import Testing

@testable import PolicyLab

/// What the schema takes, the reader takes, and the other way round, as far as form goes.
@Suite(.timeLimit(.minutes(1))) struct PolicySchemaTests {
  private static var schema: [String: Any] {
    let object = try? JSONSerialization.jsonObject(with: Data(PolicySchema.text().utf8))
    return object as? [String: Any] ?? [:]
  }

  /// JSON is YAML, so that one text serves both.
  private func verdicts(_ text: String) throws -> (schema: Bool, reader: Bool) {
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    let isPolicy = (try? Policy(parsing: text, file: "p")) != nil
    return (SchemaValidator.accepts(value, Self.schema), isPolicy)
  }

  @Test(arguments: [
    #"{"version": 1}"#, #"{"version": "1", "read": ["/a"], "limits": {"wall": "1s", "threads": 0}}"#,
    #"{"version": 1, "onDenied": {"socket": "kill"}, "require": ["seccomp"], "libraries": ["/x"]}"#,
    #"{"version": 2}"#, #"{"version": 2, "extends": "computation"}"#,
    #"{"version": 2, "files": {"read": ["$BUNDLE", "/a", {"path": "/b/*", "missing": "skip"}], "missing": "error"}}"#,
    #"{"version": 2, "files": {"write": [], "list": ["/a"], "execute": ["/x"]}, "executableMemory": "jit"}"#,
    #"{"version": 2, "devices": ["null"], "environment": ["A", "B=c"], "network": "none", "processes": "none"}"#,
    #"{"version": 2, "processes": 0}"#, #"{"version": 2, "processes": 64}"#,
    #"{"version": 2, "network": ["a.example:443", "10.0.0.5:80", "[::1]:1", {"host": "b", "ports": [80, "65535"]}]}"#,
    #"{"version": 2, "network": []}"#, #"{"version": 2, "network": "pairs"}"#,
    #"{"version": 2, "systemCalls": {"deny": ["sockets"], "kill": ["ptrace"]}, "observe": true, "require": []}"#,
    #"{"version": 2, "limits": {"memory": "8MiB", "fileSize": 4096, "logBytes": "1KiB", "cpu": "1s"}}"#,
    #"{"version": 2, "systemCalls": {"deny": ["mkdir", {"call": "prctl", "argument": 0, "equals": 15}]}}"#,
    #"{"version": 2, "systemCalls": {"kill": [{"call": "mmap", "argument": "2", "mask": "0x4", "equals": ["0o4", 0]}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "kill", "argument": 0, "equals": [-1, "-2", "0xF"]}]}}"#,
  ])
  func takes(_ text: String) throws { #expect(try verdicts(text) == (true, true)) }

  @Test(arguments: [
    "[]", "1", #"{}"#, #"{"version": 3}"#, #"{"version": 2, "read": ["/a"]}"#, #"{"version": 1, "files": {}}"#,
    #"{"version": 1, "read": "/a"}"#, #"{"version": 1, "read": ["a"]}"#, #"{"version": 1, "read": ["/a", "/a"]}"#,
    #"{"version": 1, "require": ["moat"]}"#, #"{"version": 1, "onDenied": {"socket": "allow"}}"#,
    #"{"version": 2, "files": ["/a"]}"#, #"{"version": 2, "files": {"raed": []}}"#,
    #"{"version": 2, "files": {"read": ["$HOME"]}}"#, #"{"version": 2, "files": {"read": [{"missing": "skip"}]}}"#,
    #"{"version": 2, "files": {"read": [{"path": "/a", "missing": "no"}]}}"#,
    #"{"version": 2, "files": {"read": [1]}}"#,
    #"{"version": 2, "devices": ["zero"]}"#, #"{"version": 2, "devices": "all"}"#,
    #"{"version": 2, "environment": ["1A"]}"#, #"{"version": 2, "environment": {"A": "b"}}"#,
    #"{"version": 2, "network": "all"}"#, #"{"version": 2, "network": ["pairs"]}"#,
    #"{"version": 2, "network": ["a.example"]}"#,
    #"{"version": 2, "network": ["a b:1"]}"#, #"{"version": 2, "network": ["a:0"]}"#, #"{"version": 2, "network": {}}"#,
    #"{"version": 2, "network": [{"host": "a"}]}"#, #"{"version": 2, "network": [{"host": "a", "ports": []}]}"#,
    #"{"version": 2, "network": [{"host": "a", "ports": [0]}]}"#,
    #"{"version": 2, "network": [{"host": "a", "ports": [65536]}]}"#,
    #"{"version": 2, "network": [{"host": "a", "ports": [1], "udp": true}]}"#,
    #"{"version": 2, "processes": 65}"#, #"{"version": 2, "processes": -1}"#, #"{"version": 2, "processes": "some"}"#,
    #"{"version": 2, "systemCalls": {"allow": ["socket"]}}"#,
    #"{"version": 2, "systemCalls": ["socket"]}"#, #"{"version": 2, "executableMemory": "always"}"#,
    #"{"version": 2, "observe": "maybe"}"#, #"{"version": 2, "limits": {"wal": "1s"}}"#,
    #"{"version": 2, "extends": 1.5}"#,
    #"{"version": 2, "limits": {"wall": ["1s"]}}"#, #"{"version": 2, "extends": ""}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": 0}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "read", "argument": 0, "equals": 0}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": 6, "equals": 0}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": "00", "equals": 0}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": 0, "equals": []}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": 0, "equals": "017"}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": 0, "equals": 0, "value": 1}]}}"#,
    #"{"version": 2, "systemCalls": {"deny": [{"call": "prctl", "argument": 0, "equals": [1, 1]}]}}"#,
  ])
  func refuses(_ text: String) throws { #expect(try verdicts(text) == (false, false), "\(text)") }

  /// The keys of both are the same ones: each is taken with some value, and with another letter by neither.
  @Test func knowsTheSameKeys() throws {
    let versions = try #require(Self.schema["oneOf"] as? [[String: Any]])
    for (version, object) in versions.enumerated() {
      let properties = try #require(object["properties"] as? [String: Any])
      for key in properties.keys where key != "version" {
        let error = try #require(
          throws: YAMLFileError.self,
          performing: { try Policy(parsing: "{version: \(version + 1), \(key): {x: [{}]}}", file: "p") })
        #expect(!error.message.contains("isn't a key of a policy"), "\(key)")
      }
    }
  }

  @Test func shippedPoliciesDescribeThemselves() throws {
    for shipped in ShippedPolicy.allCases {
      let policy = try Policy(parsing: shipped.text, file: shipped.rawValue)
      let text = PolicyDescription(policy).lines.joined(separator: "\n")
      #expect(text.contains("no network") && text.contains("Limits of one call: wall"))
      #expect(PolicyDifference(from: policy, to: policy).changes.isEmpty)
      #expect(PolicyWarnings.find(policy, on: .init { _ in true }).isEmpty)
    }
  }

  @Test(
    "a policy says what of the network it gives, in its own words and in JSON",
    arguments: [
      ("none", [], "It has no network."), ("[]", [], "It has no network."),
      ("pairs", ["pairs"], "no network but pairs of sockets"),
      ("[a.example:1]", ["a.example:1"], "to these, and to nothing else"),
    ] as [(String, [String], String)])
  func network(_ value: String, _ shown: [String], _ words: String) throws {
    let policy = try Policy(parsing: "version: 2\nnetwork: \(value)\n", file: "p")
    let description = PolicyDescription(policy)
    #expect(description.network == shown && description.lines.contains { $0.contains(words) }, "\(description.lines)")
    let change = PolicyDifference(from: Policy(), to: policy).changes
    #expect(change.map(\.isWider) == (shown.isEmpty ? [] : [true]), "\(change)")
  }

  /// Everything that version 2 says comes back from what is written of it.
  @Test func whatIsRecordedIsThePolicy() throws {
    var policy = try Policy(
      parsing: """
        version: 2
        files:
          read: [/usr/share/x, {path: "/srv/*.db", missing: skip}, "/odd/a\\\\*b"]
          write: [$TMP, {path: /srv/cache, missing: skip}]
          execute: [/opt/lib]
          list: [/srv]
        devices: [null]
        environment: [LANG, "A=b: # c"]
        systemCalls:
          deny: [fileChanges, {call: prctl, argument: 0, equals: [15, -1]}]
          kill: [socket, getpgid, {call: mmap, argument: 2, mask: 0x4, equals: 0x4}]
        executableMemory: jit
        require: [seccomp]
        limits: {memory: 4MiB}
        """, file: "p")
    let text = PolicyText(Recording(policy: policy, from: policy), command: "x").text
    let read = try Policy(parsing: text, file: "recorded")
    // One pattern stands for a single path.
    #expect(policy.patterns.count == 2 && text.hasPrefix("# Recorded") && text.contains("version: 2"))
    policy.observesFiles = read.observesFiles
    #expect(read == policy, "\(text)")
  }
}

/// As much of JSON schemas (draft 7) as the one above uses.
private enum SchemaValidator {
  static func accepts(_ value: Any, _ schema: [String: Any]) -> Bool {
    for (key, rule) in schema {
      switch key {
      case "type":
        let names = rule as? [String] ?? [rule as? String ?? ""]
        guard names.contains(where: { isOf($0, value) }) else { return false }
      case "enum":
        guard (rule as? [Any] ?? []).contains(where: { ($0 as? NSObject) == (value as? NSObject) }) else {
          return false
        }
      case "oneOf":
        guard (rule as? [[String: Any]] ?? []).count(where: { accepts(value, $0) }) == 1 else { return false }
      case "anyOf":
        guard (rule as? [[String: Any]] ?? []).contains(where: { accepts(value, $0) }) else { return false }
      case "required":
        guard let object = value as? [String: Any] else { continue }
        guard (rule as? [String] ?? []).allSatisfy({ object[$0] != nil }) else { return false }
      case "properties":
        guard let object = value as? [String: Any] else { continue }
        for (name, part) in rule as? [String: [String: Any]] ?? [:] {
          if let own = object[name], !accepts(own, part) { return false }
        }
      case "additionalProperties":
        guard let object = value as? [String: Any] else { continue }
        let others = object.filter { (schema["properties"] as? [String: Any])?[$0.key] == nil }
        if (rule as? Bool) == false, !others.isEmpty { return false }
        if let part = rule as? [String: Any], !others.values.allSatisfy({ accepts($0, part) }) { return false }
      case "items":
        for item in value as? [Any] ?? [] where !accepts(item, rule as? [String: Any] ?? [:]) { return false }
      case "uniqueItems":
        let items = (value as? [NSObject]) ?? []
        guard Set(items).count == items.count else { return false }
      case "minLength": if let text = value as? String, text.count < rule as? Int ?? 0 { return false }
      case "maxLength": if let text = value as? String, text.count > rule as? Int ?? .max { return false }
      case "minimum", "maximum":
        guard let number = value as? NSNumber, !(value is String), let bound = rule as? Int else { continue }
        guard key == "minimum" ? number.intValue >= bound : number.intValue <= bound else { return false }
      case "minItems": if let items = value as? [Any], items.count < rule as? Int ?? 0 { return false }
      case "maxItems": if let items = value as? [Any], items.count > rule as? Int ?? .max { return false }
      case "pattern":
        guard let text = value as? String else { continue }
        guard text.range(of: rule as? String ?? "", options: .regularExpression) != nil else { return false }
      case "$schema", "title", "description": break
      default:
        Issue.record("the schema uses \(key), which this doesn't know")
        return false
      }
    }
    return true
  }

  private static func isOf(_ type: String, _ value: Any) -> Bool {
    switch type {
    case "object": value is [String: Any]
    case "array": value is [Any]
    case "string": value is String
    case "integer": (value as? NSNumber).map { Double(exactly: $0.int64Value) == $0.doubleValue } ?? false
    case "boolean": value is Bool
    default: false
    }
  }
}
