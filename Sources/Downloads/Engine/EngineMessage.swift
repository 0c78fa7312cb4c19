internal import AssetModel

/// Everything that reaches the network thread from others: what is asked of the engine, and what work elsewhere came to.
/// All of it is a value, so that what may happen to the engine can be read in one place.
enum EngineMessage: Sendable {
  indirect case request(EngineRequest)
  /// Of the bytes of a running job. In place and small: there is one for each buffer that is written.
  case transfer(Activation, TransferAnswer)
  /// Of the file and the end of a running job.
  indirect case job(Activation, JobAnswer)
  /// Of what isn't a running job.
  indirect case control(ControlAnswer)
}

/// One run of a job. What comes back for one that is over is dropped.
struct Activation: Hashable, Sendable {
  let job: JobID
  let run: UInt64
}

/// A caller that waits. It is answered once, also by an engine that is closed.
struct EngineReply<Value: Sendable>: Sendable {
  private let continuation: CheckedContinuation<Value, any Error>

  init(_ continuation: CheckedContinuation<Value, any Error>) { self.continuation = continuation }

  func answer(_ result: Result<Value, any Error>) { continuation.resume(with: result) }
  func answer(_ value: Value) { continuation.resume(returning: value) }
  func refuse() { continuation.resume(throwing: EngineClosed()) }
}
