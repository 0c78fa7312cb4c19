import Foundation
import TestSupport
import Testing

/// What docs/plugins.md says about settings of those who compile against the module.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct CompilingTests {
  static let root = Documents.root
  static let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent().path

  /// What the compiler says, line by line.
  static func compile(_ command: String, _ sources: [String: String] = [:]) throws -> [Substring] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "outrider-compiling-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, text) in sources {
      try text.write(to: folder.appendingPathComponent(name), atomically: false, encoding: .utf8)
    }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = [
      "-c", "cd '\(folder.path)' && modules='\(Self.products)/Modules' && root='\(Self.root)' && \(command)",
    ]
    let output = Pipe.own()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let lines = text.split(separator: "\n").filter { $0.contains(": error:") || $0.contains(": warning:") }
    return process.terminationStatus == 0 || !lines.isEmpty ? lines : [text[...]]
  }

  private static let compiler =
    "swiftc -swift-version 6 -module-name Client -Xcc -fmodule-map-file='\(products)/CExtension.build/module.modulemap'"
  private static let control = [
    "Client.swift": "import BackgroundAssets\nfunc f() { BADownloadManager.shared.withExclusiveControl { _, _ in } }"
  ]

  @Test("the deprecation of the closure forms can stay a warning where warnings are errors [L7]") func staysAWarning()
    throws
  {
    let strict = "\(Self.compiler) -typecheck -warnings-as-errors -I \"$modules\""
    #expect(
      try Self.compile("\(strict) *.swift", Self.control).first?.contains("error: 'withExclusiveControl'") == true)
    let lines = try Self.compile("\(strict) -Wwarning DeprecatedDeclaration *.swift", Self.control)
    #expect(lines.count == 1 && lines[0].contains(": warning: 'withExclusiveControl'"), "\(lines)")
  }

  @Test("the trait DeploymentBefore27 silences that deprecation") func traitSilences() throws {
    let features = ["InternalImportsByDefault", "MemberImportVisibility", "ExistentialAny"]
      .map { "-enable-upcoming-feature \($0)" }.joined(separator: " ")
    let own = Self.compiler.replacingOccurrences(of: "-module-name Client", with: "-module-name BackgroundAssets")
    let lines = try Self.compile(
      """
      sources=$(find "$root/Sources/BackgroundAssets" -name '*.swift') && mkdir own && \
      package=$(grep -om1 '"-package-name","[^"]*"' "$modules/../../../debug.yaml" | cut -d'"' -f4) && \
      \(own) \(features) -package-name "$package" -parse-as-library -emit-module -D DeploymentBefore27 -I "$modules" $sources \
      -o own/BackgroundAssets.swiftmodule && \
      cp "$modules"/{ExtensionFoundation,ServiceClient,ServiceProtocol}.swiftmodule own && \
      \(Self.compiler) -typecheck -warnings-as-errors -I own *.swift
      """, Self.control)
    #expect(lines.isEmpty, "\(lines)")
    let manifest = try String(contentsOfFile: Self.root + "/Package.swift", encoding: .utf8)
    #expect(manifest.contains(#"name: "DeploymentBefore27""#))
  }

  private static let group =
    "func f() { _ = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: \"g\") }"

  @Test("files that import Foundation alone see containerURL where another file imports BackgroundAssets")
  func containerBesideAnImport() throws {
    let sources = ["Alone.swift": "import Foundation\n\(Self.group)", "Other.swift": "import BackgroundAssets"]
    let lines = try Self.compile("\(Self.compiler) -typecheck -I \"$modules\" *.swift", sources)
    #expect(lines.isEmpty, "\(lines)")
  }

  @Test(
    "elsewhere they see it with the setting that docs/plugins.md names",
    arguments: ["", "-enable-upcoming-feature MemberImportVisibility"])
  func containerWithTheSetting(feature: String) throws {
    let page = try Documents.text("docs/plugins.md")
    let setting = #"["-Xfrontend", "-import-module", "-Xfrontend", "BackgroundAssets"]"#
    try #require(page.contains(setting))
    let flags = try JSONDecoder().decode([String].self, from: Data(setting.utf8)).joined(separator: " ")
    let sources = ["Alone.swift": "import Foundation\n\(Self.group)"]
    let typecheck = "\(Self.compiler) -typecheck \(feature) -I \"$modules\""
    #expect(try Self.compile("\(typecheck) *.swift", sources).isEmpty == false)
    let lines = try Self.compile("\(typecheck) \(flags) *.swift", sources)
    #expect(lines.isEmpty, "\(lines)")
  }
}
