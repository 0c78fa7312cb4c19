internal import Basics

/// A header field, as it stood on the wire.
public struct HeaderField: Sendable, Equatable {
  public var name: String
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// A request that the origin could parse, with any answer.
public struct RecordedRequest: Sendable {
  /// Counted from 0 over the whole origin.
  public internal(set) var number = 0
  /// Counted from 1 among the requests for the same path.
  public internal(set) var nth = 1
  /// Counted from 1 over the origin's connections.
  public internal(set) var connection = 0
  public internal(set) var time = ContinuousClock.now
  /// The common name in the certificate that the client showed.
  public internal(set) var clientName: String?
  public let method: String
  /// As it was sent.
  public let target: String
  /// Without query, percent signs decoded.
  public let path: String
  public let query: String?
  public let headers: [HeaderField]
  public internal(set) var body: [UInt8] = []
  let pathBytes: [UInt8]
  let isVersion10: Bool
  let bodyLength: Int
  let authority: String

  /// Whether its body comes only when it is asked for.
  var asksToContinue: Bool {
    !isVersion10 && bodyLength > 0 && headers("Expect").contains { $0.lowercased() == "100-continue" }
  }

  /// Whether it asks a proxy for what another server has.
  var isForAnother: Bool { method == "CONNECT" || !target.isAbsolutePath }

  /// The value of the first field of that name, in any case.
  public func header(_ name: String) -> String? { headers.first { $0.name.isEqualIgnoringCase(to: name) }?.value }

  /// All values of that name, in order.
  public func headers(_ name: String) -> [String] {
    headers.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
  }
}

extension String {
  /// For ASCII names; others are equal only to themselves.
  func isEqualIgnoringCase(to other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return zip(utf8, other.utf8).allSatisfy { first, second in
      first == second || (first ^ second == 0x20 && (0x61...0x7a).contains(first | 0x20))
    }
  }

  /// Without spaces and tabs at either end.
  var trimmed: String {
    var view = self[...]
    while let first = view.first, first == " " || first == "\t" { view.removeFirst() }
    while let last = view.last, last == " " || last == "\t" { view.removeLast() }
    return String(view)
  }
}
