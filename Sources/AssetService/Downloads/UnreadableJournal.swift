internal import ServiceProtocol

/// The journal of downloads can't be read: it isn't known whether there is a job, or how far it has come. It is never taken for
/// a journal without that job.
struct UnreadableJournal: Error, Equatable, CustomStringConvertible {
  /// What was to be read.
  let subject: String
  let reason: String

  init(_ subject: String, _ error: any Error) {
    self.subject = subject
    reason = "\(error)"
  }

  var description: String { "\(subject) can't be read in the journal: \(reason)" }

  /// For operators; apps are told its message with a code of their framework.
  var failure: ServiceFailure {
    .command(73, description, remedy: "try again when the journal can be read; the service's log says when that is so")
  }
}
