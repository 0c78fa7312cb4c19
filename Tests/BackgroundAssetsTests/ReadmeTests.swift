import Foundation
import Testing

/// The README's examples are code that compiles, and the embedding example is the one that a test runs.
@Suite struct ReadmeTests {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The first fenced block in `language` that contains `mark`.
  private static func block(_ language: String, _ mark: String) throws -> String {
    let text = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    let blocks = text.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
    return try #require(blocks.first { $0.contains(mark) }, "no \(language) block with \(mark)")
  }

  private static func compile(_ source: String, _ name: String, _ command: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outrider-readme-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent(name)
    try source.write(to: file, atomically: false, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command + [file.path]
    let output = Pipe()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? "" : text + " (status \(process.terminationStatus))"
  }

  @Test func theCExampleCompiles() throws {
    let source = try Self.block("c", "background_assets_extension")
    let include = Self.root.appendingPathComponent("Sources/CExtension/include").path
    let problems = try Self.compile(
      source, "intro.c",
      [
        "cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror",
        "-fsyntax-only", "-I", include,
      ])
    #expect(problems.isEmpty, "\(problems)")
  }

  @Test func theSwiftExampleCompiles() throws {
    let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .path
    let problems = try Self.compile(
      try Self.block("swift", "BADownloaderExtension"), "Downloader.swift",
      [
        "swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-I", products + "/Modules", "-Xcc",
        "-fmodule-map-file=\(products)/CExtension.build/module.modulemap",
      ])
    #expect(problems.isEmpty, "\(problems)")
  }

  @Test func theEmbeddingExampleIsTested() throws {
    let tests = try String(
      contentsOf: Self.root.appendingPathComponent("Tests/EndToEndTests/HostTests.swift"), encoding: .utf8)
    let lines = try Self.block("swift", "import PluginHost").split(separator: "\n")
    #expect(lines.count < 10)
    for line in lines where line.contains("plugin") && !line.contains("print") {
      #expect(tests.contains(line.trimmingCharacters(in: .whitespaces)), "not in HostTests: \(line)")
    }
  }
}
