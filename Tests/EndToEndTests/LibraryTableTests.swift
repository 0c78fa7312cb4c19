import Foundation
import TestSupport
import Testing

/// `docs/libraries.md`: other people's libraries, each called for real. OUTRIDER_WRITE_DOCUMENTS=1 writes the table anew.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct LibraryTableTests {
  /// A test file, and what its first lines say.
  private struct Example {
    let path: String
    let lines: [Substring]

    init(_ path: String) throws {
      self.path = path
      lines = try String(contentsOfFile: "\(Workspace.root)/\(path)", encoding: .utf8).split(separator: "\n")
    }

    func value(_ key: String) -> String? {
      lines.first { $0.hasPrefix("\(key): ") }.map { String($0.dropFirst(key.count + 2)) }
    }

    /// "What its tests do: the command that runs them".
    var purpose: String { lines[0].dropFirst(2).components(separatedBy: ": ")[0] }
    var library: String { value("plugin") ?? "" }

    var row: String {
      let policy = value("policy").map { name in
        // A name without a dot is that of a policy that is shipped.
        name.contains(".") ? "[\(name)](../\((path as NSString).deletingLastPathComponent)/\(name))" : "`\(name)`"
      }
      let name = (path as NSString).lastPathComponent.replacing(".test.yaml", with: "")
      return "| `\(library)` | [\(name)](../\(path)) | \(purpose) | \(policy ?? "nothing") | \(value("# Note") ?? "") |"
    }
  }

  private static let folders = ["Examples/libraries", "Examples/policies"]

  private static func examples() throws -> [Example] {
    try folders.flatMap { folder in
      try FileManager.default.contentsOfDirectory(atPath: "\(Workspace.root)/\(folder)").filter {
        $0.hasSuffix(".test.yaml")
      }.map { try Example("\(folder)/\($0)") }
    }.sorted { $0.library < $1.library }
  }

  @Test("every library of Debian that the table names does what it says, under the policy that it names")
  func works() throws {
    let files = try Self.examples().filter { $0.path.hasPrefix("Examples/libraries/") }
    #expect(files.count >= 30)
    let end = try Workspace.run(["policy", "test"] + files.map { "\(Workspace.root)/\($0.path)" })
    #expect(end.status == 0 && end.output.contains("\(files.count) tests: \(files.count) as expected, 0 not"), "\(end)")
  }

  @Test("each test file says how it is run and which package has its library") func heads() throws {
    let installs = try String(contentsOfFile: "\(Workspace.root)/Tests/install-dependencies", encoding: .utf8)
    for example in try Self.examples() where example.path.hasPrefix("Examples/libraries/") {
      #expect(example.lines[0].hasSuffix(": outrider policy test \(example.path)"), "\(example.path)")
      let packages = example.value("# Package")?.split(separator: " ") ?? []
      #expect(!packages.isEmpty, "\(example.path)")
      for package in packages { #expect(installs.contains(package), "\(example.path): \(package)") }
    }
  }

  @Test("docs/libraries.md has a row for each of them") func table() throws {
    let path = "\(Workspace.root)/docs/libraries.md"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let begin = "| library | test | what it does | policy | note |\n|---|---|---|---|---|\n"
    let parts = text.components(separatedBy: begin)
    try #require(parts.count == 2)
    let rest = parts[1].components(separatedBy: "\n\n").dropFirst()
    let rows = try Self.examples().map(\.row).joined(separator: "\n")
    let document = parts[0] + begin + ([rows] + rest).joined(separator: "\n\n")
    if ProcessInfo.processInfo.environment["OUTRIDER_WRITE_DOCUMENTS"] == "1" {
      try document.write(toFile: path, atomically: false, encoding: .utf8)
    } else {
      #expect(text == document, "OUTRIDER_WRITE_DOCUMENTS=1 swift test --filter LibraryTableTests writes it anew")
    }
  }
}
