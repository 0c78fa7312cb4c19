internal import AssetModel
internal import HostProtocol

/// The type of a function that a C function is given to call, as a type of Swift that holds a closure.
struct BoundCallback: Equatable {
  /// In `Callbacks`.
  let name: String
  /// As C spells it, for a comment.
  let spelling: String
  let parameters: [Parameter]
  let result: Result

  struct Parameter: Equatable {
    var name: String
    var type: Kind
  }

  /// What the closure gets, or says what it gets afterwards.
  enum Kind: Equatable {
    case number(BoundNumber)
    case text
    /// As many bytes, or texts, as the parameter with this index says.
    case bytes(count: Int)
    case texts(count: Int)
    /// The number at an address.
    case value(BoundNumber)
    /// An address, by what it leads to.
    case handle(String)
    /// Room for as many bytes as the parameter with this index says, which the closure fills.
    case room(count: Int)
    /// Room for a number.
    case output(BoundNumber)

    var isFilled: Bool {
      switch self {
      case .room, .output: true
      case .number, .text, .bytes, .texts, .value, .handle: false
      }
    }
  }

  enum Result: Equatable {
    case nothing
    case number(BoundNumber)
    case handle(String)
  }

  private static let longestSpelling = 400

  /// `type`: what the address leads to. `usualName`: where C has no name for it.
  init(_ type: CType, namedBy parameter: CType, or usualName: String) throws(BoundParameter.Unfit) {
    guard case .function(let words, let function?) = type.bare else {
      throw .init(reason: "it takes a function, and nothing says what that takes")
    }
    guard let name = parameter.typedefName ?? type.typedefName ?? SwiftName.type(usualName) else {
      throw .init(reason: "it takes a function, and the name of that isn't ASCII")
    }
    guard !function.isVariadic else { throw .init(reason: "it takes a function with any number of arguments (...)") }
    guard function.parameters.count <= CallbackSignature.maxArguments else {
      throw .init(reason: "it takes a function of more than \(CallbackSignature.maxArguments) arguments")
    }
    self.name = name
    spelling = Printable.text(CType.pointer(.function(words)).words, limit: Self.longestSpelling)
    result = try Self.result(function.result)
    var found: [Parameter] = []
    var names: Set<String> = []
    for (index, parameter) in function.parameters.enumerated() {
      var name = SwiftName.parameter(parameter.name, index + 1)
      while !names.insert(name).inserted { name += "_" }
      found.append(Parameter(name: name, type: try Self.kind(function.parameters, index, found)))
    }
    parameters = found
  }

  private static func result(_ type: CType) throws(BoundParameter.Unfit) -> Result {
    if type.bare == .void { return .nothing }
    if let number = BoundNumber(type) { return .number(number) }
    if let target = type.target { return .handle(target.pointee.map { "Types.\($0)" } ?? "Void") }
    throw .init(reason: "it takes a function that returns \(type.words)")
  }

  /// `found`: those before it.
  private static func kind(
    _ all: [CParameter], _ index: Int, _ found: [Parameter]
  ) throws(BoundParameter.Unfit) -> Kind {
    let type = all[index].type
    if let number = BoundNumber(type) { return .number(number) }
    guard let target = type.target else {
      throw .init(reason: "it takes a function that takes \(type.words)")
    }
    let length = BoundParameter.length(all[(index + 1)...]) == nil ? nil : index + 1
    switch target.bare {
    case .pointer(let inner) where inner.isCharacter:
      return count(of: index, found).map { .texts(count: $0) } ?? .handle("Void")
    case .record, .pointer, .function, .array: return .handle(target.pointee.map { "Types.\($0)" } ?? "Void")
    default: break
    }
    if target.isBytes {
      if let length { return target.isConstant ? .bytes(count: length) : .room(count: length) }
      return target.isCharacter ? .text : .handle("Void")
    }
    guard let number = BoundNumber(target), length == nil else { return .handle("Void") }
    return target.isConstant ? .value(number) : .output(number)
  }

  /// Which parameter counts a list of texts: the integer right before it, or what counts the list before it.
  private static func count(of index: Int, _ found: [Parameter]) -> Int? {
    switch found.last?.type {
    case .number(let number)? where number.isInteger: index - 1
    case .texts(let count)?: count
    case .text?, .bytes?, .value?, .handle?, .room?, .output?, .number?, nil: nil
    }
  }

  // MARK: What it uses

  var numbers: [BoundNumber] {
    var all = parameters.compactMap { parameter -> BoundNumber? in
      switch parameter.type {
      case .number(let number), .value(let number), .output(let number): number
      case .text, .bytes, .texts, .handle, .room: nil
      }
    }
    if case .number(let number) = result { all.append(number) }
    return all
  }

  /// As Swift names them.
  var types: [String] {
    var all = numbers.map(\.name)
    for parameter in parameters { if case .handle(let pointee) = parameter.type { all.append(pointee) } }
    if case .handle(let pointee) = result { all.append(pointee) }
    return all
  }

  // MARK: As text

  private var signature: String {
    let returned =
      switch result {
      case .nothing: "void"
      case .number(let number): "\(number.kind)"
      case .handle: "handle"
      }
    return "\(returned)(\(parameters.map(\.type.kind).joined(separator: ",")))"
  }

  private var filled: [Kind] { parameters.map(\.type).filter(\.isFilled) }

