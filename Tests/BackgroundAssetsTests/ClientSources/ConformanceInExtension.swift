import BackgroundAssets

@main struct ConformanceInExtension {
  private var cache = NSCache<NSString, NSData>()
  init() {}
}
extension ConformanceInExtension: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo info: BAAppExtensionInfo) -> Set<
    BADownload
  > {
    cache.setObject(NSData(), forKey: "x")
    let map: KeyValuePairs<BAContentRequest, String> = [.install: "i", .update: "u"]
    let name = map.first { $0.key == request }?.value ?? "p"
    let hash = [request: name][request].hashValue
    var hasher = Hasher()
    hasher.combine(request)
    hasher.combine(BADownload.State.failed)
    hasher.combine(BADownload.Priority.min)
    precondition(
      BAContentRequest(rawValue: 1) == .install && BAContentRequest.periodic.rawValue == 3
        && BAContentRequest(rawValue: 9) == nil)
    print(name, hash, info.debugDescription.count, info.isEqual(info), String(describing: info))
    if #unavailable(iOS 16.1, macOS 13) { return [] }
    return Set(minimumCapacity: 3)
  }
  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error) {
    let e = error as NSError
    guard e.domain == BAErrorDomain, BAErrorCode(rawValue: e.code) == .downloadFailedToStart else { return }
    BADownloadManager.shared.fetchCurrentDownloads { list, _ in
      guard list.first(where: { $0.identifier == failedDownload.identifier }) == nil else { return }
      do { try BADownloadManager.shared.scheduleDownload(failedDownload.removingEssential()) } catch { print(error) }
    }
  }
}
