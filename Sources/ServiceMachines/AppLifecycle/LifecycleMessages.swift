package import AssetModel

extension AppLifecycle {
  /// How a version came.
  package enum PlacementKind: String, Sendable, Codable { case install, update }

  package enum Event: Sendable, Equatable, Codable {
    /// The files of a version are in place, in a folder of their own; the first event of an app, or an update.
    case placed(version: String, kind: PlacementKind)
    /// Answers `fetchManifest`.
    case manifestFetched(generation: Int, digest: String, size: Int64)
    case manifestFailed(generation: Int, failure: Failure)
    /// 203 and its like: the restrictions don't allow it (B62).
    case manifestRefused(generation: Int, failure: Failure)
    /// Answers `askForWake`.
    case wakeGranted(generation: Int, run: Int64)
    case wakeRefused(generation: Int, refusal: WakeRefusal)
    /// Answers `startExtension`: what `downloads(for:…)` returned, checked.
    case answered(run: Int64, accepted: [PlannedDownload], rejected: [RejectedDownload])
    /// Answers `startExtension` where no answer came.
    case extensionEnded(run: Int64, end: RunEnd)
    /// Any download of the app; what it isn't waiting for is ignored.
    case settled(uniqueIdentifier: String, settlement: Settlement)
    /// Something arrived for the essential downloads: the timeout starts anew.
    case essentialProgressed
    case paused
    case resumed
    /// The user cancels the installation or update (B49).
    case installationCancelled
    /// A process of the app started or ended.
    case launched
    case exited
    /// Periodic or language change by the planner, or any by `outrider simulate`.
    case requested(ContentRequestKind, isSimulated: Bool)
    /// The access to a download expired before all of it was there: its extension may give another request for it.
    case accessExpired
    /// Settings or conditions changed: what was refused may be asked for again.
    case conditionsChanged
    /// Answers `placeVersion`.
    case versionPlaced(version: String)
    case versionFailed(version: String, reason: String)
    case removalRequested
    /// Answers `removeApp`.
    case removed
    case tick
    /// The service died and is back: whatever is in flight is asked again.
    case restarted
  }

  package enum Effect: Sendable, Equatable, Codable {
    case closeGate(GateReason)
    case openGate(GateReason)
    /// Idempotent by generation. Answer: `manifestFetched`, `manifestFailed`, `manifestRefused`. Without a gate the first
    /// failed attempt is the answer: the planner says when the next one is.
    case fetchManifest(generation: Int, request: ContentRequestKind, version: String)
    /// Gives up the transfer of the manifest, if it still runs.
    case cancelManifest(generation: Int)
    /// To the planner. Answer: `wakeGranted` or `wakeRefused`.
    case askForWake(
      generation: Int, request: ContentRequestKind, manifestDigest: String, version: String, isSimulated: Bool)
    case withdrawWake(generation: Int)
    /// Loads the extension of `version` and asks for its downloads. Answer: `answered` or `extensionEnded`.
    case startExtension(run: Int64, generation: Int, request: ContentRequestKind, version: String)
    /// Ends the run if it still lives (B14).
    case endExtension(run: Int64)
    /// Deletes the manifest's file (B5), those of earlier generations included.
    case discardManifest(upTo: Int)
    /// To the registry: essential ones first (B51).
    case schedule(downloads: [PlannedDownload], generation: Int, request: ContentRequestKind)
    /// To the extension's `failedWithError` (L3).
    case reportRejected([RejectedDownload])
    /// To the extension's `failedWithError`, and to the app's delegate (B33).
    case reportManifestFailure(generation: Int, failure: Failure)
    /// To the planner: a request got no manifest. The next periodic moment comes sooner, and asks again.
    case retryPeriodicLater
    /// The batch that waited for the gate may be delivered (B14).
    case deliverBatch
    /// The version that was updated to is given up: what was scheduled for it goes without its recipients being told, files that
    /// have arrived included, and what the service knows of its bundle is that of the old version again.
    case withdrawUpdate
    /// Those of one generation; nil: all of the app.
    case cancelDownloads(generation: Int?)
    case pauseDownloads(generation: Int)
    case resumeDownloads(generation: Int)
    /// Makes `version` the current one by one rename. Answer: `versionPlaced` or `versionFailed`.
    case placeVersion(version: String)
    /// Removes the files of every version but these.
    case keepVersions([String])
    /// Removes everything that the app has. Answer: `removed`.
    case removeApp
    /// The machine is of no use any more.
    case forget
    /// The first launch (B60).
    case liftRestrictions
    /// What became of a simulated event, for the command that waits for it. `reason`: as of a gate that opened.
    case simulationEnded(request: ContentRequestKind, reason: GateReason)
    /// The planner: runtime starts anew (B26).
    case resetRuntime
  }

  /// Why the gate is as it is.
  package enum GateReason: Sendable, Equatable, Codable {
    case installing, updating
    case essentialsSettled(failed: Int)
    case noEssentials
    case extensionFailed(RunEnd)
    case manifestFailed(Failure)
    case wakeRefused(WakeRefusal)
    /// The user's setting (B9).
    case contentBeforeLaunchOff
    /// Nothing came for longer than a user should wait.
    case patienceExceeded(Stage)
    case cancelled
    case placingFailed(String)
    case removing

    package enum Stage: String, Sendable, Codable { case manifest, wake, answer, essentials, placing }
  }

  package struct Gate: Sendable, Equatable, Codable {
    package var isClosed: Bool
    package var reason: GateReason
    package var since: Instant

    package init(isClosed: Bool, reason: GateReason, since: Instant) {
      self.isClosed = isClosed
      self.reason = reason
      self.since = since
    }
  }

  package enum Phase: String, Sendable, Codable { case installing, updating, launchable, removing }
}