  /// The type of the closure.
  private var closure: String {
    // What only counts others comes as their length.
    let counts = Set(parameters.compactMap(\.type.count))
    let taken = parameters.enumerated().filter { !counts.contains($0.offset) }.compactMap { $0.element.declaration }
    var returned = filled.map(\.swift)
    switch result {
    case .nothing: break
    case .number(let number): returned.insert(number.name, at: 0)
    case .handle(let pointee): returned.insert("Handle<\(pointee)>?", at: 0)
    }
    let all = returned.count == 1 ? returned[0] : "(\(returned.joined(separator: ", ")))"
    return "@Sendable (\(taken.joined(separator: ", "))) async throws -> \(returned.isEmpty ? "Void" : all)"
  }

  /// What the plugin gets of what the closure returned.
  private var answer: String {
    var next = 0
    let isTuple = filled.count + (result == .nothing ? 0 : 1) > 1
    func part() -> String {
      defer { next += 1 }
      return isTuple ? "answer.\(next)" : "answer"
    }
    let returned =
      switch result {
      case .nothing: ".null"
      case .number(let number): number.argument(part())
      case .handle: "Wire.handle(\(part())?.rawValue)"
      }
    guard !filled.isEmpty else { return returned }
    return ".list([\(([returned] + filled.map { $0.filling(part()) }).joined(separator: ", "))])"
  }

  /// `module`: the structure that has the library's functions.
  func declaration(in module: String) -> [String] {
    let counts = Set(parameters.compactMap(\.type.count))
    let arguments = parameters.enumerated().filter { !counts.contains($0.offset) && $0.element.declaration != nil }
      .map { $0.element.type.made("values[\($0.offset)]") }
    var body: [String]
    if arguments.isEmpty {
      body = ["body()"]
    } else {
      body = ["body("] + arguments.enumerated().map { "  \($1)\($0 == arguments.count - 1 ? ")" : ",")" }
    }
    let isAnswered = result != .nothing || !filled.isEmpty
    body[0] = "\(isAnswered ? "let answer = " : "")try await \(body[0])"
    return [
      "/// `\(spelling)`", "public struct \(name): Sendable {", "  public typealias Body = \(closure)",
      "  public let argument: CallArgument", "",
      "  /// One with a signature of your own, which may read more of what addresses lead to.",
      "  public init(argument: CallArgument) { self.argument = argument }", "",
      "  /// The library may call it until the call returns that it is passed to.",
      "  public static func forCall(_ body: @escaping Body) -> Self {",
      "    Self(argument: .callback(signature, reader(body)))", "  }", "",
      "  /// The library may keep it, and call it during any call, until it is released.",
      "  public static func kept(",
      "    by library: \(module), _ body: @escaping Body", "  ) async throws(HostError) -> Self {",
      "    Self(argument: .callback(try await library.plugin.register(signature, reader(body))))", "  }", "",
      "  /// Gives up one that was kept. The library must have forgotten it.",
      "  public func release(by library: \(module)) async throws(HostError) {",
      "    if case .callback(let kept) = argument { try await library.plugin.release(kept) }", "  }", "",
      "  private static let signature = \"\(signature)\"",
      "  private static func reader(", "    _ body: @escaping Body",
      "  ) -> @Sendable ([CallValue]) async throws -> CallArgument {", "    { \(arguments.isEmpty ? "_" : "values") in",
    ] + body.map { "      \($0)" } + ["      return \(answer)", "    }", "  }", "}"]
  }
}

extension BoundCallback.Parameter {
  /// As the closure takes it; nil: it doesn't, and only fills it.
  fileprivate var declaration: String? {
    if case .output = type { return nil }
    if case .room = type { return nil }
    return "_ \(name): \(type.swift)"
  }
}

extension BoundCallback.Kind {
  /// In a signature.
  fileprivate var kind: String {
    switch self {
    case .number(let number): "\(number.kind)"
    case .text: "cstring"
    case .bytes(let count): "bytes(\(count))"
    case .texts(let count): "cstrings(\(count))"
    case .value(let number): "&\(number.kind)"
    case .handle: "handle"
    case .room(let count): "out(\(count))"
    case .output(let number): "out \(number.kind)"
    }
  }

  /// The parameter that says no more than how much there is.
  fileprivate var count: Int? {
    switch self {
    case .bytes(let count), .texts(let count): count
    case .number, .text, .value, .handle, .room, .output: nil
    }
  }

  fileprivate var swift: String {
    switch self {
    case .number(let number): number.name
    case .text: "String?"
    case .bytes, .room: "[UInt8]?"
    case .texts: "[String?]?"
    case .value(let number), .output(let number): "\(number.name)?"
    case .handle(let pointee): "Handle<\(pointee)>?"
    }
  }

  /// Of a value that the library passed.
  fileprivate func made(_ value: String) -> String {
    switch self {
    case .number(let number): number.made(number.read(value))
    case .text: "try Wire.text(\(value))"
    case .bytes: "try Wire.bytes(\(value))"
    case .texts: "try Wire.texts(\(value))"
    case .value(let number): "\(value) == .pointer(0) ? nil : \(number.made(number.read(value)))"
    case .handle: "Handle(rawValue: try Wire.handle(\(value)))"
    case .room, .output: ""
    }
  }

  /// What the closure has filled; nil leaves it as it is.
  fileprivate func filling(_ value: String) -> String {
    guard case .output(let number) = self else { return "Wire.bytes(\(value))" }
    return "\(value).map { CallArgument\(number.argument("$0")) } ?? .null"
  }
}
