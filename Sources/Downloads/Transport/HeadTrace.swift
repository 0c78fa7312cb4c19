internal import AssetModel

/// The head of a request or an answer, for a person who looks for a fault: every line fit for a terminal, and nothing in it
/// that would give others access.
public struct TracedHead: Sendable, Equatable {
  /// Who sent it.
  public enum Direction: Sendable { case sent, received }

  /// Who sent it.
  public var direction: Direction
  /// Whose it is, without user name and password.
  public var url: String
  /// The request or status line, then the fields.
  public var lines: [String]
}

/// Puts heads together from what libcurl shows of them: a request in one piece, an answer line by line.
struct HeadTrace {
  private let url: String
  private let observer: @Sendable (TracedHead) -> Void
  private var answer: [UInt8] = []

  init(url: String, observer: @escaping @Sendable (TracedHead) -> Void) {
    self.url = url
    self.observer = observer
  }

  mutating func sent(_ bytes: UnsafeRawBufferPointer) {
    observer(TracedHead(direction: .sent, url: url, lines: Self.lines(Array(bytes.prefix(Self.longest)), isSent: true)))
  }

  mutating func received(_ bytes: UnsafeRawBufferPointer) {
    let isEnd = bytes.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    answer += bytes.prefix(Self.longest - answer.count)
    guard isEnd, !answer.isEmpty else { return }
    let lines = Self.lines(answer)
    answer = []
    // Trailers end so as well, and where there are none an empty line alone comes.
    if !lines.isEmpty { observer(TracedHead(direction: .received, url: url, lines: lines)) }
  }

  /// What the reader of heads takes at most, and a line may be as long as that.
  static let longest = ResponseHeadReader.maxBytes

  /// `isSent`: what a field of a request is for, only the person knows who gave it.
  static func lines(_ bytes: [UInt8], isSent: Bool = false) -> [String] {
    var lines: [String] = []
    // A field that is folded goes on in the next line, and is as secret as its beginning.
    var isSecret = false
    for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      // The end of the head; of a request its body follows.
      guard let first = line.first else { break }
      if !lines.isEmpty, HeaderToken.isBlank(first) {
        lines.append(isSecret ? hidden : shown(line))
        continue
      }
      let name = lines.isEmpty ? nil : line.firstIndex(of: UInt8(ascii: ":")).map { line[..<$0] }
      isSecret = name.map { isSecretField($0, isSent: isSent) } ?? false
      if let name, isSecret {
        lines.append("\(shown(name)): \(hidden)")
      } else {
        // Of a status line no part is a query.
        let isRequestLine = lines.isEmpty && !line.starts(with: Array("HTTP/".utf8))
        let isAddress = isRequestLine || name.map(isAddressField) == true
        let line = !lines.isEmpty && isAddress ? withoutOddUserInformation(line) : line
        lines.append(shown(lines.isEmpty && !isRequestLine ? line : withoutQueries(line, isAddress: isAddress)))
      }
    }
    return lines
  }

  private static let hidden = "(hidden)"

  private static let secretFields: Set<String> = [
    "authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2", "authentication-info",
    "proxy-authentication-info",
  ]
  /// In names that services gave fields of their own, such as `X-Api-Key`.
  private static let secretWords = [
    "token", "secret", "password", "credential", "api-key", "apikey", "access-key", "auth", "session", "signature",
    "subscription-key",
  ]
  /// What they ask for is no secret.
  private static let questions: Set<String> = ["www-authenticate", "proxy-authenticate"]
  /// Of requests, none of which lets anyone in.
  private static let harmlessFields: Set<String> = [
    "cache-control", "connection", "content-length", "content-type", "date", "dnt", "expect", "host", "origin",
    "pragma",
    "proxy-connection", "range", "referer", "te", "user-agent", "via", "want-content-digest", "want-repr-digest",
    "x-requested-with",
  ]

  private static func isSecretField(_ name: ArraySlice<UInt8>, isSent: Bool) -> Bool {
    let name = HeaderToken.lowercased(name.filter { !HeaderToken.isBlank($0) })
    if isSent {
      return !harmlessFields.contains(name) && !name.hasPrefix("if-") && name != "accept" && !name.hasPrefix("accept-")
    }
    return !questions.contains(name) && (secretFields.contains(name) || secretWords.contains { name.contains($0) })
  }

  /// Those that are a URL.
  private static func isAddressField(_ name: ArraySlice<UInt8>) -> Bool {
    ["location", "content-location", "referer"].contains(HeaderToken.lowercased(name))
  }

  /// Queries and fragments carry tokens, in whatever field a URL stands. `isAddress`: all of it is one.
  private static func withoutQueries(_ line: ArraySlice<UInt8>, isAddress: Bool) -> ArraySlice<UInt8> {
    func isAround(_ byte: UInt8) -> Bool { HeaderToken.isBlank(byte) || "<>\"".utf8.contains(byte) }
    var result: [UInt8] = []
    var rest = line
    while let mark = rest.firstIndex(where: { "?#".utf8.contains($0) }) {
      let before = line[..<mark].reversed().prefix { !isAround($0) }
      let query = rest[rest.index(after: mark)...].prefix { !isAround($0) }
      let isQuery =
        isAddress || before.contains(UInt8(ascii: "/"))
        || rest[mark] == UInt8(ascii: "?") && (before.isEmpty || before.first == UInt8(ascii: "="))
      result += rest[...mark] + (isQuery && !query.isEmpty ? Array("…".utf8) : [])
      rest = isQuery ? rest[query.endIndex...] : rest[rest.index(after: mark)...]
    }
    return (result + rest)[...]
  }

  /// Where an address isn't written as one, nobody knows where its authority ends: all before the last `@` may be a password.
  private static func withoutOddUserInformation(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let at = line.lastIndex(of: UInt8(ascii: "@")), at > colon
    else { return line }
    let value = line[line.index(after: colon)...].drop(while: HeaderToken.isBlank)
    if RedirectPolicy.isWrittenAsAddress(String(decoding: value, as: UTF8.self)) { return line }
    return line[...colon] + Array(" \(hidden)".utf8) + line[at...]
  }

  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    let text = withoutUserInformation(String(decoding: bytes, as: UTF8.self))
    return Printable.text(text, limit: 1000)
  }

  /// A name and a password may stand in any URL that a field has (RFC 3986, 3.2.1).
  private static func withoutUserInformation(_ text: String) -> String {
    // By scalars: what follows a mark may make another character of it.
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let start = rest.firstRange(of: "//".unicodeScalars) {
      result += rest[..<start.upperBound]
      rest = rest[start.upperBound...]
      let authority = rest.prefix { !"/?# \t\"<>,;".unicodeScalars.contains($0) }
      if let at = authority.lastIndex(of: "@") {
        result += "\(hidden)@".unicodeScalars
        rest = rest[rest.index(after: at)...]
      }
    }
    return String(result + rest)
  }
}
