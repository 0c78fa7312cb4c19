import Foundation
import TestSupport
import Testing

/// The examples in README.md and docs are code that compiles, and the embedding example is the one that a test runs.
@Suite(.ownThreads, .timeLimit(.minutes(5))) struct DocumentExamplesTests {
  static let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  private static func compile(_ source: String, _ name: String, _ command: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "outrider-documents-\(UUID().uuidString)")
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

  private static func output(_ words: [String]) throws -> String {
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: products + "/outrider")
    process.arguments = words
    let output = Pipe.own()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text
  }

  /// As the strictest compilers of C and C++ have them; sanitizers and Go want the same header.
  @Test(arguments: [("c", "-std=c99"), ("cpp", "-std=c++17")])
  func everyExtensionCompiles(_ language: String, _ standard: String) throws {
    let examples = try Documents.blocks(language).filter { $0.text.contains("background_assets_extension") }
    #expect(examples.count >= (language == "c" ? 3 : 1))
    for example in examples {
      let problems = try Self.compile(
        example.text, "intro.\(language)",
        [
          language == "c" ? "cc" : "c++", standard, "-pedantic", "-Wall", "-Wextra", "-Wno-missing-field-initializers",
          "-Werror", "-fsyntax-only", "-I", Documents.root + "/Sources/CExtension/include",
        ])
      #expect(problems.isEmpty, "\(example.document): \(problems)")
    }
  }

  /// Debian's, which Tests/run asks for as well.
  static let hasGo = FileManager.default.isExecutableFile(atPath: "/usr/bin/go")

  /// By the document's own commands.
  @Test(.enabled(if: hasGo, "go isn't installed")) func theExtensionInGoIsBuilt() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "outrider-documents-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (language, mark, name) in [("c", "/* table.c */", "table.c"), ("go", "package main", "main.go")] {
      try Documents.block(language, containing: mark)
        .write(to: folder.appendingPathComponent(name), atomically: false, encoding: .utf8)
    }
    let commands = try Documents.block("sh", containing: "-buildmode=c-shared").components(separatedBy: "\n")
      .filter { !$0.hasPrefix("outrider ") }.joined(separator: "\n")
      .replacingOccurrences(of: "/path/to/outrider", with: Documents.root)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-ec", "cd '\(folder.path)'\n" + commands]
    process.environment = ProcessInfo.processInfo.environment.merging(["GOCACHE": folder.path + "/cache"]) { $1 }
    let output = Pipe.own()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(FileManager.default.fileExists(atPath: folder.path + "/intro.so"))
  }

  /// With its own imports and no others.
  @Test func everySwiftExampleCompiles() throws {
    let maps = try Self.moduleMaps().flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    let examples = try Documents.blocks("swift").filter { !$0.text.contains("swift-tools-version") }
    #expect(examples.count >= 6)
    for example in Dictionary(grouping: examples, by: \.text).compactMap(\.value.first) {
      let isProgram = !example.text.contains("@main\n") && !example.text.contains("@MainActor final class")
      // Folders that the reader has.
      var known = example.text.contains("opening: state") ? "let (state, assets) = (\"\", \"\")\n" : ""
      // And the file that the document's command has written.
      for (module, header, library) in [("Zlib", "zlib.h", "libz.so.1"), ("Sqlite3", "sqlite3.h", "libsqlite3.so.0")]
      where example.text.contains("\(module).load") {
        known = try Self.output(["bind", header, library, "--module", module])
      }
      let problems = try Self.compile(
        known + example.text, "main.swift",
        ["swiftc", "-typecheck", "-swift-version", "6", "-I", Self.products + "/Modules"]
          + (isProgram ? [] : ["-parse-as-library"]) + maps)
      #expect(problems.isEmpty, "\(example.document): \(problems)")
    }
  }

  /// Of the C modules that Outrider's own are made with.
  static func moduleMaps() throws -> [String] {
    func maps(_ folder: String, _ path: (String) -> String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\(path($0))" }
        .filter(FileManager.default.fileExists)
    }
    let checkouts = Documents.root + "/.build/checkouts"
    return try maps(products) { "\($0)/module.modulemap" }.filter { $0.contains(".build/module.modulemap") }
      + maps(Documents.root + "/Sources") { "\($0)/module.modulemap" }
      + FileManager.default.contentsOfDirectory(atPath: checkouts).map { "\(checkouts)/\($0)/Sources" }
      .filter(FileManager.default.fileExists)
      .flatMap { sources in
        try maps(sources) { "\($0)/module.modulemap" } + maps(sources) { "\($0)/include/module.modulemap" }
      }
  }

  @Test func theEmbeddingExampleIsTested() throws {
    let tests = try Documents.text("Tests/EndToEndTests/HostTests.swift")
    let example = try Documents.block("swift", containing: "import PluginHost")
    #expect(example.split(separator: "\n").count < 10)
    for line in example.split(separator: "\n")
    where line.contains("plugin") && !line.contains("print") {
      #expect(tests.contains(line.trimmingCharacters(in: .whitespaces)), "not in HostTests: \(line)")
    }
  }

  /// The package description as Swift Package Manager reads it, with this package in the place of its path.
  @Test func thePackageExampleDescribesAPackage() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "outrider-documents-\(UUID().uuidString)")
    let sources = folder.appendingPathComponent("Sources/Downloader")
    try FileManager.default.createDirectory(at: sources, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let text = try Documents.block("swift", containing: "swift-tools-version")
    try #require(text.contains("\"../outrider\""))
    try text.replacingOccurrences(of: "../outrider", with: Documents.root)
      .write(to: folder.appendingPathComponent("Package.swift"), atomically: false, encoding: .utf8)
    try Documents.block("swift", containing: "BADownloaderExtension")
      .write(to: sources.appendingPathComponent("Downloader.swift"), atomically: false, encoding: .utf8)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swift", "package", "--package-path", folder.path, "describe", "--type", "json"]
    // Where temporary files go, Swift Package Manager leaves the file of its lock.
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { $1 }
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
