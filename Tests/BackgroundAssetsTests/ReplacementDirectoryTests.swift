import BackgroundAssets
import Foundation
import Testing

/// Where new versions of items are put together. What an extension gets is tested with a host.
@Suite(.timeLimit(.minutes(1))) struct ReplacementDirectoryTests {
  private func directory(for item: URL?) throws -> URL {
    let made = try FoundationAlone.replacementDirectory(for: item)
    var isDirectory: ObjCBool = false
    #expect(FileManager.default.fileExists(atPath: made.path, isDirectory: &isDirectory) && isDirectory.boolValue)
    #expect(try FileManager.default.contentsOfDirectory(atPath: made.path).isEmpty)
    return made
  }

  private func device(_ url: URL) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: url.path)[.systemNumber] as? Int
  }

  @Test("without an item there is a directory all the same") func noItem() throws {
    let (first, second) = (try directory(for: nil), try directory(for: nil))
    #expect(first != second)
    for made in [first, second] { try FileManager.default.removeItem(at: made) }
  }

  @Test(
    "it is on the volume of the item, whether that is there or not",
    arguments: ["/dev/shm", NSTemporaryDirectory()], ["", "asset", "no/such/asset"])
  func onTheVolume(of place: String, name: String) throws {
    let folder = URL(fileURLWithPath: place).appendingPathComponent("outrider-volume-\(UUID())", isDirectory: true)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data("old".utf8).write(to: folder.appendingPathComponent("asset"))
    let made = try directory(for: name.isEmpty ? folder : folder.appendingPathComponent(name))
    defer { try? FileManager.default.removeItem(at: made) }
    #expect(try device(made) == device(folder))
    // What is in it gets to the item's place by one rename.
    let new = made.appendingPathComponent("new")
    try Data("new".utf8).write(to: new)
    #expect(rename(new.path, folder.appendingPathComponent("asset").path) == 0)
  }

  @Test("other directories are those of Foundation") func otherDirectories() throws {
    let manager = FileManager.default
    for directory in [FileManager.SearchPathDirectory.documentDirectory, .cachesDirectory, .downloadsDirectory] {
      let url = try manager.url(for: directory, in: .userDomainMask, appropriateFor: nil, create: false)
      #expect(url == manager.urls(for: directory, in: .userDomainMask).first)
    }
    #expect(throws: CocoaError.self) {
      try manager.url(for: .printerDescriptionDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
    }
  }

  /// A toolchain that spells it otherwise would bring Foundation's own back.
  @Test("the symbol that is replaced is Foundation's") func theSymbolIsFoundations() throws {
    let library = try #require(dlopen("libFoundation.so", RTLD_NOW | RTLD_NOLOAD))
    let symbol =
      "$s20FoundationEssentials11FileManagerC0A0E3url3for2in14appropriateFor6createAA3URLVAC19SearchPathDirectoryO_AC0lM10DomainMaskVAKSgSbtKF"
    #expect(dlsym(library, symbol) != nil)
  }
}
