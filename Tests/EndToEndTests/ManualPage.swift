import Foundation

/// A page of the manual, made from a command's help. The macros are those of man(7).
struct ManualPage {
  /// 1 for what users call, 8 for services.
  var section = 1
  let words: [String]
  let command: CommandTree
  /// What the page names at its end.
  let others: [String]
  /// Of `others`, what is in section 8.
  var services: Set<String> = []

  var name: String { words.joined(separator: "-") }
  var file: String { "\(name).\(section)" }

  /// `usage` answers the usage of a command, one line or several.
  func text(usage: ([String]) throws -> String) rethrows -> String {
    var lines = [
      ".\\\" Made from the help of \(words.joined(separator: " ")).",
      ".TH \(Self.plain(name.uppercased())) \(section) \"\" \"Outrider\" \"Outrider\"",
      ".SH NAME",
      "\(Self.plain(name)) \\- \(Self.plain(Self.withoutStop(command.abstract ?? "")))",
      ".SH SYNOPSIS",
    ]
    lines += Self.verbatim(try usage(words))
    lines += Self.description(command, heading: ".SH")
    // What a page of its own describes has only its name here.
    if words.count == 1 {
      if !command.shown.isEmpty { lines.append(".SH COMMANDS") }
      for below in command.shown {
        lines += [".TP", ".BR outrider\\-\(Self.plain(below.commandName)) (1)", Self.text(below.abstract ?? "")]
      }
    } else {
      for (words, below) in command.all(words).dropFirst() {
        lines.append(".SH \(Self.plain(words.joined(separator: " ").uppercased()))")
        lines += [Self.text(below.abstract ?? ""), ".PP"] + Self.verbatim(try usage(words))
        lines += Self.description(below, heading: ".SS")
      }
    }
    lines.append(".SH SEE ALSO")
    lines += others.enumerated().map {
      ".BR \(Self.plain($1)) (\(services.contains($1) ? 8 : 1))" + ($0 + 1 < others.count ? "," : "")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  // MARK: Parts

  private static func description(_ command: CommandTree, heading: String) -> [String] {
    var lines: [String] = []
    var isUnderHeading = false
    for paragraph in (command.discussion ?? "").components(separatedBy: "\n\n") where !paragraph.isEmpty {
      let rows = paragraph.components(separatedBy: "\n")
      if rows.count > 1, rows[0] == rows[0].uppercased(), rows[1].hasPrefix("  ") {
        lines.append("\(heading) \(plain(rows[0]))")
        lines += verbatim(rows.dropFirst().map { String($0.dropFirst(2)) }.joined(separator: "\n"))
        isUnderHeading = true
      } else if rows.allSatisfy({ $0.hasPrefix("  ") }) {
        lines += [".PP"] + verbatim(paragraph)
      } else if lines.isEmpty {
        lines += [heading == ".SH" ? ".SH DESCRIPTION" : ".PP", text(paragraph)]
      } else {
        // What follows examples isn't one of them.
        lines += [isUnderHeading && heading == ".SH" ? ".SH NOTES" : ".PP", text(paragraph)]
        isUnderHeading = false
      }
    }
    let arguments = (command.arguments ?? []).filter(\.shouldDisplay)
    let common = ["help", "version"]
    for (title, chosen) in [
      ("ARGUMENTS", arguments.filter { $0.kind == "positional" }),
      ("OPTIONS", arguments.filter { $0.kind != "positional" && !common.contains($0.valueName ?? "") }),
    ] where !chosen.isEmpty {
      lines.append("\(heading) \(title)")
      for argument in chosen { lines += [".TP", label(argument), text(meaning(argument))] }
    }
    return lines
  }

  private static func label(_ argument: CommandTree.Argument) -> String {
    let value = argument.valueName.map { "\\fI\(plain($0))\\fR" } ?? ""
    guard let names = argument.names else { return value + (argument.isRepeating ? " ..." : "") }
    let options = names.map { "\\fB\(plain($0.kind == "long" ? "--" + $0.name : "-" + $0.name))\\fR" }
    return options.joined(separator: ", ") + (argument.kind == "flag" ? "" : " " + value)
  }

  private static func meaning(_ argument: CommandTree.Argument) -> String {
    var meaning = argument.abstract ?? ""
    if let values = argument.allValues, argument.kind != "flag" {
      meaning += " (values: \(values.joined(separator: ", ")))"
    }
    if let value = argument.defaultValue, argument.kind != "flag", !meaning.contains("(default") {
      meaning += " (default: \(value))"
    }
    return meaning.isEmpty ? "\\&" : meaning
  }

  private static func withoutStop(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }

  // MARK: roff

  /// Lines that are kept as they are.
  private static func verbatim(_ text: String) -> [String] {
    [".nf"] + text.components(separatedBy: "\n").map(self.text) + [".fi"]
  }

  /// A line of text, which is no request whatever it begins with.
  private static func text(_ text: String) -> String {
    guard text != "\\&" else { return text }
    let escaped = plain(text.replacingOccurrences(of: "\n", with: " "))
    return escaped.hasPrefix(".") || escaped.isEmpty ? "\\&" + escaped : escaped
  }

  /// Characters that roff would take for something else, and those beyond ASCII.
  private static func plain(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar {
      case "\\": "\\e"
      case "-": "\\-"
      case "'": "\\(aq"
      case "`": "\\(ga"
      case "^": "\\(ha"
      case "~": "\\(ti"
      case _ where !scalar.isASCII: "\\[u" + String(format: "%04X", scalar.value) + "]"
      default: String(scalar)
      }
    }.joined()
  }
}
