//
//  BackgroundDownloadHandler.swift
//  Downloader
//
import BackgroundAssets

@main
struct BackgroundDownloadHandler: BADownloaderExtension {

  func downloads(
    for request: BAContentRequest,
    manifestURL: URL,
    extensionInfo: BAAppExtensionInfo
  ) -> Set<BADownload> {
    var downloadsToSchedule: Set<BADownload> = []
    let appGroupIdentifier = "group.com.example.client"

    switch request
    {
    case .install, .update:
      let essentialURL = URL(string: "https://cdn.example.com/essential.bin")!
      let download = BAURLDownload(
        identifier: "essential",
        request: URLRequest(url: essentialURL),
        essential: true,
        fileSize: 1024 * 1024,
        applicationGroupIdentifier: appGroupIdentifier,
        priority: .max)
      downloadsToSchedule.insert(download)
    case .periodic:
      break
    default:
      return Set()
    }
    return downloadsToSchedule
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
  }

  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: Error) {
    guard type(of: failedDownload) == BAURLDownload.self else { return }
    if failedDownload.isEssential {
      do {
        let optional = failedDownload.removingEssential()
        try BADownloadManager.shared.scheduleDownload(optional)
      } catch {
        print("failed: \(error)")
      }
    }
  }

  func backgroundDownload(_ download: BADownload, didReceive challenge: URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  ) {
    return (.performDefaultHandling, nil)
  }

  func extensionWillTerminate() {
  }
}
