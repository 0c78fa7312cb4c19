import BackgroundAssets
import Foundation

@main struct FileAccess: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    do {
      let handle = try FileHandle(forReadingFrom: manifestURL)
      defer { try? handle.close() }
      let head = try handle.read(upToCount: 16) ?? Data()
      try handle.seek(toOffset: 0)
      let all = try handle.readToEnd() ?? Data()
      let attributes = try FileManager.default.attributesOfItem(atPath: manifestURL.path)
      let size = attributes[.size] as? UInt64
      let values = try manifestURL.resourceValues(forKeys: [.fileSizeKey, .contentModificationDateKey, .isReadableKey])
      print(
        head.count, all.count, size ?? 0, values.fileSize ?? -1,
        ISO8601DateFormatter().string(from: values.contentModificationDate ?? .distantPast))
      let free = try URL(fileURLWithPath: NSHomeDirectory() as String).resourceValues(forKeys: [
        .volumeAvailableCapacityForImportantUsageKey
      ]).volumeAvailableCapacityForImportantUsage
      print(
        free ?? 0, NSTemporaryDirectory(), FileManager.default.temporaryDirectory, Locale.current.identifier,
        Calendar.current.component(.year, from: Date()), TimeZone.current.identifier)
      let enumerator = FileManager.default.enumerator(
        at: FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.com.example.client")!,
        includingPropertiesForKeys: [.isDirectoryKey], options: [.skipsHiddenFiles])
      while let url = enumerator?.nextObject() as? URL { print(url.lastPathComponent) }
      for case let url as URL in FileManager.default.enumerator(
        at: URL(fileURLWithPath: "/tmp"), includingPropertiesForKeys: nil) ?? .init()
      {
        print(url)
        break
      }
    } catch CocoaError.fileReadNoSuchFile { print("none") } catch let error as CocoaError
      where error.code == .fileReadNoPermission
    { print("denied") } catch { print(error) }
    return []
  }
}
