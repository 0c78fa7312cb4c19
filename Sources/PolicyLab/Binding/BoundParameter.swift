internal import HostProtocol

/// How a parameter of a C function is passed by a function of Swift.
enum BoundParameter: Equatable {
  case number(BoundNumber)
  case text
  /// Bytes that are only read. `length`: the number that follows and says how many there are.
  case bytes(length: BoundNumber?)
  /// Numbers that are only read.
  case numbers(BoundNumber)
  /// Bytes that are given and come back.
  case buffer(length: BoundNumber?)
  /// A number that is given and comes back.
  case changed(BoundNumber)
  /// What the library returned before, by what its address leads to.
  case handle(String)
  /// The same, and another may come back.
  case changedHandle(String)
  /// A structure by value.
  case record(BoundRecord)
  /// A function of the caller's.
  case callback(BoundCallback)

  /// Why a parameter can't be passed.
  struct Unfit: Error {
    let reason: String
  }

  /// Of the first of `parameters`; how many of them it stands for. `name`: of the function, and of this parameter.
  static func first(of parameters: ArraySlice<CParameter>, name: String) throws(Unfit) -> (Self, count: Int) {
    guard let parameter = parameters.first else { throw Unfit(reason: "an argument is missing") }
    if let number = BoundNumber(parameter.type) { return (.number(number), 1) }
    if case .record(_, let record?) = parameter.type.bare {
      return (.record(try BoundRecord(parameter.type, record)), 1)
    }
    guard let target = parameter.type.target else {
      do throws(CType.Unfit) { _ = try parameter.type.kind(isResult: false) } catch {
        throw Unfit(reason: error.reason)
      }
      throw Unfit(reason: "\(parameter.type.words) is nothing that a call can pass")
    }
    if case .function = target.bare {
      return (.callback(try BoundCallback(target, namedBy: parameter.type, or: name)), 1)
    }
    return try pointer(to: target, of: parameter.count, parameters.dropFirst())
  }

  /// `count`: how many of them there are, where the header says so.
  private static func pointer(
    to target: CType, of count: UInt64?, _ rest: ArraySlice<CParameter>
  ) throws(Unfit) -> (Self, count: Int) {
    let isRead = target.isConstant
    switch target.bare {
    case .record: return (.handle(target.pointee.map { "Types.\($0)" } ?? "Void"), 1)
    case .pointer(let inner):
      if case .function = inner.bare { throw Unfit(reason: "it takes the address of a function's address") }
      guard !isRead else { throw Unfit(reason: "it takes a list of addresses") }
      return (.changedHandle(inner.pointee.map { "Types.\($0)" } ?? "Void"), 1)
    case .array: throw Unfit(reason: "it takes a table of tables")
    default: break
    }
    if target.isCharacter, isRead { return (.text, 1) }
    if target.isBytes {
      let length = length(rest)
      if isRead { return (.bytes(length: length), length == nil ? 1 : 2) }
      // What nothing says the length of may be the address of anything.
      if target.bare == .void, length == nil, !isFollowedByChangedLength(rest) { return (.handle("Void"), 1) }
      return (.buffer(length: length), length == nil ? 1 : 2)
    }
    guard let number = BoundNumber(target) else { throw Unfit(reason: "it takes an address of \(target.words)") }
    if isRead { return (.numbers(number), 1) }
    if let count, count > 1 { throw Unfit(reason: "it takes an array of \(count) numbers that it may change") }
    return (.changed(number), 1)
  }

  /// The length that follows bytes, by its type and its name. Two numbers like that are a size and a count.
  static func length(_ rest: ArraySlice<CParameter>) -> BoundNumber? {
    func number(_ parameter: CParameter?) -> BoundNumber? {
      guard let parameter, isLength(parameter), let number = BoundNumber(parameter.type), number.isInteger else {
        return nil
      }
      return number
    }
    guard let found = number(rest.first), number(rest.dropFirst().first) == nil else { return nil }
    return found
  }

  private static func isFollowedByChangedLength(_ rest: ArraySlice<CParameter>) -> Bool {
    guard let next = rest.first, isLength(next), let target = next.type.target else { return false }
    return BoundNumber(target)?.isInteger ?? false
  }

