/// Names of C as names of Swift.
enum SwiftName {
  private static let keywords: Set<String> = [
    "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init", "inout",
    "internal", "let", "open", "operator", "private", "precedencegroup", "protocol", "public", "rethrows", "static",
    "struct", "subscript", "typealias", "var", "break", "case", "catch", "continue", "default", "defer", "do", "else",
    "fallthrough", "for", "guard", "if", "in", "repeat", "return", "throw", "switch", "where", "while", "Any", "as",
    "await", "catch", "false", "is", "nil", "super", "throws", "true", "try", "some", "any",
  ]
  /// Names that stand for something else even between backticks, or that what is written here uses.
  private static let taken: Set<String> = [
    "self", "Self", "Type", "Protocol", "_", "rawValue", "plugin", "load", "Types", "Callbacks", "Wire", "Handle",
    "outrider",
    "hash", "hashValue", "encode",
  ]
  /// Types and modules that what is written here uses.
  private static let types: Set<String> = [
    "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double", "Bool",
    "String", "Array", "Optional", "Void", "Hashable", "Sendable", "RawRepresentable", "BitwiseCopyable",
    "MemoryLayout",
    "FixedWidthInteger", "BinaryFloatingPoint", "UTF8", "Swift", "Plugin", "PluginHost", "PluginHandle", "HostError",
    "Policy",
    "Sandbox", "HostProtocol", "CallValue", "CallArgument", "CallResult",
  ]

  /// Of a function; nil where it has no name of ASCII. `isOther`: whether another function has a name. One that means something else
  /// in what is written here is followed by `_`.
  static func function(_ name: String, isOther: (String) -> Bool) -> String? {
    guard CName.isIdentifier(name) else { return nil }
    if let own = declared(name) { return own }
    var name = name + "_"
    while isOther(name) { name += "_" }
    return name
  }

  /// Of a function or a constant; nil where it can't have its own.
  static func declared(_ name: String) -> String? {
    guard CName.isIdentifier(name), !taken.contains(name), !types.contains(name) else { return nil }
    return keywords.contains(name) ? "`\(name)`" : name
  }

  /// Of the structure that has the functions; nil where what is written in it would mean something else by that name.
  static func module(_ name: String) -> String? { name == "Body" ? nil : declared(name) }

  /// Of a parameter; `number`: which one it is.
  static func parameter(_ name: String, _ number: Int) -> String {
    guard CName.isIdentifier(name) else { return "argument\(number)" }
    return keywords.contains(name) || taken.contains(name) || types.contains(name) ? name + "_" : name
  }

  /// What C calls a structure, union or enumeration by, without the word before it; nil where it has no name.
  static func tag(_ spelling: String) -> String? {
    let name = spelling.split(separator: " ").last.map(String.init) ?? ""
    guard CName.isIdentifier(name), spelling.split(separator: " ").count <= 2 else { return nil }
    return type(name)
  }

  /// Of a type; nil where it has no name of ASCII.
  static func type(_ name: String) -> String? {
    guard CName.isIdentifier(name) else { return nil }
    return declared(name) ?? name + "_"
  }
}
