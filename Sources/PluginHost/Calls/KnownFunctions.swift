internal import Basics
internal import HostProtocol
internal import Synchronization

/// The functions that were called before, of one plugin. Any thread.
final class KnownFunctions: Sendable {
  private struct Key: Hashable {
    var symbol: ExactText
    var text: ExactText
  }

  private struct State {
    var last: KnownFunction?
    var all: [Key: KnownFunction] = [:]
  }

  /// Those beyond that are read anew at each call.
  static let maxCount = 1024
  /// Bytes of a name that is kept. Names that compilers make have some hundred.
  static let longestName = 4096

  private let state = Mutex(State())

  /// Throws `usage` where there is no such name or type.
  func function(_ symbol: String, _ text: String) throws(HostError) -> KnownFunction {
    let key = Key(symbol: ExactText(symbol), text: ExactText(text))
    let found = state.withLock { state -> KnownFunction? in
      // The same one again and again, mostly.
      if let last = state.last, last.symbol.isExactly(symbol), last.text.isExactly(text) { return last }
      guard let found = state.all[key] else { return nil }
      state.last = found
      return found
    }
    if let found { return found }
    guard !symbol.isEmpty else { throw .usage("the symbol is missing: name the function to call") }
    guard !symbol.utf8.contains(0) else { throw .usage("a symbol's name has no NUL") }
    let signature: CallSignature
    do throws(CallSignature.ParseError) {
      signature = try CallSignature(parsing: text)
    } catch {
      throw .usage(error.description)
    }
    return state.withLock { state in
      if let found = state.all[key] { return found }
      let isRemembered = state.all.count < Self.maxCount && symbol.utf8.count <= Self.longestName
      let function = KnownFunction(symbol, text, signature, isRemembered: isRemembered)
      if isRemembered { (state.all[key], state.last) = (function, function) }
      return function
    }
  }
}
