internal import HostProtocol

/// What can be told of a library and its functions without running any of it.
package struct LibraryExploration: Sendable, Encodable {
  package struct Function: Sendable, Equatable, Encodable {
    package var name: String
    /// As `outrider call` takes it; nil: nothing says what it is, or no call can pass it.
    package var signature: String?
    /// As in C; nil: nothing says what it is.
    package var prototype: String?
    /// Why there is a prototype and no signature.
    package var problem: String?
    /// What headers say of it, where they were asked.
    package var header: HeaderSide?

    /// What the header says, and without one the debug information.
    package var usualSignature: String? { header.map(\.signature) ?? signature }
  }

  /// What a header says of a function.
  package struct HeaderSide: Sendable, Equatable, Encodable {
    package var signature: String?
    package var prototype: String
    package var problem: String?
    /// What the debug information says otherwise.
    package var mismatch: String?
  }

  package var facts: LibraryFacts
  /// The file that debug information was read from, where it isn't the library's.
  package var debugFile: String?
  package var functions: [Function]

  /// A larger file isn't looked at.
  package static let longest = 512 << 20

  /// - Parameters:
  ///   - bytes: The library's file.
  ///   - debug: Where its debug information is; its own file where that wasn't looked for.
  ///   - header: What its headers declare.
  package init(_ bytes: [UInt8], debug: DebugSource? = nil, header: HeaderDescription? = nil) {
    facts = LibraryFacts(LibraryBytes(bytes: bytes))
    let source = debug ?? DebugSource(bytes)
    facts.debugProblem = source.problem
    debugFile = source.path
    let debug = DebugInformation(source, wanted: facts.functions)
    functions = facts.functions.map { name in
      var function = Function(name: name)
      let found = debug.functions[name]
      if let found {
        function.prototype = found.prototype(of: name)
        (function.signature, function.problem) = Self.signature(of: found)
      }
      if let declared = header?.functions[name] { function.header = Self.side(declared, found) }
      return function
    }
  }

  private static func signature(of function: CFunction) -> (String?, problem: String?) {
    do throws(CType.Unfit) {
      return (try function.signature().description, nil)
    } catch {
      return (nil, error.reason)
    }
  }

  private static func side(_ declared: HeaderDescription.Function, _ found: CFunction?) -> HeaderSide {
    var side = HeaderSide(prototype: declared.type.prototype(of: declared.name))
    guard declared.hasPrototype else {
      side.prototype = "\(declared.type.result.words) \(declared.name)()"
      side.problem = "its header doesn't say what it takes"
      return side
    }
    guard declared.isUsuallyCalled else {
      side.problem = "it has a calling convention of its own"
      return side
    }
    (side.signature, side.problem) = signature(of: declared.type)
    side.mismatch = found.flatMap { declared.type.mismatch(with: $0) }
    return side
  }
}
