import BackgroundAssets

@main struct ControlForms {
  static func main() {
    let manager = BADownloadManager.shared
    manager.withExclusiveControl { (acquiredLock: Bool, error: Error?) -> Void in
      if let error = error {
        print("Error \(error)")
        return
      }
      do {
        let downloads = try manager.fetchCurrentDownloads()
        try downloads.filter { $0.state == .waiting }.forEach(manager.startForegroundDownload)
      } catch { print(error.localizedDescription) }
    }
    manager.withExclusiveControl(beforeDate: Date.distantFuture) { acquired, error in
      print(acquired, error?.localizedDescription ?? "")
    }
    manager.withExclusiveControl(beforeDate: Date(timeIntervalSinceNow: 5), perform: { _, _ in })
    manager.withExclusiveControl({ acquired, _ in print(acquired) })
    let handler: (Bool, Error?) -> Void = { print($0, $1 as Any) }
    manager.withExclusiveControl(handler)
    let sendable: @Sendable (Bool, (any Error)?) -> Void = { print($0, $1 as Any) }
    manager.withExclusiveControl(beforeDate: .now, perform: sendable)
    func named(_ acquired: Bool, _ error: (any Error)?) { print(acquired) }
    manager.withExclusiveControl(named)
    let semaphore = DispatchSemaphore(value: 0)
    Task {
      await new(manager)
      await inline()
      semaphore.signal()
    }
    semaphore.wait()
    RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.1))
  }
  static func new(_ manager: BADownloadManager) async {
    do {
      try await manager.withExclusiveControl { print("in") }
      let text: String = try await manager.withExclusiveControl { "text" }
      let data = try await manager.withExclusiveControl(before: Date.now + 2) { () throws -> Data in
        try Data(contentsOf: URL(filePath: "/etc/hostname"))
      }
      let body: @Sendable () throws -> Int = { 1 }
      let n = try await manager.withExclusiveControl { try body() }
      let optional: [String]? = try? await manager.withExclusiveControl { ["a"] }
      print(text, data.count, n, optional ?? [])
    } catch { print(error) }
  }
  static func inline() async {
    // the closure forms inside an asynchronous function, bridged by hand
    let ok = await withCheckedContinuation { continuation in
      BADownloadManager.shared.withExclusiveControl { acquired, error in continuation.resume(returning: acquired) }
    }
    print(ok)
    let result: Result<Int, any Error> = await withCheckedContinuation {
      (c: CheckedContinuation<Result<Int, any Error>, Never>) in
      BADownloadManager.shared.withExclusiveControl(beforeDate: Date()) { acquired, error in
        c.resume(returning: acquired ? .success(1) : .failure(error ?? CancellationError()))
      }
    }
    _ = result
  }
}
