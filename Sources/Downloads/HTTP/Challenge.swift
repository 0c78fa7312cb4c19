/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110, 11).
struct Challenge: Sendable, Equatable {
  /// Weaker first.
  enum Scheme: String, Sendable, Comparable, CaseIterable {
    case basic, bearer, digest

    private var strength: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    static func < (left: Self, right: Self) -> Bool { left.strength < right.strength }
  }

  var scheme: Scheme
  var parameters: [String: String]

  var realm: String { parameters["realm"] ?? "" }

  private static let mostBytes = 8192
  private static let mostParameters = 64

  /// The challenges whose schemes are known; several may share a line.
  static func parse(_ values: [String]) -> [Challenge] {
    var challenges: [Challenge] = []
    for value in values.prefix(16) where value.utf8.count <= mostBytes {
      var isKnown = false
      for item in items(value) {
        // `Scheme name=value` begins a challenge, `name=value` goes on with it.
        var parameter = item
        let name = item.prefix { $0 != " " && $0 != "=" }
        if name.count == item.count || item[name.endIndex] == " " && !item[name.endIndex...].drop(while: { $0 == " " }).hasPrefix("=") {
          let scheme = Scheme(rawValue: name.lowercased())
          isKnown = scheme != nil
          if let scheme { challenges.append(Challenge(scheme: scheme, parameters: [:])) }
          parameter = item[name.endIndex...].drop { $0 == " " }
        }
        guard isKnown, !challenges.isEmpty, let equals = parameter.firstIndex(of: "=") else { continue }
        let key = parameter[..<equals].filter { $0 != " " }.lowercased()
        let last = challenges.count - 1
        // A parameter that comes twice: the first one counts.
        if challenges[last].parameters.count < mostParameters, challenges[last].parameters[key] == nil {
          challenges[last].parameters[key] = unquoted(parameter[parameter.index(after: equals)...].drop { $0 == " " })
        }
      }
    }
    return challenges
  }

  /// Splits at commas outside quotes.
  private static func items(_ text: String) -> [Substring] {
    var items: [Substring] = []
    var start = text.startIndex
    var isQuoted = false
    var isEscaped = false
    for index in text.indices {
      let character = text[index]
      if isEscaped { isEscaped = false }
      else if isQuoted, character == "\\" { isEscaped = true }
      else if character == "\"" { isQuoted.toggle() }
      else if character == ",", !isQuoted {
        items.append(text[start..<index])
        start = text.index(after: index)
      }
    }
    items.append(text[start...])
    return items.map { $0.drop { $0 == " " || $0 == "\t" } }.filter { !$0.isEmpty }
  }

  private static func unquoted(_ text: Substring) -> String {
    guard text.first == "\"" else { return String(text.prefix { $0 != " " && $0 != "\t" }) }
    var result = ""
    var isEscaped = false
    for character in text.dropFirst() {
      if isEscaped {
        result.append(character)
        isEscaped = false
      } else if character == "\\" {
        isEscaped = true
      } else if character == "\"" {
        break
      } else {
        result.append(character)
      }
    }
    return result
  }
}
