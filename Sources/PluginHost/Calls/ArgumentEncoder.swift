internal import HostProtocol

/// Turns arguments as callers write them into what crosses to the plugin, by the signature.
struct ArgumentEncoder {
  typealias MisfitError = CallArgument.MisfitError

  /// nil: the caller holds nothing of the plugin, and addresses don't matter.
  private let holdings: PluginHoldings?
  /// Memory that was named, for as long as the call is under way.
  private(set) var used: [PluginMemory] = []

  /// Functions that were named, in their order.
  private(set) var callbacks: [PreparedCallback] = []
  /// Where the numbers of further ones begin.
  private(set) var nextCallback: Int

  init(_ holdings: PluginHoldings?) {
    self.holdings = holdings
    nextCallback = holdings?.nextCallback ?? 0
  }

  /// The values for each argument that is given.
  mutating func values(
    of arguments: [CallArgument], for signature: CallSignature
  ) throws(MisfitError) -> [CallValue] {
    let wanted = signature.arguments.count { $0.isGiven }
    guard wanted == arguments.count else {
      throw MisfitError(
        description:
          "\(signature) takes \(wanted) arguments (out(N) and 'out T' take none); \(arguments.count) were given")
    }
    var values: [CallValue] = []
    values.reserveCapacity(wanted)
    for kind in signature.arguments where kind.isGiven {
      let index = values.count
      values.append(try value(of: arguments[index], for: kind, "argument \(index + 1)"))
    }
    return values
  }

  private mutating func value(
    of argument: CallArgument, for kind: CallSignature.Kind, _ place: @autoclosure () -> String
  ) throws(MisfitError) -> CallValue {
    func misfit() -> MisfitError { MisfitError(description: "\(place()) doesn't fit \(kind)") }
    switch (kind, argument) {
    case (.pointer, .memory(let memory, let offset)), (.cstring, .memory(let memory, let offset)),
      (.bytes, .memory(let memory, let offset)):
      return .pointer(try address(of: memory, offset, 0, place))
    case (.reference(.input, let layout), .memory(let memory, let offset)):
      return .pointer(try address(of: memory, offset, layout.size, place))
    case (.reference(.input, _), .null): return .cstring(nil)
    case (.handle, .null), (.callback, .null): return .pointer(0)
    case (.callback, .callback(let callback)) where callback.registration == nil:
      return try number(of: callback, place)
    case (.callback, .callback(let callback)),
      (.pointer, .callback(let callback)) where callback.registration != nil:
      return .pointer(try address(of: callback, place))
    case (.handle, .handle(let handle)): return .pointer(try address(of: handle, place))
    case (.structure(let layout), _), (.reference(_, let layout), _):
      var bytes: [UInt8] = []
      bytes.reserveCapacity(layout.size)
      try append(argument, layout, to: &bytes, place)
      return .bytes(bytes)
    case (.inOut(let size), _):
      guard case .bytes(let bytes)? = argument.raw(.bytes) else { throw misfit() }
      guard bytes.count <= size else {
        throw MisfitError(description: "\(place()) has \(bytes.count) bytes; \(kind) takes at most \(size)")
      }
      return .bytes(bytes)
    default:
      guard let value = argument.value(for: kind) else { throw misfit() }
      return value
    }
  }

  /// The bytes of a value by itself.
  mutating func bytes(of argument: CallArgument, _ layout: CallLayout) throws(MisfitError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(layout.size)
    try append(argument, layout, to: &bytes) { "the value" }
    return bytes
  }

  /// The bytes of what a layout held, with numbers in place of handles.
  static func bytes(of value: CallValue, _ layout: CallLayout) -> [UInt8] {
    var bytes: [UInt8] = []
    append(value, layout, to: &bytes)
    return bytes
  }

