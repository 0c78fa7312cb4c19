import BackgroundAssets

struct Payload { var n = 0 }
final class NonSendable { var n = 0 }
extension BADownloadManager {
  func exclusively<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      withExclusiveControl { acquired, error in
        guard acquired else { return continuation.resume(throwing: error ?? CancellationError()) }
        continuation.resume(with: Result { try work() })
      }
    }
  }
}
actor ControlActor {
  var n = 0
  func f() async throws {
    let m = BADownloadManager.shared
    let p = try await m.withExclusiveControl { Payload(n: 3) }
    let x = try await m.withExclusiveControl { NonSendable() }
    x.n += p.n
    n = x.n
    let (a, b) = try await m.withExclusiveControl(before: .distantFuture) { (1, "x") }
    _ = (a, b)
    try await m.withExclusiveControl { () -> Void in try FileManager.default.removeItem(atPath: "/x") }
    let nested = try await m.exclusively { 4 }
    _ = try? await m.withExclusiveControl(before: Date()) { nested }
    m.withExclusiveControl { ok, _ in
      guard ok else { return }
      Task { self.f2() }
    }
  }
  func f2() {}
}
@MainActor func g() async {
  var local = 0
  local += (try? await BADownloadManager.shared.withExclusiveControl { 1 }) ?? 0
  let url = URL.documentsDirectory
  let names =
    (try? await BADownloadManager.shared.withExclusiveControl {
      try FileManager.default.contentsOfDirectory(atPath: url.path)
    }) ?? []
  print(local, names)
}
@main struct GenericControl {
  static func main() async throws {
    try await ControlActor().f()
    await g()
  }
}
