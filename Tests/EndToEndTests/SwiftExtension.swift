import Foundation
import TestSupport
import Testing

/// Swift sources as one extension, or one app, linked against what `swift build` has made.
enum SwiftExtension {
  static func build(
    _ sources: [String: String], mode: String = "6", optimized: Bool = false, options: String = "", isApp: Bool = false
  ) throws -> String {
    let product = isApp ? "Sample" : "libSample.so"
    let folder = ProcessFolder.path + "/extension-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for (name, text) in sources {
      try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
    }
    let products = Workspace.products
    let modules = [
      "\(products)/CExtension.build/module.modulemap", "\(Workspace.root)/Sources/COSModules/include/module.modulemap",
    ].map { "-Xcc -fmodule-map-file='\($0)'" }
    let objects = [
      "BackgroundAssets", "CExtension", "COSModules", "ExtensionFoundation", "OSLog", "ServiceClient",
      "ServiceProtocol",
      "os",
    ].map { "'\(products)/\($0).build/'*.o" }
    let finished = try Workspace.run(
      [
        "-c",
        """
        cd '\(folder)' && swiftc \(isApp ? "" : "-emit-library") -parse-as-library -module-name Sample -swift-version \(mode) \
        \(optimized ? "-O -wmo" : "-Onone") \(options) -I '\(products)/Modules' \(modules.joined(separator: " ")) *.swift \
        \(objects.joined(separator: " ")) -o \(product)
        """,
      ], program: "/bin/bash")
    try #require(finished.status == 0, "\(finished.errors)\(finished.output)")
    return "\(folder)/\(product)"
  }

  static func remove(_ library: String) {
    try? FileManager.default.removeItem(atPath: (library as NSString).deletingLastPathComponent)
  }
}
