internal import AssetModel
internal import HostProtocol

/// A structure of C that is passed or returned by value, as a structure of Swift.
struct BoundRecord: Equatable {
  /// As Swift has it, in `Types`.
  let name: String
  /// As C spells it, for a comment. The text is hostile, and could end the line.
  let spelling: String
  let fields: [Field]

  struct Field: Equatable {
    var name: String
    var type: BoundField
  }

  /// `type`: of the structure, with the name that the function has it by.
  init(_ type: CType, _ record: CRecord) throws(BoundParameter.Unfit) {
    do throws(CType.Unfit) { _ = try record.layout() } catch { throw .init(reason: error.reason) }
    guard let name = SwiftName.tag(record.name) ?? type.typedefName else {
      throw .init(reason: "a structure without a name is passed by value")
    }
    (self.name, spelling) = (name, Printable.text(record.name))
    var fields: [Field] = []
    var names: Set<String> = []
    for field in record.fields {
      var name = SwiftName.parameter(field.name, fields.count + 1)
      while !names.insert(name).inserted { name += "_" }
      fields.append(Field(name: name, type: try BoundField(field.type)))
    }
    self.fields = fields
  }

  /// In a signature.
  var kind: String { "{\(fields.map(\.type.kind).joined(separator: ","))}" }

  /// Itself, and those that it holds.
  var records: [BoundRecord] { [self] + fields.flatMap(\.type.records) }
  var numbers: [BoundNumber] { fields.flatMap(\.type.numbers) }
  /// Names of the types that it uses, without `Types.`.
  var types: Set<String> { fields.reduce(into: [name]) { $0.formUnion($1.type.types) } }

  // MARK: As text

  var declaration: [String] {
    ["/// `\(spelling)`", "public struct \(name): Hashable, Sendable {"]
      + fields.map { "  public var \($0.name): \($0.type.swift)" }
      + ["  public init("]
      + fields.enumerated().map {
        "    \($1.name): \($1.type.swift) = \($1.type.zero)\($0 == fields.count - 1 ? "" : ",")"
      }
      + ["  ) {"] + fields.map { "    self.\($0.name) = \($0.name)" } + ["  }", "}"]
  }

  /// How a call passes and returns it: functions of the structure that has those of the library.
  var conversion: [String] {
    ["fileprivate static func argument(_ value: Types.\(name)) -> CallArgument {", "  .list(["]
      + fields.map { "    \($0.type.argument("value.\($0.name)"))," }
      + [
        "  ])", "}", "fileprivate static func made(", "  _ value: CallValue, as type: Types.\(name).Type",
        ") throws(HostError) -> Types.\(name) {",
        "  let fields = try Wire.fields(value, \(fields.count))", "  return type.init(",
      ]
      + fields.enumerated().map {
        "    \($1.name): \($1.type.made("fields[\($0)]"))\($0 == fields.count - 1 ? ")" : ",")"
      } + ["}"]
  }
}

/// A field of a structure, or an element of an array in one.
indirect enum BoundField: Equatable {
  case number(BoundNumber)
  /// An address, by what it leads to.
  case handle(String)
  case bytes(count: UInt64)
  case list(BoundField, count: UInt64)
  case record(BoundRecord)

  init(_ type: CType) throws(BoundParameter.Unfit) {
    if let number = BoundNumber(type) {
      self = .number(number)
      return
    }
    switch type.bare {
    case .pointer(let target): self = .handle(target.pointee.map { "Types.\($0)" } ?? "Void")
    case .array(let element, let count):
      let element = try BoundField(element)
      if case .number(let number) = element, number.kind == .u8, number.swift == "UInt8" {
        self = .bytes(count: count)
      } else {
        self = .list(element, count: count)
      }
    case .record(_, let record?): self = .record(try BoundRecord(type, record))
    default: throw .init(reason: "\(type.words) is nothing that a call can pass")
    }
  }

  var kind: String {
    switch self {
    case .number(let number): "\(number.kind)"
    case .handle: "handle"
    case .bytes(let count): "[\(count)]u8"
    case .list(let element, let count): "[\(count)]\(element.kind)"
    case .record(let record): record.kind
    }
  }

  var records: [BoundRecord] {
    switch self {
    case .number, .handle, .bytes: []
    case .list(let element, _): element.records
    case .record(let record): record.records
    }
  }

  var numbers: [BoundNumber] {
    switch self {
    case .number(let number): [number]
    case .handle, .bytes: []
    case .list(let element, _): element.numbers
    case .record(let record): record.numbers
    }
  }

  var types: Set<String> {
    func own(_ name: String?) -> Set<String> {
      guard let name, name.hasPrefix("Types.") else { return [] }
      return [String(name.dropFirst("Types.".count))]
    }
    return switch self {
    case .number(let number): own(number.name)
    case .handle(let pointee): own(pointee)
    case .bytes: []
    case .list(let element, _): element.types
    case .record(let record): record.types
    }
  }

  // MARK: As text

  var swift: String {
    switch self {
    case .number(let number): number.name
    case .handle(let pointee): "Handle<\(pointee)>?"
    case .bytes: "[UInt8]"
    case .list(let element, _): "[\(element.swift)]"
    case .record(let record): "Types.\(record.name)"
    }
  }

  var zero: String {
    switch self {
    case .number(let number):
      number.swift == "Bool" ? "false" : number.enumeration == nil ? "0" : "\(number.name)(rawValue: 0)"
    case .handle: "nil"
    case .bytes(let count): "Array(repeating: 0, count: \(count))"
    case .list(let element, let count): "Array(repeating: \(element.zero), count: \(count))"
    case .record(let record): "Types.\(record.name)()"
    }
  }

  func argument(_ value: String) -> String {
    switch self {
    case .number(let number): number.argument(value)
    case .handle: "Wire.handle(\(value)?.rawValue)"
    case .bytes: ".bytes(\(value))"
    case .list(let element, _): ".list(\(value).map { \(element.argument("$0")) })"
    case .record: "Self.argument(\(value))"
    }
  }

  /// Of a value that the library returned.
  func made(_ value: String) -> String {
    switch self {
    case .number(let number): number.made(number.read(value))
    case .handle: "Handle(rawValue: try Wire.handle(\(value)))"
    case .bytes(let count): "try Wire.bytes(\(value), \(count))"
    case .list(let element, let count):
      "try Wire.list(\(value), \(count)) { (value) throws(HostError) in \(element.made("value")) }"
    case .record(let record): "try Self.made(\(value), as: Types.\(record.name).self)"
    }
  }
}
