@preconcurrency import BackgroundAssets
import os

actor Ledger {
  static let shared = Ledger()
  private var seen: [String: Int] = [:]
  func note(_ id: String) -> Int {
    seen[id, default: 0] += 1
    return seen[id]!
  }
}

private let signposter = OSSignposter(subsystem: "com.example.client", category: .pointsOfInterest)

@main
struct ActorExtension: BADownloaderExtension {
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    let state = signposter.beginInterval("downloads")
    defer { signposter.endInterval("downloads", state) }
    let lock = OSAllocatedUnfairLock(initialState: Set<BADownload>())
    lock.withLock { set -> Void in
      set.insert(
        BAURLDownload(
          identifier: "one", request: URLRequest(url: URL(string: "https://cdn.example.com/one")!), fileSize: 10,
          applicationGroupIdentifier: "group.com.example.client"))
    }
    return lock.withLock { $0 }
  }

  func backgroundDownload(_ download: BADownload, didReceive challenge: URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  ) {
    let count = await Ledger.shared.note(download.identifier)
    if challenge.previousFailureCount > 0 || count > 3 { return (.cancelAuthenticationChallenge, nil) }
    switch challenge.protectionSpace.authenticationMethod {
    case NSURLAuthenticationMethodServerTrust:
      return (.performDefaultHandling, nil)
    case NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest:
      return (.useCredential, URLCredential(user: "user", password: "pass", persistence: .forSession))
    case NSURLAuthenticationMethodClientCertificate:
      return (.rejectProtectionSpace, nil)
    default:
      return (.performDefaultHandling, challenge.proposedCredential)
    }
  }

  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    let id = finishedDownload.identifier
    Task {
      _ = await Ledger.shared.note(id)
    }
    Task.detached(priority: .utility) {
      try? await Task.sleep(nanoseconds: 1_000)
      try? await Task.sleep(for: .milliseconds(1))
    }
  }
}
