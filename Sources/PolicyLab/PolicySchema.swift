internal import Foundation
internal import Sandbox

/// The form of a policy file as a JSON schema (draft 7), for editors that complete and check what is written. It says no more than
/// the form: contradictions and what a machine has are for `outrider policy check`.
package enum PolicySchema {
  private typealias Object = [String: Any]

  /// Its text, the same each time.
  package static func text() throws -> String {
    let data = try JSONSerialization.data(
      withJSONObject: schema, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    return String(decoding: data, as: UTF8.self)
  }

  private static var schema: Object {
    [
      "$schema": "http://json-schema.org/draft-07/schema#", "title": "Policy of a plugin", "type": "object",
      "required": ["version"],
      "oneOf": [
        object(first.merging(["version": version(1)]) { $1 }, required: ["version"]),
        object(second.merging(["version": version(2)]) { $1 }, required: ["version"]),
      ],
    ]
  }

  private static var first: Object {
    let paths = list(of: path("An absolute path."), unique: true)
    return [
      "read": described(paths, "What may be read, beside the bundle."),
      "write": described(paths, "What may be read and written, beside the container."),
      "libraries": described(paths, "What may be read, and mapped as code while the plugin runs."),
      "require": walls, "limits": limits,
      "onDenied": [
        "type": "object", "description": "What a denied system call leads to.",
        "additionalProperties": ["enum": ["deny", "kill"]],
      ] as Object,
    ]
  }

  private static var second: Object {
    [
      "extends": [
        "type": "string", "minLength": 1,
        "description":
          "A shipped policy (\(ShippedPolicy.allCases.map(\.rawValue).joined(separator: ", "))) or a file, as ./base.yaml.",
      ] as Object,
      "files": files,
      "devices": described(
        list(of: ["enum": PolicyDevice.allCases.map(\.rawValue)], unique: true), "The devices that may be opened."),
      "environment": described(
        list(of: ["type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*(=[\\s\\S]*)?$"], unique: true),
        "NAME passes the host's variable on, NAME=VALUE sets one."),
      "network": network,
      "processes": [
        "anyOf": [
          constant("none", "The plugin is one process."),
          ["type": "integer", "minimum": 0, "maximum": Policy.maxProcesses] as Object,
        ] as [Any], "description": "How many processes it may have at one time beside its own.",
      ] as Object,
      "systemCalls": described(
        object(["deny": calls, "kill": calls], required: []),
        "Calls, groups of calls and rules about arguments that fail, or end the run."),
      "executableMemory": [
        "enum": Policy.ExecutableMemory.allCases.map(\.rawValue),
        "description":
          "What may become code: what is mapped while the plugin is loaded; files later, too; its own memory, too.",
      ] as Object,
      "limits": limits, "require": walls,
      "observe": ["type": "boolean", "description": "Record every path that is named and not granted."] as Object,
    ]
  }

  private static var files: Object {
    let missing: Object = ["enum": ["skip", "error"], "description": "What a path that isn't there leads to."]
    // A variable, or an absolute path.
    let text: Object = ["type": "string", "pattern": "^(\\$(BUNDLE|CONTAINER|MANIFEST|RUNTIME|TMP)$|/)"]
    let absolute: Object = ["type": "string", "pattern": "^(\\$(BUNDLE|CONTAINER|MANIFEST|RUNTIME|TMP)$|/)"]
    let entry: Object = ["anyOf": [text, object(["path": absolute, "missing": missing], required: ["path"])]]
    let words: [PatternGrant.Access: String] = [
      .read: "What may be read.", .write: "What may be read and written: all of it, where nothing is extended.",
      .execute: "What may be read, and mapped as code while the plugin runs.",
      .list: "Folders whose names may be read, and not their files.",
    ]
    var properties: Object = ["missing": missing]
    for access in PatternGrant.Access.allCases {
      properties[access.rawValue] = described(list(of: entry, unique: false), words[access] ?? "")
    }
    return object(properties, required: [])
  }

  private static var network: Object {
    let text: Object = ["type": "string", "pattern": "^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[1-9][0-9]{0,4}$"]
    let port: Object = ["type": ["integer", "string"], "minimum": 1, "maximum": 65535, "pattern": "^[1-9][0-9]{0,4}$"]
    let host: Object = ["type": "string", "pattern": "^[A-Za-z0-9.:-]+$", "maxLength": 253]
    var ports = list(of: port, unique: true)
    ports["minItems"] = 1
    var hosts = list(
      of: ["anyOf": [text, object(["host": host, "ports": ports], required: ["host", "ports"])]], unique: true)
    hosts["maxItems"] = NetworkEndpoint.maxCount
    return [
      "anyOf": [constant("none", "No network."), constant("pairs", "Pairs of sockets (socketpair(2)) alone."), hosts],
      "description":
        "To what the host opens TCP connections for the plugin: none, pairs, or a list such as [example.org:443].",
    ]
  }

  private static var calls: Object {
    let name: Object = ["type": "string", "pattern": "^[A-Za-z0-9_]+$"]
    let number: Object = [
      "anyOf": [
        ["type": "integer"],
        ["type": "string", "pattern": "^(-?(0|[1-9][0-9]{0,19})|0x[0-9A-Fa-f]{1,16}|0o[0-7]{1,22})$"],
        // Names of constants that the argument has.
        ["type": "string", "pattern": "^ *[A-Z][A-Z0-9_]* *([|] *[A-Z][A-Z0-9_]* *)*$"],
      ] as [Any]
    ]
    var values = list(of: number, unique: true)
    (values["minItems"], values["maxItems"]) = (1, CallRule.maxValues)
    let rule = object(
      [
        "call": ["enum": CallParameter.calls],
        "argument": [
          "anyOf": [
            ["type": "integer", "minimum": 0, "maximum": 5] as Object, ["type": "string", "pattern": "^[0-5]$"],
          ] as [Any]
        ],
        "mask": described(number, "The bits of the argument that count."),
        "equals": described(["anyOf": [number, values] as [Any]], "Their values."),
      ] as Object, required: ["call", "argument", "equals"])
    return list(of: ["anyOf": [name, rule] as [Any]], unique: true)
  }

  private static var walls: Object {
    described(list(of: ["enum": Wall.allCases.map(\.rawValue)], unique: true), "Walls without which nothing runs.")
  }

  private static var limits: Object {
    var properties: Object = [:]
    for value in LimitValues.all(Limits()) {
      properties[value.name] = ["type": ["string", "integer"], "description": "By default \(value.text)."] as Object
    }
    return object(properties, required: [])
  }

  private static func version(_ number: Int) -> Object { ["enum": [number, "\(number)"] as [Any]] }

  private static func path(_ words: String) -> Object {
    ["type": "string", "pattern": "^/", "maxLength": 4095, "description": words]
  }

  private static func constant(_ value: String, _ words: String) -> Object { ["enum": [value], "description": words] }

  private static func list(of item: Object, unique: Bool) -> Object {
    var list: Object = ["type": "array", "items": item]
    if unique { list["uniqueItems"] = true }
    return list
  }

  private static func object(_ properties: Object, required: [String]) -> Object {
    var object: Object = ["type": "object", "additionalProperties": false, "properties": properties]
    if !required.isEmpty { object["required"] = required }
    return object
  }

  private static func described(_ object: Object, _ words: String) -> Object {
    object.merging(["description": words]) { $1 }
  }
}
