internal import LinuxSystem

/// The language that the user prefers, as a language tag (RFC 5646): from the environment, otherwise from the file that
/// localectl(1) writes.
enum PreferredLanguage {
  /// A locale as in locale(7), before the system's own.
  private static let variables = ["LC_ALL", "LC_MESSAGES", "LANG"]

  /// nil: nothing says it, or nothing but `C`.
  static func read(environment: [String: String], file: String = "/etc/locale.conf") -> String? {
    for name in variables {
      if let text = environment[name], !text.isEmpty { return tag(text) }
    }
    return read(file: file)
  }

  /// As of the system alone.
  static func read(file: String) -> String? {
    guard let text = try? Files.text(of: file, limit: 4096) else { return nil }
    let assigned = assignments(text)
    return ["LC_MESSAGES", "LANG"].compactMap { assigned[$0] }.first.flatMap(tag)
  }

  /// `de_DE.UTF-8@euro` is `de-DE`.
  static func tag(_ locale: String) -> String? {
    let name = locale.prefix { $0 != "." && $0 != "@" }
    let parts = name.split(omittingEmptySubsequences: false) { $0 == "_" || $0 == "-" }
    guard name != "C", name != "POSIX", parts.count <= 4, parts[0].utf8.count > 1, parts.allSatisfy(isSubtag) else {
      return nil
    }
    return parts.joined(separator: "-")
  }

  private static func isSubtag(_ part: Substring) -> Bool {
    (1...8).contains(part.utf8.count) && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
  }

  /// locale.conf(5): one `NAME=value` a line, which may be quoted.
  private static func assignments(_ text: String) -> [String: String] {
    var assigned: [String: String] = [:]
    for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      assigned[String(parts[0])] = String(parts[1].filter { $0 != "\"" && $0 != "'" })
    }
    return assigned
  }
}
