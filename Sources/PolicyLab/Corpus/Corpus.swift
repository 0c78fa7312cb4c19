package import AssetModel
internal import Basics
internal import HostProtocol
package import PluginHost
package import Sandbox

/// A folder of plugins that misbehave, with a table `expected.tsv` of what is right for each: `Plugins/hostile` is one, whose table
/// is collected from the heads of its files.
package struct Corpus: Sendable {
  /// One behaviour, and the one right end of it.
  package struct Row: Sendable, Equatable {
    /// Of the threat; several rows may share one.
    package var id: String
    /// Relative to the corpus.
    package var library: String
    /// nil: an extension, which is asked for its downloads.
    package var symbol: String?
    package var signature: String
    package var arguments: [String]
    package var options: [Option]
    package var outcomes: [Outcome.Kind]
    /// Nothing where any value is right: each a number, a range `A..B`, or `ACCEPTED/REJECTED`.
    package var values: [String]
    package var denied: Denied
    /// Whether it is shown to succeed, and to return 0, where there are no walls.
    package var hasControl: Bool
    package var sentence: String
    /// Where it stands in the table.
    package var line: Int
    /// Where what the table was collected from says so: a file relative to the corpus, and a line.
    package var source: Place?

    package var name: String {
      [id, symbol ?? library].joined(separator: " ") + arguments.map { " \($0)" }.joined()
    }
  }

  package enum Option: Sendable, Equatable {
    case wall(Duration)
    case cpu(Duration)
    case memory(Int)
    case observe
    case request(ContentRequestKind)
    /// One more place that the policy lists under `network`.
    case network(NetworkEndpoint)
  }

  package enum Denied: Sendable, Equatable {
    case nothing
    /// One of these operations, at least.
    case oneOf([String])
    case anything
  }

  package struct Place: Sendable, Equatable {
    package var file: String
    package var line: Int
  }

  package struct Invalid: Error, Equatable {
    /// In the table.
    package var line: Int
    /// nil where the table itself is what was written.
    package var source: Place?
    package var message: String

    /// With the file and the line to mend.
    package func description(in table: String) -> String {
      let place =
        source.map { Place(file: Corpus.path($0.file, of: table), line: $0.line) } ?? Place(file: table, line: line)
      return "\(Printable.text(place.file, limit: 400)):\(place.line): \(message)"
    }
  }

  /// `file`, which is relative to the folder of `table`.
  static func path(_ file: String, of table: String) -> String {
    (table.parentFolder.map { $0 + "/" } ?? "") + file
  }

  package static let maxRows = 10_000
  package private(set) var rows: [Row] = []

  /// The text of an `expected.tsv`: eleven columns divided by one TAB, as its head describes them, and maybe a
  /// twelfth with the file and line that the row was collected from.
  package init(parsing text: String) throws(Invalid) {
    for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated()
    where !line.isEmpty && !line.hasPrefix("#") {
      guard rows.count < Self.maxRows else {
        throw Invalid(line: index + 1, message: "a corpus has at most \(Self.maxRows) rows")
      }
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard cells.count == 11 || cells.count == 12 else {
        throw Invalid(
          line: index + 1, message: "a row has 11 columns divided by one TAB, or 12; this one has \(cells.count)")
      }
      rows.append(try Self.row(cells, index + 1))
    }
    guard !rows.isEmpty else { throw Invalid(line: 1, message: "there is no row") }
  }

  private static func row(_ cells: [String], _ line: Int) throws(Invalid) -> Row {
    func words(_ cell: String) -> [String] { cell == "-" ? [] : cell.split(separator: " ").map(String.init) }
    func alternatives(_ cell: String) -> [String] { cell.split(separator: "|").map(String.init) }
    func isOutside(_ path: String) -> Bool { path.isAbsolutePath || path.pathNames.contains("..") }
    let source = cells.count == 12 ? place(cells[11]) : nil
    func invalid(_ message: String) -> Invalid { Invalid(line: line, source: source, message: message) }
    guard cells.count == 11 || source.map({ !isOutside($0.file) }) ?? false else {
      throw Invalid(line: line, message: "the last of 12 columns is FILE:LINE, below the corpus")
    }
    guard !cells[0].isEmpty, !cells[1].isEmpty, !isOutside(cells[1]) else {
      throw invalid("a row has an id and a library below the corpus")
    }
    var outcomes: [Outcome.Kind] = []
    for word in alternatives(cells[6]) {
      guard let kind = Outcome.Kind(rawValue: word) else {
        throw invalid("\(Printable.text(word, limit: 60).debugDescription) isn't an outcome")
      }
      outcomes.append(kind)
    }
    guard !outcomes.isEmpty else { throw invalid("a row has an outcome") }
    let denied: Denied =
      switch cells[8] {
      case "-": .nothing
      case "*": .anything
      case let names: .oneOf(alternatives(names))
      }
    return Row(
      id: cells[0], library: cells[1], symbol: cells[2] == "-" ? nil : cells[2], signature: cells[3],
      arguments: words(cells[4]), options: try options(words(cells[5]), invalid), outcomes: outcomes,
      values: ["-", "*"].contains(cells[7]) ? [] : alternatives(cells[7]), denied: denied,
      hasControl: cells[9] == "yes", sentence: cells[10], line: line, source: source)
  }

  private static func place(_ text: String) -> Place? {
    guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
      let line = Int(text[text.index(after: colon)...]), line > 0
    else { return nil }
    return Place(file: String(text[..<colon]), line: line)
  }

  private static let requests: [String: ContentRequestKind] = [
    "install": .install, "update": .update, "periodic": .periodic, "language-change": .languageChange,
  ]

  private static func options(_ words: [String], _ invalid: (String) -> Invalid) throws(Invalid) -> [Option] {
    var options: [Option] = []
    var rest = words[...]
    while let word = rest.popFirst() {
      let option: Option?
      switch word {
      case "--observe": option = .observe
      case "--wall": option = rest.popFirst().flatMap(Quantity.duration).map { .wall($0) }
      case "--cpu": option = rest.popFirst().flatMap(Quantity.duration).map { .cpu($0) }
      case "--memory": option = rest.popFirst().flatMap(Quantity.bytes).map { .memory($0) }
      case "--request": option = rest.popFirst().flatMap { requests[$0] }.map { .request($0) }
      case "--network": option = rest.popFirst().flatMap { try? NetworkEndpoint($0) }.map { .network($0) }
      default: option = nil
      }
      guard let option else {
        throw invalid(
          "\(Printable.text(word, limit: 60).debugDescription) is none of --wall, --cpu, --memory, --observe, "
            + "--request and --network with their value")
      }
      options.append(option)
    }
    return options
  }
}

