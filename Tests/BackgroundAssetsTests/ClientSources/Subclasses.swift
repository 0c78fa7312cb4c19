import BackgroundAssets

final class FakeInfo: BAAppExtensionInfo, @unchecked Sendable {
  override var restrictedDownloadSizeRemaining: Int? { 10 }
  override var restrictedEssentialDownloadSizeRemaining: Int? { nil }
}
final class FakeManager: BADownloadManager, @unchecked Sendable {
  static let fake = FakeManager()
  override class var shared: BADownloadManager { fake }
  private weak var _d: BADownloadManagerDelegate?
  override var delegate: BADownloadManagerDelegate? {
    get { _d }
    set { _d = newValue }
  }
  override func fetchCurrentDownloads(completionHandler: @escaping ([BADownload], Error?) -> Void) {
    completionHandler([], nil)
  }
  override func withExclusiveControl(beforeDate date: Date, perform performHandler: @escaping (Bool, Error?) -> Void) {
    performHandler(false, nil)
  }
}
final class FakeDownload: BAURLDownload, @unchecked Sendable {
  override var state: BADownload.State { .finished }
  override func removingEssential() -> Self { self }
  override func copy(with zone: NSZone? = nil) -> Any { self }
}
@main struct Subclasses { static func main() { print(FakeManager.shared is FakeManager) } }
