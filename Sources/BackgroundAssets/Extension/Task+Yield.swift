import Dispatch

extension Task where Success == Never, Failure == Never {
  /// The runtime's own gives the task back to the queue past every hook, so that it couldn't be counted meanwhile.
  public static func yield() async {
    OutstandingWork.begin()
    await withUnsafeContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume()
        OutstandingWork.end()
      }
    }
  }
}