extension Corpus.Row {
  /// `base` with the limits of the row in the place of its own, and what the row lists under `network` beside its own.
  package func policy(over base: Policy) -> Policy {
    var policy = base
    for option in options {
      switch option {
      case .wall(let limit): policy.limits.wallTime = limit
      case .cpu(let limit): policy.limits.cpu = limit
      case .memory(let limit): policy.limits.memory = limit
      case .observe: policy.observesFiles = true
      case .network(let endpoint): if !policy.network.contains(endpoint) { policy.network.append(endpoint) }
      case .request: break
      }
    }
    return policy
  }

  /// The file and line that say what is right.
  package func place(in table: String) -> String {
    source.map { "\(Corpus.path($0.file, of: table)):\($0.line)" } ?? "\(table):\(line)"
  }

  package var request: ContentRequestKind {
    for case .request(let kind) in options { return kind }
    return .install
  }

  /// What was expected, with what was seen instead.
  package func verdict(on observed: Observed) -> [PolicyTestResult.Line] {
    let kinds = outcomes.map(\.rawValue).joined(separator: " or ")
    var lines: [PolicyTestResult.Line] = [
      .init(
        expectation: "outcome \(kinds)",
        mismatch: outcomes.contains(observed.outcome.kind) ? nil : observed.ending)
    ]
    if !values.isEmpty, observed.outcome.kind == .returned, let value = observed.value {
      lines.append(
        .init(
          expectation: "returned \(values.joined(separator: " or "))",
          mismatch: values.contains { Self.fits(value, $0) } ? nil : "returned \(value)"))
    }
    switch denied {
    case .anything: break
    case .nothing:
      lines.append(
        .init(
          expectation: "no denials",
          mismatch: observed.denials.isEmpty ? nil : "denied \(Observed.list(observed.denials))"))
    case .oneOf(let names):
      let isThere = observed.denials.contains { names.contains($0.call) }
      lines.append(
        .init(
          expectation: "deny \(names.joined(separator: " or "))",
          mismatch: isThere ? nil : observed.whatWasDenied))
    }
    return lines
  }

  /// Whether what is to be refused succeeded.
  package func gotThrough(_ observed: Observed) -> Bool {
    hasControl && observed.outcome.kind == .returned && observed.value == "0" && !values.isEmpty
      && !values.contains { Self.fits("0", $0) }
  }

  private static func fits(_ value: String, _ expected: String) -> Bool {
    guard let dots = expected.firstRange(of: "..") else { return value == expected }
    guard let low = Int64(expected[..<dots.lowerBound]), let high = Int64(expected[dots.upperBound...]),
      let number = Int64(value), low <= high
    else { return false }
    return (low...high).contains(number)
  }
}
