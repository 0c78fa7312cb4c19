import Foundation
import TestSupport
import Testing

/// A program that calls a library through what `outrider bind` wrote.
enum BoundProgram {
  /// What a program is linked with that uses the host.
  private static let parts = [
    "PluginHost", "AssetModel", "Basics", "CLinux", "Hashing", "HostProtocol", "LinuxSystem", "PropertyLists",
    "Sandbox",
    "StrictYAML", "Yams", "CYaml", "Logging",
  ]
  /// Compiles a program with a bound module as strictly as Swift can, links it with the host's own objects and runs it.
  static func run(_ program: String, in folder: String, with modules: [String]) throws -> Workspace.Finished {
    try program.write(toFile: "\(folder)/main.swift", atomically: true, encoding: .utf8)
    let maps = try moduleMaps().map { "-Xcc -fmodule-map-file='\($0)'" }.joined(separator: " ")
    let sources = (["main.swift"] + modules).map { "'\(folder)/\($0)'" }.joined(separator: " ")
    // Folders of a module also hold what earlier builds left.
    let list = "\(Workspace.products)/outrider.product/Objects.LinkFileList"
    let objects = "$(grep -E '/(\(parts.joined(separator: "|")))\\.build/' '\(list)')"
    let compiled = try Workspace.run(
      [
        "-c",
        """
        swiftc -warnings-as-errors -swift-version 6 -Onone -o '\(folder)/program' \\
          -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature InternalImportsByDefault \\
          -enable-upcoming-feature ExistentialAny -enable-upcoming-feature NonisolatedNonsendingByDefault \\
          -I '\(Workspace.products)/Modules' \(maps) \(sources) \(objects) -lcrypto -lseccomp
        """,
      ], program: "/bin/bash")
    try #require(compiled.status == 0, "\(compiled.output)\(compiled.errors)")
    return try Workspace.run(
      [], program: "\(folder)/program", environment: ["OUTRIDER_RUNNER": Workspace.products + "/outrider-runner"])
  }

  /// Binds api.h and libapi.so of a folder as Api.swift, and says what it did.
  static func bind(in folder: String) throws -> Report {
    let end = try Workspace.run(
      ["bind", "\(folder)/api.h", "\(folder)/libapi.so", "--output", "\(folder)/Api.swift", "--json"])
    try #require(end.status == 0, "\(end)")
    return try JSONDecoder().decode(Report.self, from: Data(end.output.utf8))
  }

  static func moduleMaps() throws -> [String] {
    func maps(_ folder: String, _ path: (String) -> String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder).map { "\(folder)/\(path($0))" }
        .filter(FileManager.default.fileExists)
    }
    let checkouts = Workspace.root + "/.build/checkouts"
    return try maps(Workspace.products) { "\($0)/module.modulemap" }.filter { $0.contains(".build/module.modulemap") }
      + maps(Workspace.root + "/Sources") { "\($0)/module.modulemap" }
      + FileManager.default.contentsOfDirectory(atPath: checkouts).map { "\(checkouts)/\($0)/Sources" }
      .filter(FileManager.default.fileExists).flatMap { sources in
        try maps(sources) { "\($0)/module.modulemap" } + maps(sources) { "\($0)/include/module.modulemap" }
      }
  }

  struct Report: Decodable {
    struct Unbound: Decodable {
      var function, reason: String
    }
    var bound: [String]
    var unbound: [Unbound]
    var text: String?
  }
}
