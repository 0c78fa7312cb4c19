internal import AssetModel

/// A file of Swift with a typed function for each function of a library that its headers describe.
package struct SwiftBinding: Sendable, Equatable {
  package struct Unbound: Sendable, Equatable, Encodable {
    package var function: String
    package var reason: String
  }

  /// The library or the module can't be written into a file.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  package let text: String
  /// Functions that are bound.
  package let bound: [String]
  package let unbound: [Unbound]

  /// - Parameters:
  ///   - module: What the structure is called that has the functions.
  ///   - headers: Where they were declared, for people.
  ///   - library: What is loaded when nothing else is named.
  ///   - exported: The functions that the library exports; others aren't bound.
  ///   - description: What the headers declare.
  /// - Throws: Where the module or the library has a name that no file of Swift can have.
  package init(
    module: String, headers: [String], library: String, exported: [String], description: HeaderDescription
  ) throws(Failure) {
    guard CName.isIdentifier(module), SwiftName.module(module) == module else {
      throw Failure(
        description:
          "'\(Printable.text(module, limit: 60))' can't be the name of a structure of Swift here; --module gives it another"
      )
    }
    guard library.unicodeScalars.allSatisfy({ !DownloadRules.isDeceptive($0) && $0 != "\"" && $0 != "\\" }) else {
      throw Failure(description: "'\(Printable.text(library, limit: 60))' can't be written into a file of Swift")
    }
    let gathered = GatheredBindings(of: exported, in: description, module: module)
    let (functions, records) = (gathered.functions, gathered.records)
    unbound = gathered.unbound
    var lines = [
      "// Made by 'outrider bind' from \(Printable.text(headers.joined(separator: ", "), limit: 300)). What is changed here is lost",
      "// when it is made again.", "public import HostProtocol", "public import PluginHost", "public import Sandbox",
      "",
    ]
    lines += SwiftBindingParts.head(module: module, library: library)
    for function in functions { lines += function.lines.map { $0.isEmpty ? "" : "  " + $0 } }
    lines += Self.types(functions, records, description).map { $0.isEmpty ? "" : "  " + $0 }
    lines += Self.callbacks(gathered.callbacks, module).map { $0.isEmpty ? "" : "  " + $0 }
    lines += ["}", ""] + Self.conversions(records, module) + SwiftBindingParts.wire
    if !unbound.isEmpty {
      lines += ["", "// Not bound:"] + unbound.map { "//   \($0.function): \($0.reason)" }
    }
    text = lines.joined(separator: "\n") + "\n"
    bound = functions.map(\.symbol)
  }

  /// Enumerations with their values, and a name for each thing that only its address is known of.
  private static func types(
    _ functions: [BoundFunction], _ records: [String: BoundRecord], _ description: HeaderDescription
  ) -> [String] {
    let names = functions.reduce(into: Set<String>()) { $0.formUnion($1.types) }.sorted()
    guard !names.isEmpty else { return [] }
    var enumerations: [String: BoundNumber] = [:]
    for function in functions {
      for number in function.numbers { if let name = number.enumeration { enumerations[name] = number } }
    }
    var lines = ["", "/// Types of the library.", "public enum Types {"]
    for name in names {
      if let record = records[name] {
        lines += record.declaration.map { "  " + $0 }
        continue
      }
      guard let number = enumerations[name] else {
        lines += ["  /// Something of the library that only its functions look into.", "  public enum \(name) {}"]
        continue
      }
      lines += [
        "  public struct \(name): RawRepresentable, Hashable, Sendable {",
        "    public var rawValue: \(number.swift)",
        "    public init(rawValue: \(number.swift)) { self.rawValue = rawValue }",
      ]
      let members = description.enumerations.first { SwiftName.tag($0.name) == name }?.members ?? []
      for member in members {
        guard let constant = SwiftName.type(member.name) else { continue }
        lines.append("    public static let \(constant) = Self(rawValue: \(value(member.value, number)))")
      }
      lines.append("  }")
    }
    return lines + ["}"]
  }

  private static func callbacks(_ callbacks: [String: BoundCallback], _ module: String) -> [String] {
    guard !callbacks.isEmpty else { return [] }
    let all = callbacks.values.sorted { $0.name < $1.name }.map { $0.declaration(in: module) }
    return ["", "/// Functions that the library is given to call.", "public enum Callbacks {"]
      + all.joined(separator: [""]).map { $0.isEmpty ? "" : "  " + $0 } + ["}"]
  }

  private static func conversions(_ records: [String: BoundRecord], _ module: String) -> [String] {
    let records = records.values.sorted { $0.name < $1.name }
    guard !records.isEmpty else { return [] }
    return ["extension \(module) {"] + records.flatMap(\.conversion).map { "  " + $0 } + ["}", ""]
  }

  private static func value(_ value: Int64, _ number: BoundNumber) -> String {
    // libclang extends the sign of those that have none.
    number.isSigned ? "\(value)" : "\(UInt64(bitPattern: value) & UInt64.max >> UInt64(64 - number.size * 8))"
  }
}

extension BoundFunction {
  /// Of its parameters and its result.
  var numbers: [BoundNumber] {
    var result = parameters.compactMap { parameter -> BoundNumber? in
      switch parameter.type {
      case .number(let number), .numbers(let number), .changed(let number): number
      default: nil
      }
    }
    if case .number(let number) = self.result { result.append(number) }
    return result + records.flatMap(\.numbers) + callbacks.flatMap(\.numbers)
  }
}
