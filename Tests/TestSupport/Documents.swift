public import Foundation

/// README.md and the pages in docs, whose examples are tested.
public enum Documents {
  public struct Missing: Error, CustomStringConvertible {
    public let description: String
  }

  /// The package's folder. An ordinary user who can't enter root's checkout has a copy (`OUTRIDER_ROOT`).
  public static let root: String =
    ProcessInfo.processInfo.environment["OUTRIDER_ROOT"]
    ?? URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// From the package's folder, README.md first; those of DocC last.
  public static func names() throws -> [String] {
    let pages = try FileManager.default.subpathsOfDirectory(atPath: root + "/docs").filter { $0.hasSuffix(".md") }
    let catalogs = try FileManager.default.subpathsOfDirectory(atPath: root + "/Sources").filter {
      $0.hasSuffix(".md") && $0.contains(".docc/")
    }
    return ["README.md"] + pages.sorted().map { "docs/\($0)" } + catalogs.sorted().map { "Sources/\($0)" }
  }

  public static func text(_ name: String) throws -> String {
    try String(contentsOfFile: "\(root)/\(name)", encoding: .utf8)
  }

  /// The fenced blocks in `language`, with the document that each stands in.
  public static func blocks(_ language: String) throws -> [(document: String, text: String)] {
    try names().flatMap { name in
      try text(name).components(separatedBy: "```\(language)\n").dropFirst().compactMap {
        $0.components(separatedBy: "\n```").first.map { (name, $0) }
      }
    }
  }

  /// The first fenced block in `language` that contains `mark`.
  public static func block(_ language: String, containing mark: String) throws -> String {
    guard let block = try blocks(language).first(where: { $0.text.contains(mark) }) else {
      throw Missing(description: "no document has a \(language) block with \(mark)")
    }
    return block.text
  }
}
