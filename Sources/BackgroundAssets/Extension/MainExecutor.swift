import Dispatch

/// Runs the main actor's jobs on the main queue, as the runtime's own executor does, and counts them.
final class MainExecutor: SerialExecutor {
  static let shared = MainExecutor()

  func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

  func enqueue(_ job: UnownedJob) {
    OutstandingWork.begin()
    DispatchQueue.main.async {
      job.runSynchronously(on: self.asUnownedSerialExecutor())
      OutstandingWork.end()
    }
  }

  // What is on the first thread without being a job is the main actor's, too.
  func checkIsolated() { precondition(Thread.isMainThread, "The main actor's code runs on another thread") }
  func isIsolatingCurrentContext() -> Bool? { Thread.isMainThread }
}