  private static func isLength(_ parameter: CParameter) -> Bool {
    // Many headers don't name what they declare.
    if parameter.name.isEmpty, case .named("size_t", _) = parameter.type { return true }
    let name = parameter.name.lowercased()
    return ["n", "num", "sz", "cb", "nmemb", "nitems"].contains(name)
      || ["len", "length", "size", "count", "bytes"].contains(where: name.hasSuffix)
  }

  // MARK: As text

  /// As a function of Swift declares it.
  var swift: String {
    switch self {
    case .number(let number): number.name
    case .text: "String?"
    case .bytes: "[UInt8]?"
    case .numbers(let number): "[\(number.name)]?"
    case .buffer: "inout [UInt8]"
    case .changed(let number): "inout \(number.name)"
    case .handle(let pointee): "Handle<\(pointee)>?"
    case .changedHandle(let pointee): "inout Handle<\(pointee)>?"
    case .record(let record): "Types.\(record.name)"
    case .callback(let callback): "Callbacks.\(callback.name)?"
    }
  }

  /// What it is in a signature; in Swift's text of one.
  func kinds(_ name: String) -> [String] {
    switch self {
    case .number(let number): ["\(number.kind)"]
    case .text: ["cstring"]
    case .bytes(let length): ["bytes"] + Self.kind(length)
    case .numbers: ["bytes"]
    case .buffer(let length): ["inout(\\(Wire.room(\(name))))"] + Self.kind(length)
    case .changed(let number): ["inout(\(number.size))"]
    case .handle: ["handle"]
    case .changedHandle: ["inout handle"]
    case .record(let record): [record.kind]
    case .callback: ["callback"]
    }
  }

  private static func kind(_ length: BoundNumber?) -> [String] { length.map { ["\($0.kind)"] } ?? [] }

  /// As arguments of a call.
  func arguments(_ name: String) -> [String] {
    switch self {
    case .number(let number): [number.argument(name)]
    case .text: ["Wire.text(\(name))"]
    case .bytes(let length):
      ["Wire.bytes(\(name))"] + (length == nil ? [] : [".unsigned(UInt64(\(name)?.count ?? 0))"])
    case .numbers(let number): ["Wire.numbers(\(name)\(number.enumeration == nil ? "" : "?.map(\\.rawValue)"))"]
    case .buffer(let length):
      [".bytes(\(name))"] + (length == nil ? [] : [".unsigned(UInt64(\(name).count))"])
    case .changed(let number): [".bytes(Wire.bytes(of: \(number.raw(name))))"]
    case .handle: ["Wire.handle(\(name)?.rawValue)"]
    case .changedHandle: ["Wire.handle(\(name)?.rawValue)"]
    case .record: ["Self.argument(\(name))"]
    case .callback: ["\(name)?.argument ?? .null"]
    }
  }

  /// Puts back what came back; nil: nothing does. `index`: which of them it is.
  func assignment(_ name: String, _ index: Int) -> String? {
    switch self {
    case .number, .text, .bytes, .numbers, .handle, .record, .callback: nil
    case .buffer: "try Wire.take(outrider, \(index), &\(name))"
    case .changed(let number):
      "\(name) = \(number.made("try Wire.value(outrider, \(index), as: \(number.wire).self)"))"
    case .changedHandle: "\(name) = Handle(rawValue: try Wire.handle(outrider, \(index)))"
    }
  }
}

extension BoundNumber {
  /// Bytes.
  var size: Int {
    switch kind {
    case .i8, .u8: 1
    case .i16, .u16: 2
    case .i32, .u32, .f32: 4
    default: 8
    }
  }

  /// What its bytes are read as: any will do.
  var wire: String { swift == "Bool" ? "UInt8" : swift }

  fileprivate func raw(_ name: String) -> String {
    if swift == "Bool" { return "UInt8(\(name) ? 1 : 0)" }
    return enumeration == nil ? name : "\(name).rawValue"
  }

  /// What a call returned.
  func read(_ value: String) -> String {
    "try Wire.\(isFloating ? "number" : "integer")(\(value), as: \(wire).self)"
  }

  /// Its value of one as its bytes have it.
  func made(_ value: String) -> String {
    if swift == "Bool" { return "\(value) != 0" }
    return enumeration == nil ? value : "\(name)(rawValue: \(value))"
  }
}
