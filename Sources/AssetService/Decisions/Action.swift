internal import AssetModel
internal import ServiceMachines

/// What is left to be done by executors once the machines have decided. Each is idempotent, or carries the number or name
/// that makes it so.
enum Action: Sendable, Equatable {
  // Transfers
  case addTransfer(
    app: String, download: PlannedDownload, urgency: DownloadRegistry.Urgency, isPaused: Bool, isManifest: Bool,
    budget: Restrictions.Budget?)
  case setUrgency(app: String, download: String, urgency: DownloadRegistry.Urgency)
  case pauseTransfer(app: String, download: String)
  case resumeTransfer(app: String, download: String)
  case cancelTransfer(app: String, download: String)
  case setBudget(app: String, budget: Restrictions.Budget, allowed: Int64?)

  // Extensions
  case startContentRun(app: String, run: Int64, generation: Int, request: ContentRequestKind, version: String)
  case startCallbackRun(app: String, run: Int64)
  case endRun(run: Int64)
  case reportRejected(app: String, downloads: [RejectedDownload])
  case discardManifests(app: String, upTo: Int)

  // Files
  case placeVersion(app: String, version: String)
  /// Of the others nothing has to stay.
  case keepVersions(app: String, versions: [String])
  case removeApp(app: String)
  case forget(app: String)
  /// Look whether the file is still where it was staged; `then` says which event follows.
  case inspect(app: String, download: String, then: Inspection)
  case deleteFile(app: String, download: String)
  /// As if it had never been scheduled: its transfer ends, its file is deleted, and no event is sent.
  case withdrawDownload(app: String, download: String)
  case closeDelivery(app: String, download: String, outcome: DeliveryLedger.Outcome)

  // Clients
  case reply(call: UInt64, result: Result<String, Failure>)
  case notify(app: String, recipients: [Recipient], occurrence: EventRouter.Occurrence)
  case call(app: String, recipient: Recipient, occurrence: EventRouter.Occurrence)
  case withdraw(app: String, recipient: Recipient, number: Int64)
  case endChallenge(number: Int64)
  case controlGranted(app: String, claim: ExclusiveControl.Claim)
  case controlRefused(app: String, claim: ExclusiveControl.Claim, refusal: ExclusiveControl.Refusal)

  // Journal
  case store(app: String, entry: DownloadRegistry.Entry)
  case remove(app: String, download: String)
  case recordFailure(app: String, download: String, failure: Failure)
  case simulationEnded(app: String, request: ContentRequestKind, reason: AppLifecycle.GateReason)
  case refusedWake(app: String, request: WakeRequest, refusal: WakeRefusal)

  enum Inspection: Sendable, Equatable { case acknowledged, recipientGone, inspected }

  /// The download whose transfer it concerns; nil: none, or several.
  var transfer: Transfers.Key? {
    switch self {
    case .addTransfer(let app, let download, _, _, _, _): .init(app: app, download: download.uniqueIdentifier)
    case .setUrgency(let app, let download, _), .pauseTransfer(let app, let download),
      .resumeTransfer(let app, let download), .cancelTransfer(let app, let download),
      .inspect(let app, let download, _), .deleteFile(let app, let download), .withdrawDownload(let app, let download):
      .init(app: app, download: download)
    default: nil
    }
  }
}
