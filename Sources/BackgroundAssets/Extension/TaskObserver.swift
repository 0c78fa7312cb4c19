import CExtension
import Dispatch

/// Counts the jobs of tasks that are ready to run, from when they are until their task has suspended or ended.
enum TaskObserver {
  /// Once, in a process that is an extension's alone, on its first thread.
  static func start() {
    // Every wake comes by here; Foundation's answer takes ten times as long when it is asked for the first time.
    guard ba_is_first_thread() != 0 else { return }
    // Made now: an extension that has used up its descriptors would be ended for it.
    _ = ba_main_queue_waits()
    withUnsafePointer(to: MainExecutor.shared.asUnownedSerialExecutor()) { main in
      ba_observe_tasks(
        { job, _ in
          guard let job else { return }
          OutstandingWork.begin()
          let ready = ReadyJob(job: job)
          // As the runtime itself does it, which wouldn't say when the job is over.
          DispatchQueue.global(qos: ready.quality).async {
            ba_run_job(ready.job)
            OutstandingWork.end()
          }
        },
        { job, _ in
          guard let job else { return }
          MainExecutor.shared.enqueue(unsafeBitCast(job, to: UnownedJob.self))
        }, main)
    }
  }
}

/// @unchecked: the runtime hands it over, to be run once on any thread.
private struct ReadyJob: @unchecked Sendable {
  let job: UnsafeMutableRawPointer

  var quality: DispatchQoS.QoSClass {
    switch unsafeBitCast(job, to: UnownedJob.self).priority.rawValue {
    case 0x21...: .userInteractive
    case 0x19...: .userInitiated
    case 0x15...: .default
    case 0x11...: .utility
    case 1...: .background
    default: .default
    }
  }
}
