import BackgroundAssets
import os

protocol ExtensionHierarchyAssetExtension: BADownloaderExtension { var group: String { get } }
extension ExtensionHierarchyAssetExtension {
  var group: String { "group.com.example.client" }
  func move(_ file: URL, to name: String) throws {
    guard let base = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group) else {
      throw CocoaError(.fileNoSuchFile)
    }
    try FileManager.default.moveItem(at: file, to: base.appendingPathComponent(name))
  }
  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    try? move(fileURL, to: finishedDownload.identifier)
  }
}
class BaseExtension: ExtensionHierarchyAssetExtension {
  required init() {}
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  { [] }
  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: Error) { print("base") }
}
@main final class ConcreteExtension: BaseExtension {
  override func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<
    BADownload
  > {
    var all = super.downloads(for: request, manifestURL: manifestURL, extensionInfo: extensionInfo)
    all.formUnion(
      (1...3).map {
        BAURLDownload(
          identifier: "n\($0)", request: URLRequest(url: URL(string: "https://cdn.example.com/\($0)")!),
          essential: false, fileSize: $0, applicationGroupIdentifier: group, priority: .default)
      })
    return all
  }
}
