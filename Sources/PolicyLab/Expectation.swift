internal import AssetModel
internal import Basics
internal import HostProtocol
package import PluginHost
internal import Sandbox

/// One line of what a test of a policy expects.
package struct Expectation: Sendable, Equatable {
  enum Condition: Sendable, Equatable {
    case returned(String?)
    case outcome(Outcome.Kind)
    case noDenials
    case deniedBy(String)
    /// A system call by its name, a path, or both.
    case deny(call: String?, path: String?)
    case denyAccess(Access, path: String)
    /// A host and its port, as reports name them.
    case denyConnection(String)
    case allow(path: String)
    case allowAccess(Access, path: String)
    case atMost(Meter, Double, isStrict: Bool)
    case log(String)
    case output(String)
  }

  enum Meter: String, Sendable, CaseIterable { case memory, wall, cpu }

  /// What is done with a path, or with what lies in it.
  enum Access: String, Sendable, CaseIterable { case read, write, execute }

  package struct Invalid: Error, Equatable {
    package var message: String
  }

  /// As it was written.
  package let text: String
  let condition: Condition

  private static let walls = ["seccomp", "files", "limits", "network"]
  package static let grammar =
    "returned [VALUE], outcome KIND, no denials, deny CALL, deny PATH, deny CALL PATH, "
    + "deny connect HOST:PORT, deny read|write|execute PATH, allow PATH, allow read|write|execute PATH, "
    + "denied by seccomp|files|limits|network, memory|wall|cpu <= QUANTITY, log TEXT, output TEXT|hex:BYTES"

  package init(parsing text: String) throws(Invalid) {
    self.text = text
    condition = try Self.condition(text)
  }

  /// How the run ends; without such a line a test expects it to return.
  package var isOfOutcome: Bool {
    switch condition {
    case .returned, .outcome: true
    default: false
    }
  }

  /// Whether it says that the run ends in this way.
  package func expects(_ kind: Outcome.Kind) -> Bool {
    switch condition {
    case .outcome(let wanted): wanted == kind
    case .returned: kind == .returned
    default: false
    }
  }

  /// Whether something is to be denied.
  package var isOfDenial: Bool {
    switch condition {
    case .deny, .denyAccess, .denyConnection, .deniedBy: true
    default: false
    }
  }

  /// The path that is to be denied.
  package var deniedPath: String? {
    switch condition {
    case .deny(_, let path): path
    case .denyAccess(_, let path): path
    default: nil
    }
  }

  /// Paths are seen only while the host observes them.
  package var needsObservation: Bool {
    switch condition {
    case .deny(let call, let path): path != nil || call.map(Self.isAboutFiles) ?? false
    case .allow, .allowAccess, .denyAccess, .noDenials: true
    // That all files are open shows when another is opened.
    case .deniedBy(let wall): ["files", "limits"].contains(wall)
    default: false
    }
  }

  private static func isAboutFiles(_ call: String) -> Bool {
    !SystemCalls.pathArguments(of: call).isEmpty || call == "mmap"
  }

  private static func condition(_ text: String) throws(Invalid) -> Condition {
    let words = text.split(separator: " ", maxSplits: 1).map(String.init)
    let rest = words.count > 1 ? words[1].trimmed : ""
    switch words.first {
    case "returned":
      // Spaces around it may be a part of the value.
      return .returned(rest.isEmpty ? nil : words[1])
    case "outcome":
      guard let kind = Outcome.Kind(rawValue: rest) else {
        let known = Outcome.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        throw Invalid(message: "\(shown(rest)) isn't an outcome; there are \(known)")
      }
      return .outcome(kind)
    case "no" where rest == "denials": return .noDenials
    case "denied" where rest.hasPrefix("by "):
      let wall = String(rest.dropFirst(3)).trimmed
      guard walls.contains(wall) else {
        throw Invalid(message: "\(shown(wall)) denies nothing by itself; choose \(walls.joined(separator: ", "))")
      }
      return .deniedBy(wall)
    case "deny" where !rest.isEmpty: return try deny(rest)
    case "allow" where isAccessed(rest):
      let (access, path) = try accessed(rest)
      return access.map { .allowAccess($0, path: path) } ?? .allow(path: path)
    case "log" where !rest.isEmpty: return .log(words[1])
    case "output" where !rest.isEmpty: return try output(rest.hasPrefix("hex:") ? rest : words[1])
    case let word?:
      if let meter = Meter(rawValue: word) { return try bound(meter, rest) }
      fallthrough
    case nil: throw Invalid(message: "\(shown(text)) isn't an expectation; there are \(grammar)")
    }
  }

  private static func deny(_ rest: String) throws(Invalid) -> Condition {
    if rest.isAbsolutePath || rest.hasPrefix("$") { return .deny(call: nil, path: try path(rest)) }
    let parts = rest.split(separator: " ", maxSplits: 1).map { String($0).trimmed }
    if parts.count == 2, let access = Access(rawValue: parts[0]) {
      return .denyAccess(access, path: try path(parts[1]))
    }
    guard SystemCalls.isKnown(parts[0]) else {
      throw Invalid(
        message: "\(shown(parts[0])) isn't a system call that this host knows; write deny openat or deny /etc/passwd")
    }
    guard parts.count == 2 else { return .deny(call: parts[0], path: nil) }
    if parts[0] == "connect", !parts[1].isAbsolutePath, !parts[1].hasPrefix("$") {
      return .denyConnection(try connection(parts[1]))
    }
    return .deny(call: parts[0], path: try path(parts[1]))
  }

  /// As a policy names it.
  private static func connection(_ text: String) throws(Invalid) -> String {
    do {
      return try NetworkEndpoint(text).text
    } catch {
      throw Invalid(message: "\(shown(text)) is no host with its port; write for example deny connect a.example:443")
    }
  }

  private static func isAccessed(_ rest: String) -> Bool {
    let first = rest.split(separator: " ", maxSplits: 1).first.map(String.init) ?? ""
    return rest.isAbsolutePath || rest.hasPrefix("$") || rest != first && Access(rawValue: first) != nil
  }

  private static func accessed(_ rest: String) throws(Invalid) -> (Access?, String) {
    let parts = rest.split(separator: " ", maxSplits: 1).map { String($0).trimmed }
    guard parts.count == 2, let access = Access(rawValue: parts[0]) else { return (nil, try path(rest)) }
    return (access, try path(parts[1]))
  }

  /// Where a plugin sees what a policy names by a variable.
  private static let variables = [
    "$BUNDLE": RunnerView.bundle, "$CONTAINER": RunnerView.container, "$MANIFEST": RunnerView.manifest,
    "$TMP": RunnerView.temporary,
  ]

  /// By its plain name, as denials are compared: `/srv//a/../b/` is `/srv/b`.
  private static func path(_ text: String) throws(Invalid) -> String {
    // Taken for the name of one file, a pattern would hold whatever is denied.
    guard let named = PathPattern.literal(text) else {
      throw Invalid(
        message:
          "\(shown(text)) is a pattern; name one path: with read, write or execute a folder stands for what lies in it")
    }
    if text.contains(" /") || text.contains(" $") {
      throw Invalid(message: "\(shown(text)) is more than one path; write a line for each")
    }
    let variable = variables.first { named.lies(in: $0.key) }
    let whole = variable.map { $0.value + named.rest(after: $0.key) } ?? named
    guard whole.isAbsolutePath, let path = PolicyPath.named(whole) else {
      let names = variables.keys.sorted().joined(separator: ", ")
      throw Invalid(message: "\(shown(text)) isn't an absolute path, nor one that begins with \(names)")
    }
    return path
  }

  private static func output(_ rest: String) throws(Invalid) -> Condition {
    guard rest.hasPrefix("hex:") else { return .output(rest) }
    let digits = rest.dropFirst(4).lowercased()
    guard !digits.isEmpty, Hexadecimal.bytes(digits) != nil else {
      throw Invalid(message: "\(shown(rest)) isn't bytes in hexadecimal, two digits each")
    }
    return .output("hex:" + digits)
  }

  private static func bound(_ meter: Meter, _ rest: String) throws(Invalid) -> Condition {
    let isStrict = !rest.hasPrefix("<=")
    guard rest.hasPrefix("<") else {
      throw Invalid(message: "\(meter.rawValue) is bounded by <= or <, for example \(example(meter))")
    }
    let quantity = String(rest.dropFirst(isStrict ? 1 : 2)).trimmed
    let value: Double? =
      meter == .memory
      ? Quantity.bytes(quantity).map(Double.init) : Quantity.duration(quantity).map { $0 / .seconds(1) }
    guard let value else {
      throw Invalid(message: "\(shown(quantity)) isn't a quantity; write for example \(example(meter))")
    }
    return .atMost(meter, value, isStrict: isStrict)
  }

  private static func example(_ meter: Meter) -> String {
    meter == .memory ? "memory <= 4MiB" : "\(meter.rawValue) <= 2s"
  }

  private static func shown(_ text: String) -> String { Printable.text(text, limit: 60).debugDescription }
}

extension String {
  /// Without the spaces around it.
  var trimmed: String {
    let start = drop { $0 == " " }
    return String(start.reversed().drop { $0 == " " }.reversed())
  }
}
