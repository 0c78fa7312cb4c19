import Foundation
import TestSupport
import Testing

/// The README's examples are code that compiles, and the embedding example is the one that a test runs.
@Suite(.timeLimit(.minutes(5))) struct ReadmeTests {
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
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command + [file.path]
    let output = Pipe.own()
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

  /// With its imports and no others: a test that looks for its lines in a test wouldn't miss one.
  @Test func theEmbeddingExampleCompiles() throws {
    let source = try Self.block("swift", "import PluginHost")
    #expect(source.split(separator: "\n").count < 10)
    let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .path
    let modules = [
      "\(products)/CLinux.build/module.modulemap",
      Self.root.appendingPathComponent("Sources/CCrypto/module.modulemap").path,
      Self.root.appendingPathComponent("Sources/CSeccomp/module.modulemap").path,
      Self.root.appendingPathComponent(".build/checkouts/Yams/Sources/CYaml/include/module.modulemap").path,
    ]
    let problems = try Self.compile(
      source, "main.swift",
      ["swiftc", "-typecheck", "-swift-version", "6", "-I", products + "/Modules"]
        + modules.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] })
    #expect(problems.isEmpty, "\(problems)")
  }

  @Test func theEmbeddingExampleIsTested() throws {
    let tests = try String(
      contentsOf: Self.root.appendingPathComponent("Tests/EndToEndTests/HostTests.swift"), encoding: .utf8)
    for line in try Self.block("swift", "import PluginHost").split(separator: "\n")
    where line.contains("plugin") && !line.contains("print") {
      #expect(tests.contains(line.trimmingCharacters(in: .whitespaces)), "not in HostTests: \(line)")
    }
  }

  /// The package description as Swift Package Manager reads it, with this package in the place of its path.
  @Test func thePackageExampleDescribesAPackage() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outrider-readme-\(UUID().uuidString)")
    let sources = folder.appendingPathComponent("Sources/Downloader")
    try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let text = try Self.block("swift", "swift-tools-version")
    try #require(text.contains("\"../outrider\""))
    try text.replacingOccurrences(of: "../outrider", with: Self.root.path)
      .write(to: folder.appendingPathComponent("Package.swift"), atomically: false, encoding: .utf8)
    try Self.block("swift", "BADownloaderExtension")
      .write(to: sources.appendingPathComponent("Downloader.swift"), atomically: false, encoding: .utf8)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swift", "package", "--package-path", folder.path, "describe", "--type", "json"]
    let (output, errors) = (Pipe.own(), folder.appendingPathComponent("errors"))
    FileManager.default.createFile(atPath: errors.path, contents: nil)
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    let described = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let problems = try String(contentsOf: errors, encoding: .utf8)
    #expect(process.terminationStatus == 0 && described.contains("\"Downloader\""), "\(problems)")
  }
}
