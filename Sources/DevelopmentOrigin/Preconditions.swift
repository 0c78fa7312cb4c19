internal import Basics

/// The validators of what would be sent.
struct Validators: Equatable {
  /// With quotes, and `W/` where it is weak.
  var etag: String?
  var lastModified: Int?
}

/// Conditional requests (RFC 9110, section 13).
enum Preconditions {
  enum Verdict: Equatable { case proceed, notModified, failed }

  static func evaluate(_ request: RecordedRequest, _ validators: Validators) -> Verdict {
    let ifMatch = request.headers("If-Match")
    if !ifMatch.isEmpty {
      if !matches(ifMatch, validators.etag, weakly: false) { return .failed }
    } else if let date = request.header("If-Unmodified-Since").flatMap(HTTPDate.seconds),
      let modified = validators.lastModified,
      modified > date
    {
      return .failed
    }
    let ifNoneMatch = request.headers("If-None-Match")
    if !ifNoneMatch.isEmpty {
      return matches(ifNoneMatch, validators.etag, weakly: true) ? .notModified : .proceed
    }
    if let date = request.header("If-Modified-Since").flatMap(HTTPDate.seconds), let modified = validators.lastModified,
      modified <= date
    {
      return .notModified
    }
    return .proceed
  }

  /// Whether `If-Range` lets a range through.
  static func allowsRange(_ request: RecordedRequest, _ validators: Validators) -> Bool {
    guard let condition = request.header("If-Range") else { return true }
    if condition.hasSuffix("\"") { return !condition.hasPrefix("W/") && condition == validators.etag }
    guard let date = HTTPDate.seconds(condition) else { return false }
    return validators.lastModified.map(Int64.init) == date
  }

  private static func matches(_ fields: [String], _ etag: String?, weakly: Bool) -> Bool {
    for field in fields {
      for item in list(field) {
        if item == "*" { return true }
        guard let etag else { continue }
        if weakly {
          if opaque(item) == opaque(etag) { return true }
        } else if item == etag, !item.hasPrefix("W/") {
          return true
        }
      }
    }
    return false
  }

  private static func opaque(_ etag: String) -> Substring { etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...] }

  /// Entity tags may hold commas between their quotes.
  private static func list(_ field: String) -> [String] {
    var items: [String] = []
    var item = ""
    var isQuoted = false
    for character in field {
      if character == "\"" { isQuoted.toggle() }
      if character == ",", !isQuoted {
        items.append(item.trimmed)
        item = ""
      } else {
        item.append(character)
      }
    }
    return items + [item.trimmed]
  }
}
