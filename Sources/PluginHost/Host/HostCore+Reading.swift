internal import Dispatch
internal import LinuxSystem

/// From the name of a plugin to its files as the host read them.
extension HostCore {
  /// And how long that took. Throws `.ended` where it takes longer than `limit`, and `.cancelled` once the task is.
  func read(
    _ library: String, searching: Bool, limit: Duration
  ) async throws(HostError) -> (image: PluginImage, spent: Duration) {
    let ticket = CallTicket()
    let reading = ReadingTime(limit: limit) { !ticket.isCancelled }
    // A thread of its own takes longer than looking again at what is known.
    if PluginImage.isKnown(library) {
      return (try PluginImage(opening: library, searching: searching, reading: reading), reading.spent)
    }
    let result: Result<PluginImage, HostError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        DispatchQueue(label: "outrider.reading").async {
          continuation.resume(
            returning: Result { () throws(HostError) in
              try PluginImage(opening: library, searching: searching, reading: reading)
            })
        }
      }
    } onCancel: {
      ticket.cancel()
    }
    return (try result.get(), reading.spent)
  }
}
