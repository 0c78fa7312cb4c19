internal import AssetModel
internal import HostProtocol

/// A C function as a function of Swift that calls it inside the walls.
struct BoundFunction: Equatable {
  enum Result: Equatable {
    case nothing
    case number(BoundNumber)
    case text
    case handle(String)
    case record(BoundRecord)
  }

  let name: String
  let symbol: String
  let prototype: String
  let result: Result
  let parameters: [Parameter]

  struct Parameter: Equatable {
    var name: String
    var type: BoundParameter
  }

  private static let longestPrototype = 400

  /// `isOther`: whether another function of the library has a name.
  init(
    _ function: HeaderDescription.Function, isOther: (String) -> Bool = { _ in false }
  ) throws(BoundParameter.Unfit) {
    guard function.hasPrototype else { throw .init(reason: "its header doesn't say what it takes") }
    guard function.isUsuallyCalled else { throw .init(reason: "it has a calling convention of its own") }
    guard !function.type.isVariadic else { throw .init(reason: "it takes any number of arguments (...)") }
    guard function.type.parameters.count <= CallSignature.maxArguments else {
      throw .init(reason: "it takes more than \(CallSignature.maxArguments) arguments")
    }
    guard let name = SwiftName.function(function.name, isOther: isOther) else {
      throw .init(reason: "its name isn't ASCII")
    }
    guard CName.isIdentifier(function.symbol) else {
      throw .init(reason: "its symbol in the library isn't a name of C")
    }
    (self.name, symbol) = (name, function.symbol)
    prototype = Printable.text(function.type.prototype(of: function.name), limit: Self.longestPrototype)
    result = try Self.result(function.type.result)
    var (parameters, rest) = ([Parameter](), function.type.parameters[...])
    var names: Set<String> = []
    while let first = rest.first {
      var name = SwiftName.parameter(first.name, parameters.count + 1)
      while !names.insert(name).inserted { name += "_" }
      let (type, count) = try BoundParameter.first(of: rest, name: "\(function.name)_\(name)")
      parameters.append(Parameter(name: name, type: type))
      rest = rest.dropFirst(count)
    }
    self.parameters = parameters
  }

  private static func result(_ type: CType) throws(BoundParameter.Unfit) -> Result {
    if type.bare == .void { return .nothing }
    if let number = BoundNumber(type) { return .number(number) }
    if case .record(_, let record?) = type.bare {
      do throws(BoundParameter.Unfit) { return .record(try BoundRecord(type, record)) } catch {
        throw .init(reason: error.reason.replacing("is passed", with: "is returned"))
      }
    }
    guard let target = type.target else {
      do throws(CType.Unfit) { _ = try type.kind(isResult: true) } catch {
        throw .init(reason: error.reason.replacing("is passed", with: "is returned"))
      }
      throw .init(reason: "\(type.words) is nothing that a call can return")
    }
    if target.isCharacter { return .text }
    return .handle(target.pointee.map { "Types.\($0)" } ?? "Void")
  }

  /// Names of the types that it uses.
  var types: Set<String> {
    var names: Set<String> = []
    func add(_ text: String?) {
      if let text, text.hasPrefix("Types.") { names.insert(String(text.dropFirst("Types.".count))) }
    }
    switch result {
    case .number(let number): add(number.name)
    case .handle(let pointee): add(pointee)
    case .record(let record): names.formUnion(record.types)
    case .nothing, .text: break
    }
    for parameter in parameters {
      switch parameter.type {
      case .number(let number), .numbers(let number), .changed(let number): add(number.name)
      case .handle(let pointee), .changedHandle(let pointee): add(pointee)
      case .record(let record): names.formUnion(record.types)
      case .callback(let callback): callback.types.forEach(add)
      case .text, .bytes, .buffer: break
      }
    }
    return names
  }

  /// Structures that it takes or returns by value.
  var records: [BoundRecord] {
    var found = parameters.flatMap { parameter -> [BoundRecord] in
      if case .record(let record) = parameter.type { record.records } else { [] }
    }
    if case .record(let record) = result { found += record.records }
    return found
  }

  /// Functions that it is given to call.
  var callbacks: [BoundCallback] {
    parameters.compactMap { if case .callback(let callback) = $0.type { callback } else { nil } }
  }

  // MARK: As text

  private var returned: (kind: String, swift: String, value: String)? {
    switch result {
    case .nothing: nil
    case .number(let number):
      (
        "\(number.kind)", number.name,
        number.made(number.read("outrider.value"))
      )
    case .text: ("cstring", "String?", "try Wire.text(outrider)")
    case .handle(let pointee):
      ("handle", "Handle<\(pointee)>?", "Handle(rawValue: try Wire.handle(outrider.value))")
    case .record(let record):
      (record.kind, "Types.\(record.name)", "try Self.made(outrider.value, as: Types.\(record.name).self)")
    }
  }

  var lines: [String] {
    let kinds = parameters.flatMap { $0.type.kinds($0.name) }.joined(separator: ",")
    let arguments = parameters.flatMap { $0.type.arguments($0.name) }
    var call = ["\"\(symbol)\"", "\"\(returned?.kind ?? "void")(\(kinds))\""] + arguments
    let declared = parameters.map { "_ \($0.name): \($0.type.swift)" }
    var lines = ["", "/// `\(prototype)`"]
    let effects = ") async throws(HostError)" + (returned.map { " -> \($0.swift) {" } ?? " {")
    if declared.isEmpty {
      lines.append("public func \(name)(\(effects)")
    } else {
      lines += ["public func \(name)("] + declared.enumerated().map { "  \($1)\($0 == declared.count - 1 ? "" : ",")" }
      lines.append(effects)
    }
    var index = 0
    var assignments: [String] = []
    for parameter in parameters {
      guard let assignment = parameter.type.assignment(parameter.name, index) else { continue }
      assignments.append(assignment)
      index += 1
    }
    let isUsed = returned != nil || !assignments.isEmpty
    let last = call.removeLast()
    lines.append("  \(isUsed ? "let outrider" : "_") = try await self.plugin.call(")
    lines += call.map { "    \($0)," } + ["    \(last))"]
    lines += assignments.map { "  \($0)" }
    if let returned { lines.append("  return \(returned.value)") }
    lines.append("}")
    return lines
  }
}