  private static func append(_ value: CallValue, _ layout: CallLayout, to bytes: inout [UInt8]) {
    pad(&bytes, layout.alignment)
    switch (layout, value) {
    case (.scalar(let scalar), _): append(value.bits, scalar.size, to: &bytes)
    case (.array(let element, _), .array(let values)): for value in values { append(value, element, to: &bytes) }
    case (.array, .bytes(let content)): bytes += content
    case (.structure(let fields), .structure(let values)):
      for (value, field) in zip(values, fields) { append(value, field, to: &bytes) }
      pad(&bytes, layout.alignment)
    default: break
    }
  }

  private mutating func append(
    _ argument: CallArgument, _ layout: CallLayout, to bytes: inout [UInt8], _ place: () -> String
  ) throws(MisfitError) {
    // As a whole it is aligned as its first byte is.
    Self.pad(&bytes, layout.alignment)
    switch layout {
    case .scalar(let scalar): Self.append(try bits(of: argument, scalar, place), scalar.size, to: &bytes)
    case .array(.scalar(.u8), let count):
      if case .bytes(let text)? = argument.raw(.bytes) {
        guard text.count <= count else {
          throw MisfitError(description: "\(place()) has \(text.count) bytes; \(layout) takes at most \(count)")
        }
        bytes += text
        bytes += repeatElement(0, count: count - text.count)
        return
      }
      try appendList(argument, Array(repeating: .scalar(.u8), count: count), layout, to: &bytes, place)
    case .array(let element, let count):
      try appendList(argument, Array(repeating: element, count: count), layout, to: &bytes, place)
    case .structure(let fields):
      try appendList(argument, fields, layout, to: &bytes, place)
      Self.pad(&bytes, layout.alignment)
    }
  }

  private mutating func appendList(
    _ argument: CallArgument, _ layouts: [CallLayout], _ whole: CallLayout, to bytes: inout [UInt8],
    _ place: () -> String
  ) throws(MisfitError) {
    guard case .list(let values) = argument else {
      throw MisfitError(description: "\(place()) doesn't fit \(whole): it takes a list of \(layouts.count)")
    }
    guard values.count == layouts.count else {
      throw MisfitError(description: "\(place()): \(whole) takes \(layouts.count) values; \(values.count) were given")
    }
    for (index, (value, layout)) in zip(values, layouts).enumerated() {
      try append(value, layout, to: &bytes) { "\(place()), value \(index + 1)" }
    }
  }

  private mutating func bits(
    of argument: CallArgument, _ scalar: CallLayout.Scalar, _ place: () -> String
  ) throws(MisfitError) -> UInt64 {
    switch (scalar, argument) {
    case (.handle, .null): return 0
    case (.handle, .handle(let handle)): return try address(of: handle, place)
    case (.handle, _): break
    case (.pointer, .memory(let memory, let offset)): return try address(of: memory, offset, 0, place)
    case (.pointer, .callback(let callback)): return try address(of: callback, place)
    default:
      if let value = argument.value(for: scalar.kind) { return value.bits }
    }
    throw MisfitError(description: "\(place()) doesn't fit \(scalar.rawValue)")
  }

  private static func pad(_ bytes: inout [UInt8], _ alignment: Int) {
    bytes += repeatElement(0, count: CallLayout.aligned(bytes.count, alignment) - bytes.count)
  }

