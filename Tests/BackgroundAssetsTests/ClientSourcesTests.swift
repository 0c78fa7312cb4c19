import Foundation
import TestSupport
import Testing

/// Apps and extensions as their authors write them, each file a program of its own (`ClientSources`). All are compiled as
/// one module, which takes the compiler seconds instead of minutes; for that, their `@main` is taken away.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct ClientSourcesTests {
  private static let sources = Result {
    let folder = CompilingTests.root + "/Tests/BackgroundAssetsTests/ClientSources"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
    return try Dictionary(
      uniqueKeysWithValues: names.map {
        let text = try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
        return ($0, text.replacingOccurrences(of: "@main", with: ""))
      })
  }

  @Test(
    "what apps and extensions write compiles unchanged, with warnings as errors",
    arguments: ["-swift-version 5 -strict-concurrency=complete", "-swift-version 6"])
  func compiles(mode: String) throws {
    let sources = try Self.sources.get()
    #expect(sources.count > 30)
    let lines = try CompilingTests.compile(
      """
      swiftc -wmo -typecheck \(mode) -warnings-as-errors -Wwarning DeprecatedDeclaration -parse-as-library -module-name Client \
      -Xcc -fmodule-map-file='\(CompilingTests.products)/CExtension.build/module.modulemap' \
      -Xcc -fmodule-map-file="$root/Sources/COSModules/include/module.modulemap" -I "$modules" *.swift
      """, sources
    )
    .filter { !$0.contains("[#DeprecatedDeclaration]") }
    #expect(lines.isEmpty, "\(lines)")
  }
}
