import BackgroundAssets

@main struct FunctionReferences {
  static func main() async throws {
    let manager: BADownloadManager = .shared
    let make = BAURLDownload.init(identifier:request:essential:fileSize:applicationGroupIdentifier:priority:)
    let d = make("a", URLRequest(url: URL(string: "https://a.b")!), false, 3, "g", .default)
    let schedule: (BADownload) throws -> Void = manager.scheduleDownload(_:)
    let current: () async throws -> [BADownload] = { try await manager.currentDownloads }
    let fetch = manager.fetchCurrentDownloads(completionHandler:)
    fetch { _, _ in }
    let ids = try await current().map(\.identifier)
    let kp: [PartialKeyPath<BADownload>] = [\.identifier, \.state, \.priority, \.isEssential, \.uniqueIdentifier]
    print(ids, kp.count, d[keyPath: \.state].rawValue)
    try schedule(d)
    let any: Any = d
    if let x = any as? BAURLDownload { print(x.description) }
    switch d as BADownload {
    case is BAURLDownload: print("url")
    default: break
    }
    switch d.state {
    case .failed, .finished: break
    case .created, .waiting, .downloading: print("active")
    }
    let sorted = [d].sorted { $0.priority.rawValue > $1.priority.rawValue }
    try await Task { @MainActor in try manager.startForegroundDownload(sorted[0]) }.value
    try await withThrowingDiscardingTaskGroup { g in g.addTask { try manager.cancel(d) } }
    await Task.detached { manager.withExclusiveControl { a, e in print(a, e ?? "") } }.value
    struct Wrapper: @unchecked Sendable { weak var delegate: (any BADownloadManagerDelegate)? }
    print(Wrapper(delegate: manager.delegate))
    let e = NSError(domain: BAErrorDomain, code: BAErrorCode.downloadNotScheduled.rawValue)
    print(e ~= BAErrorCode.downloadNotScheduled)
  }
}
func ~= (e: NSError, c: BAErrorCode) -> Bool { e.domain == BAErrorDomain && e.code == c.rawValue }
