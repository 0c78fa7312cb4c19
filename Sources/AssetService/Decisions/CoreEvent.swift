internal import AssetModel
internal import ServiceMachines

/// What reaches the service from outside its machines.
enum CoreEvent: Sendable, Equatable {
  case app(String, AppEvent)
  case planner(WakePlanner.Event)
  case settings(ServiceSettings)
  case conditions(Conditions)
  case tick
  /// After a start: every machine asks again for what was under way.
  case restarted
}

enum AppEvent: Sendable, Equatable {
  case placed(version: String, kind: AppLifecycle.PlacementKind, facts: AppMachines.Facts)
  case lifecycle(AppLifecycle.Event)
  case registry(DownloadRegistry.Event)
  case router(EventRouter.Event)
  case ledger(DeliveryLedger.Event)
  case control(ExclusiveControl.Event)
  case restrictions(Restrictions.Event)
  case progress(InstallProgress.Event)

  /// The extension answered a content request; restrictions haven't been looked at yet.
  case answered(run: Int64, accepted: [PlannedDownload], rejected: [RejectedDownload])
  /// A client's call that may be refused by restrictions before the registry sees it.
  case schedule(call: UInt64, download: PlannedDownload, caller: DownloadRegistry.Caller)
  case startForeground(
    call: UInt64, download: PlannedDownload, state: DownloadRegistry.State, caller: DownloadRegistry.Caller)
  /// `digest`: of the manifest's file.
  case manifestFinished(download: String, digest: String, size: Int64)
  case manifestLost(download: String, failure: Failure)
  case received(download: String, bytes: Int64, added: Int64, total: Int64?)
  case challenged(download: String, number: Int64)
  /// Answers `Action.reportRejected`, for each: the download has a name now.
  case rejected(download: String, failure: Failure)
  case launched
  case exited
  case connectionLeft(Int64)
  case runEnded(run: Int64, end: RunEnd)
}
