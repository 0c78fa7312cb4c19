internal import Foundation

/// A property list as XML. By `PropertyListEncoder`: in a program that has Swift's libraries in it, `PropertyListSerialization` writes
/// no arrays.
package enum WrittenPropertyList {
  /// Names the key and what stands there.
  package struct WriteError: Error, Equatable, CustomStringConvertible {
    package var key: String
    package var type: String

    package var description: String { "'\(key)' holds a \(type), which a property list can't" }
  }

  /// Takes strings, truth values, numbers, dates, data, and arrays and dictionaries of them.
  package static func xml(_ root: [String: Any]) throws(WriteError) -> [UInt8] {
    let value = try Value(root, at: "")
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .xml
    guard let data = try? encoder.encode(value) else { throw WriteError(key: "", type: "value of its own") }
    return Array(data)
  }

  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private enum Value: Encodable {
    case scalar(any Encodable & Sendable)
    case list([Value])
    case table([String: Value])

    init(_ value: Any, at key: String) throws(WriteError) {
      switch value {
      case let text as String: self = .scalar(text)
      case let flag as Bool: self = .scalar(flag)
      case let number as Int: self = .scalar(number)
      case let number as Int64: self = .scalar(number)
      case let number as UInt64: self = .scalar(number)
      case let number as Double: self = .scalar(number)
      case let date as Date: self = .scalar(date)
      case let data as Data: self = .scalar(data)
      case let values as [Any]:
        var list: [Value] = []
        for (index, value) in values.enumerated() { list.append(try Value(value, at: "\(key)[\(index)]")) }
        self = .list(list)
      case let values as [String: Any]:
        var table: [String: Value] = [:]
        for (name, value) in values { table[name] = try Value(value, at: key.isEmpty ? name : "\(key).\(name)") }
        self = .table(table)
      default: throw WriteError(key: key, type: "\(type(of: value))")
      }
    }

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .scalar(let value):
        var container = encoder.singleValueContainer()
        try container.encode(value)
      case .list(let values):
        var container = encoder.unkeyedContainer()
        for value in values { try container.encode(value) }
      case .table(let values):
        var container = encoder.container(keyedBy: Key.self)
        for (name, value) in values { try container.encode(value, forKey: Key(stringValue: name)) }
      }
    }
  }
}