  private static func append(_ bits: UInt64, _ count: Int, to bytes: inout [UInt8]) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: bits >> (8 * UInt64(index)))) }
  }

  /// What the runner is told: the callback's number, and its signature.
  private mutating func number(of callback: PluginCallback, _ place: () -> String) throws(MisfitError) -> CallValue {
    guard callbacks.count < PreparedCallback.maxCount else {
      throw MisfitError(description: "\(place()): a call has at most \(PreparedCallback.maxCount) callbacks")
    }
    do throws(CallSignature.ParseError) {
      let signature = try CallbackSignature(parsing: callback.signature)
      let number = UInt8(holdings?.freeCallback(from: nextCallback) ?? nextCallback)
      nextCallback = (Int(number) + 1) % PreparedCallback.numbers
      callbacks.append(PreparedCallback(number: number, signature: signature, callback: callback))
      return .bytes([number] + Array(callback.signature.utf8))
    } catch {
      throw MisfitError(description: "\(place()): \(error.description)")
    }
  }

  /// What a callback answers: its result, or a list of that and what it fills. `capacities`: bytes of what it may fill, each.
  static func reply(
    of answer: CallArgument, _ signature: CallbackSignature, _ capacities: [Int], _ holdings: PluginHoldings
  ) throws(MisfitError) -> CallbackReply {
    guard !capacities.isEmpty, case .list(let parts) = answer else {
      return CallbackReply(bits: try bits(of: answer, signature.result, holdings))
    }
    guard parts.count == capacities.count + 1 else {
      throw MisfitError(
        description:
          "the callback's answer has \(parts.count) parts; \(signature) takes its result and \(capacities.count) more")
    }
    var reply = CallbackReply(bits: try bits(of: parts[0], signature.result, holdings))
    let kinds = signature.arguments.enumerated().filter { $0.element.isFilled }
    for ((part, capacity), (index, kind)) in zip(zip(parts.dropFirst(), capacities), kinds) {
      let place = "the callback's answer for argument \(index)"
      var bytes: [UInt8] = []
      var encoder = ArgumentEncoder(holdings)
      switch (kind, part) {
      case (_, .null): break
      // As it lies in memory.
      case (.output(let layout), .bytes(let content)) where content.count == layout.size && layout.handles == 0:
        bytes = content
      case (.output(let layout), _): try encoder.append(part, layout, to: &bytes) { place }
      default:
        guard case .bytes(let content)? = part.raw(.bytes) else {
          throw MisfitError(description: "\(place) isn't bytes")
        }
        bytes = content
      }
      guard bytes.count <= capacity else {
        throw MisfitError(
          description: "\(place) has \(bytes.count) bytes; there is room for \(capacity) in the plugin")
      }
      reply.filled.append(bytes)
    }
    let all = reply.filled.reduce(0) { $0 + $1.count }
    guard all <= CallbackSignature.longestContent else {
      throw MisfitError(
        description: "the callback's answer has \(all) bytes; at most \(CallbackSignature.longestContent) are filled")
    }
    return reply
  }

  /// The bits of what a callback returns.
  private static func bits(of argument: CallArgument, _ result: CallLayout.Scalar?, _ holdings: PluginHoldings)
    throws(MisfitError)
    -> UInt64
  {
    guard let result else {
      guard argument == .null else { throw MisfitError(description: "a callback of void returns nil") }
      return 0
    }
    var encoder = ArgumentEncoder(holdings)
    return try encoder.bits(of: argument, result) { "the callback's result" }
  }

  private func address(of callback: PluginCallback, _ place: () -> String) throws(MisfitError) -> UInt64 {
    do throws(PluginHoldings.Refusal) {
      return try holdings?.address(of: callback) ?? 0
    } catch {
      throw MisfitError(description: "\(place()): \(error.description)")
    }
  }

  private func address(of handle: PluginHandle, _ place: () -> String) throws(MisfitError) -> UInt64 {
    do throws(PluginHoldings.Refusal) {
      return try holdings?.address(of: handle) ?? 0
    } catch {
      throw MisfitError(description: "\(place()): \(error.description)")
    }
  }

  private mutating func address(
    of memory: PluginMemory, _ offset: Int, _ count: Int, _ place: () -> String
  ) throws(MisfitError) -> UInt64 {
    do throws(PluginHoldings.Refusal) {
      let address = try holdings?.address(of: memory, offset: offset, count: count) ?? 0
      used.append(memory)
      return address
    } catch {
      throw MisfitError(description: "\(place()): \(error.description)")
    }
  }
}

extension CallValue {
  /// The bits of a number.
  fileprivate var bits: UInt64 {
    if case .handle(let handle) = self { handle?.number ?? 0 } else { word ?? 0 }
  }
}
