import Foundation
import TestSupport
import Testing

/// The DocC catalogs of the public products: docc converts each with the symbols of its modules, and warns of every link
/// that leads nowhere and every parameter that isn't there.
@Suite(.ownThreads, .timeLimit(.minutes(5))) struct DocumentationCatalogTests {
  /// A product's catalog lies in the target of its name; the others are modules that its clients import as well.
  static let products: [(catalog: String, modules: [String])] = [
    ("PluginHost", ["PluginHost"]), ("Downloads", ["Downloads"]), ("AssetService", ["AssetService"]),
    ("BackgroundAssets", ["BackgroundAssets"]),
  ]

  private static func run(_ command: [String]) throws -> String {
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let output = Pipe.own()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? "" : text + " (status \(process.terminationStatus))"
  }

  @Test(arguments: products.map(\.catalog)) func isConverted(_ catalog: String) throws {
    let product = try #require(Self.products.first { $0.catalog == catalog })
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outrider-docc-\(UUID().uuidString)")
    let graphs = folder.appendingPathComponent("graphs")
    try FileManager.default.createDirectory(at: graphs, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let maps = try DocumentExamplesTests.moduleMaps().flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    for module in product.modules {
      let problems = try Self.run(
        [
          "swift-symbolgraph-extract", "-module-name", module, "-target", Self.target, "-swift-version", "6",
          "-minimum-access-level", "public", "-I", DocumentExamplesTests.products + "/Modules",
          "-output-dir", graphs.path,
        ] + maps)
      try #require(problems.isEmpty, "\(module): \(problems)")
    }
    let problems = try Self.run([
      "docc", "convert", "\(Documents.root)/Sources/\(catalog)/\(catalog).docc", "--additional-symbol-graph-dir",
      graphs.path, "--fallback-display-name", catalog, "--fallback-bundle-identifier", "outrider.\(catalog)",
      "--output-path", folder.appendingPathComponent("archive").path, "--warnings-as-errors",
    ])
    #expect(problems.isEmpty, "\(problems)")
  }

  /// Every library that a client may link has a page, and an article beside it.
  @Test func everyLibraryHasOne() throws {
    let package = try Documents.text("Package.swift")
    let libraries = package.matches(of: #/\.library\(name: "(\w+)", targets/#).map { String($0.1) }
    #expect(Set(libraries) == Set(Self.products.map(\.catalog)))
    for library in libraries {
      let pages = try FileManager.default.contentsOfDirectory(
        atPath: "\(Documents.root)/Sources/\(library)/\(library).docc")
      #expect(pages.contains("\(library).md") && pages.count > 1, "\(library): \(pages)")
    }
  }

  #if arch(x86_64)
    private static let target = "x86_64-unknown-linux-gnu"
  #else
    private static let target = "aarch64-unknown-linux-gnu"
  #endif
}
