// swift-format-ignore-file: AvoidRetroactiveConformances

import BackgroundAssets

enum DownloadError: Error {
  case duplicate, missing, allowance
  case offline(URLError.Code)
  case other(any Error)
  init(_ error: any Error) {
    let ns = error as NSError
    switch ns.domain {
    case BAErrorDomain:
      switch BAErrorCode(rawValue: ns.code) {
      case .downloadAlreadyScheduled?: self = .duplicate
      case .downloadNotScheduled?, .downloadDoesNotExist?, .downloadAlreadyFailed?: self = .missing
      case .downloadWouldExceedAllowance?, .sessionDownloadAllowanceExceeded?, .sessionDownloadDisallowedByAllowance?:
        self = .allowance
      case .some(let code): self = .other(NSError(domain: BAErrorDomain, code: code.rawValue, userInfo: nil))
      case .none: self = .other(error)
      }
    case NSURLErrorDomain: self = .offline(URLError.Code(rawValue: ns.code))
    default: self = .other(error)
    }
  }
}
func all(_ code: BAErrorCode) -> String {
  switch code {
  case .downloadInvalid, .callFromExtensionNotAllowed, .callFromInactiveProcessNotAllowed, .callerConnectionNotAccepted,
    .callerConnectionInvalid:
    return "caller"
  case .downloadAlreadyScheduled, .downloadNotScheduled, .downloadFailedToStart, .downloadAlreadyFailed,
    .downloadEssentialDownloadNotPermitted, .downloadBackgroundActivityProhibited, .downloadWouldExceedAllowance,
    .downloadDoesNotExist:
    return "download"
  case .sessionDownloadDisallowedByDomain, .sessionDownloadDisallowedByAllowance, .sessionDownloadAllowanceExceeded,
    .sessionDownloadNotPermittedBeforeAppLaunch:
    return "session"
  @unknown default: return "?"
  }
}
extension BAErrorCode: @retroactive CaseIterable {
  public static var allCases: [BAErrorCode] { (0...300).compactMap(BAErrorCode.init(rawValue:)) }
}
@main struct ErrorMapping {
  static func main() {
    print(BAErrorCode.allCases.map { ($0, $0.rawValue, all($0)) })
    do {
      try BADownloadManager.shared.cancel(
        BAURLDownload(
          identifier: "q", request: URLRequest(url: URL(string: "https://cdn.example.com/q")!), fileSize: 1,
          applicationGroupIdentifier: "g"))
    } catch { print(DownloadError(error)) }
    do { _ = try BADownloadManager.shared.fetchCurrentDownloads() } catch let error as NSError
      where error.domain == BAErrorDomain
    { print(error.code, error.localizedDescription, error.localizedFailureReason ?? "") } catch { print(error) }
  }
}
