import BackgroundAssets
import Foundation
import OSLog
import Testing

/// How apps put a new version of an asset in the place of the old one.
@Suite(.timeLimit(.minutes(1))) struct ReplacingTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outrider-replacing-\(UUID())")

  private func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

  private func scene(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data("old".utf8).write(to: url("asset"))
    try Data("new".utf8).write(to: url("download"))
    try body()
  }

  private func text(_ name: String) throws -> String { try String(contentsOf: url(name), encoding: .utf8) }
  private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()) ?? [] }

  @Test(arguments: [FileManager.ItemReplacementOptions(), .usingNewMetadataOnly])
  func aFile(options: FileManager.ItemReplacementOptions) throws {
    try scene {
      let manager = FileManager.default
      try manager.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url("asset").path)
      try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url("download").path)
      #expect(try manager.replaceItemAt(url("asset"), withItemAt: url("download"), options: options) == url("asset"))
      #expect(try text("asset") == "new" && names == ["asset"])
      let mode = try manager.attributesOfItem(atPath: url("asset").path)[.posixPermissions] as? Int
      #expect(mode == (options.isEmpty ? 0o640 : 0o600))
    }
  }

  @Test func whereThereWasNone() throws {
    try scene {
      _ = try FileManager.default.replaceItemAt(url("fresh"), withItemAt: url("download"))
      #expect(try text("fresh") == "new" && names == ["asset", "fresh"])
    }
  }

  @Test func withABackup() throws {
    try scene {
      _ = try FileManager.default.replaceItemAt(
        url("asset"), withItemAt: url("download"), backupItemName: "before", options: .withoutDeletingBackupItem)
      let texts = try [text("asset"), text("before")]
      #expect(texts == ["new", "old"])
      #expect(names == ["asset", "before"])
    }
  }

  @Test func folders() throws {
    try scene {
      let manager = FileManager.default
      for name in ["level", "level-2"] {
        try manager.createDirectory(at: url(name), withIntermediateDirectories: true)
        try Data(name.utf8).write(to: url(name).appendingPathComponent("map"))
      }
      _ = try manager.replaceItemAt(url("level"), withItemAt: url("level-2"))
      #expect(try text("level/map") == "level-2" && names == ["asset", "download", "level"])
    }
  }

  /// A source beside the extension's own that knows nothing of BackgroundAssets.
  @Test func aFileThatImportsFoundationAlone() throws {
    try scene {
      try FoundationAlone.replace(url("asset"), with: url("download"))
      #expect(try text("asset") == "new" && names == ["asset"])
    }
  }

  /// A toolchain that spells it otherwise would bring Foundation's own back.
  @Test func theSymbolIsFoundations() throws {
    let library = try #require(dlopen("libFoundation.so", RTLD_NOW | RTLD_NOLOAD))
    let symbol =
      "$s20FoundationEssentials11FileManagerC0A0E13replaceItemAt_04withfG006backupF4Name7optionsAA3URLVSgAJ_AJSSSgAC0F18ReplacementOptionsVtKF"
    #expect(dlsym(library, symbol) != nil)
  }

  /// What can't be done leaves everything as it was.
  @Test func nothingIsLost() throws {
    try scene {
      #expect(throws: CocoaError.self) {
        try FileManager.default.replaceItemAt(url("asset"), withItemAt: url("missing"))
      }
      #expect(throws: CocoaError.self) {
        try FileManager.default.replaceItemAt(
          url("asset"), withItemAt: url("download"), backupItemName: "no/such/folder")
      }
      let texts = try [text("asset"), text("download")]
      #expect(texts == ["old", "new"])
      #expect(names == ["asset", "download"])
    }
  }
}
