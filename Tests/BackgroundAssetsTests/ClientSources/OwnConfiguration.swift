import BackgroundAssets

@main struct OwnConfiguration: BADownloaderExtension {
  var configuration: some BADownloaderExtensionConfiguration { DefaultConfiguration() }
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    BADownloadManager.shared.fetchCurrentDownloads { downloads, error in
      print("current", downloads.count, error as Any)
    }
    let semaphore = DispatchSemaphore(value: 0)
    Task.detached {
      print(try await BADownloadManager.shared.currentDownloads.count)
      semaphore.signal()
    }
    semaphore.wait()
    let current = (try? BADownloadManager.shared.fetchCurrentDownloads()) ?? []
    return Set(current.filter { $0.state == .failed }.map { $0.removingEssential() })
  }
}
struct DefaultConfiguration: BADownloaderExtensionConfiguration {}
