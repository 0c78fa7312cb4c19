internal import CLinux
internal import Glibc
internal import HostProtocol
internal import Synchronization

/// Functions of the host's that the call under way was given, or that stay until they are released. The plugin calls an entry of the program (`ol_callback`), on any of its
/// threads; what it passes is read here, and asked of the host on the service channel.
enum CallbackTable {
  /// By their number.
  private static let open = Mutex([UInt8: CallbackSignature]())

  /// Before the first call: in the server.
  static func prepare() {
    _ = reentered
    ol_set_callback_handler { number, call, isReentered in
      if isReentered != 0 { CallbackTable.endReentered() }
      CallbackTable.called(number, call)
    }
  }

  /// Made before: the thread may have been interrupted anywhere, with any lock in its hand.
  private static let reentered = RunnerMessage.reenteredCallback.frame(id: 0).encoded()

  private static func endReentered() -> Never {
    _ = reentered.withUnsafeBytes {
      Glibc.send(Runner.control, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
    }
    ol_exit_now(128 + SIGABRT)
  }

  /// The address of the function that `text` describes: a number, and the signature. nil for what no host says.
  static func begin(_ text: [UInt8]) -> (number: UInt8, address: UInt64)? {
    guard let number = text.first, let entry = ol_callback(UInt32(number)),
      let words = String(validating: text.dropFirst(), as: UTF8.self),
      let signature = try? CallbackSignature(parsing: words)
    else { return nil }
    open.withLock { $0[number] = signature }
    return (number, UInt64(UInt(bitPattern: entry)))
  }

  /// The call is over, or they are released.
  static func end(_ numbers: [UInt8]) {
    guard !numbers.isEmpty else { return }
    open.withLock { open in for number in numbers { open[number] = nil } }
  }

  private static func called(_ number: UInt32, _ call: UnsafeMutablePointer<ol_callback_call>) {
    let number = UInt8(truncatingIfNeeded: number)
    // The host ends the run for one whose call is over.
    let signature = open.withLock { $0[number] }
    let arguments = signature.map { read($0, call.pointee) } ?? []
    guard
      case .callback(let bits, let filled)? = ServiceLine.shared.ask(.callback(number: number, arguments: arguments))
    else {
      // The host is gone: there is no result to return.
      ol_exit_now(0)
    }
    if let signature { fill(signature, arguments, filled) }
    call.pointee.result = bits
  }

  /// Writes what the host says to where the arguments point.
  private static func fill(_ signature: CallbackSignature, _ arguments: [CallValue], _ filled: [[UInt8]]) {
    let places = zip(signature.arguments, arguments).filter { $0.0.isFilled }.map(\.1)
    for ((place, capacity), bytes) in zip(zip(places, signature.capacities(of: arguments)), filled) {
      guard case .pointer(let address) = place, let start = UnsafeMutableRawPointer(bitPattern: UInt(address)) else {
        continue
      }
      PluginMemory.put(bytes.prefix(capacity), at: start, of: .argument)
    }
  }

  private static func read(_ signature: CallbackSignature, _ call: ol_callback_call) -> [CallValue] {
    var registers = RegisterReader(call)
    let words = signature.arguments.map { kind in
      if case .number(.f32) = kind { return registers.vector() }
      if case .number(.f64) = kind { return registers.vector() }
      return registers.general()
    }
    let numbers = zip(signature.arguments, words).map { kind, word -> CallValue in
      if case .number(let scalar) = kind { scalar.value(of: word) } else { .pointer(word) }
    }
    return zip(signature.arguments, words).enumerated().map { index, pair in
      value(pair.0, pair.1) { numbers[$0].count } ?? numbers[index]
    }
  }

  /// A copy of what an address leads to; nil for a number. What can't be read ends the process (`PluginMemory`).
  private static func value(
    _ kind: CallbackSignature.Kind, _ word: UInt64, _ count: (Int) -> Int?
  ) -> CallValue? {
    if case .number = kind { return nil }
    if kind.isFilled { return .pointer(word) }
    guard let start = UnsafeRawPointer(bitPattern: UInt(word)) else { return .cstring(nil) }
    switch kind {
    case .number, .room, .output: return nil
    case .cstring:
      return .cstring(
        PluginMemory.text(
          start.assumingMemoryBound(to: CChar.self), atMost: CallSignature.longestString, of: .argument))
    case .reference(let layout): return .bytes(PluginMemory.bytes(start, layout.size, of: .argument))
    // The host sees by the count that there is more, or a count that is none, and ends the run for it.
    case .bytes(let index):
      return .bytes(
        PluginMemory.bytes(start, min(count(index) ?? 0, CallbackSignature.longestContent), of: .argument))
    case .strings(let index):
      let number = min(count(index) ?? 0, CallbackSignature.maxStrings)
      var left = CallbackSignature.longestContent
      var strings: [[UInt8]?] = []
      for address in PluginMemory.values(start.assumingMemoryBound(to: UInt.self), number, of: .argument) {
        let text = UnsafePointer<CChar>(bitPattern: address).map {
          PluginMemory.text($0, atMost: min(left, CallSignature.longestString), of: .argument)
        }
        left -= text?.count ?? 0
        strings.append(text)
      }
      return .bytes(CallbackSignature.bytes(of: strings))
    }
  }
}

/// Takes one argument after the other, as the calling convention has them.
private struct RegisterReader {
  private let call: ol_callback_call
  private var generals = 0
  private var vectors = 0
  private var onStack = 0

  init(_ call: ol_callback_call) { self.call = call }

  mutating func general() -> UInt64 {
    guard generals < 6 else { return next() }
    defer { generals += 1 }
    return withUnsafeBytes(of: call.general) { $0.load(fromByteOffset: generals * 8, as: UInt64.self) }
  }

  mutating func vector() -> UInt64 {
    guard vectors < 8 else { return next() }
    defer { vectors += 1 }
    return withUnsafeBytes(of: call.vector) { $0.load(fromByteOffset: vectors * 8, as: UInt64.self) }
  }

  private mutating func next() -> UInt64 {
    defer { onStack += 1 }
    return PluginMemory.value(call.stack + onStack, of: .argument)
  }
}
