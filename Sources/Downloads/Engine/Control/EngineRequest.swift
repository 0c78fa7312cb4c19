internal import AssetModel

/// What the owner of the engine asks of it.
enum EngineRequest: Sendable {
  case add([DownloadSpecification], EngineReply<[AddResult]>)
  /// Those of an app, as the journal has them.
  case openJobs(of: String, EngineReply<[JobRecord]>)
  case supersede(JobID, with: DownloadSpecification, isRenewed: Bool, EngineReply<AddResult>)
  case perform(JobCommand, on: JobID)
  case explain(JobID, EngineReply<Explanation?>)
  case progress(of: JobID, EngineReply<DownloadProgress?>)
  case conditions(MachineConditions)
  case networkChanged
  case proxy(String?, except: String)
  /// Bytes per second.
  case rates(Int64?, classes: [TransferClass: Int64])
  /// nil: any of them.
  case allowancesChanged(of: String?)
  case close(EngineReply<Void>)
}
