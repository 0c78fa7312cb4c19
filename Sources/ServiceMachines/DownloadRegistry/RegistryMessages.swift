package import AssetModel

extension DownloadRegistry {
  package enum Caller: Sendable, Equatable, Codable {
    case app(connection: Int64, isActive: Bool)
    /// `isAnswering`: `downloads(for:…)` has been called and hasn't returned (B27).
    case `extension`(run: Int64, isAnswering: Bool)
    /// `outrider downloads …`.
    case `operator`
  }

  package enum Urgency: String, Sendable, Codable { case foreground, essential, background }

  package enum Owner: String, Sendable, Codable { case app, `extension`, service }

  /// The raw values of `BADownload.State`.
  package enum State: Int, Sendable, Codable {
    case failed = -1
    case created = 0
    case waiting, downloading, finished
  }

  /// A download as the registry has it. There may be 100,000, each of them here and where its row is made.
  package struct Entry: Sendable, Equatable {
    private struct Fields: Sendable, Equatable, Codable {
      var download: PlannedDownload
      var state: State
      var ownUrgency: Urgency
      var owner: Owner
      var generation: Int?
      var promotedBy: Set<Int64>
      var isPaused: Bool
      var isManifest: Bool
      var isCancelling: Bool
      var isKnownToEngine: Bool
    }

    private var fields: Boxed<Fields>

    package init(
      download: PlannedDownload, state: State, ownUrgency: Urgency, owner: Owner, generation: Int? = nil,
      promotedBy: Set<Int64> = [], isPaused: Bool = false, isManifest: Bool = false, isCancelling: Bool = false,
      isKnownToEngine: Bool = false
    ) {
      fields = Boxed(
        Fields(
          download: download, state: state, ownUrgency: ownUrgency, owner: owner, generation: generation,
          promotedBy: promotedBy, isPaused: isPaused, isManifest: isManifest, isCancelling: isCancelling,
          isKnownToEngine: isKnownToEngine))
    }

    package var download: PlannedDownload {
      _read { yield fields.content.download }
      _modify { yield &fields.content.download }
    }

    package var state: State {
      _read { yield fields.content.state }
      _modify { yield &fields.content.state }
    }

    /// What it has when no connection wants it in the foreground.
    package var ownUrgency: Urgency {
      _read { yield fields.content.ownUrgency }
      _modify { yield &fields.content.ownUrgency }
    }

    package var owner: Owner {
      _read { yield fields.content.owner }
      _modify { yield &fields.content.owner }
    }

    /// The request of the lifecycle that it belongs to; nil: scheduled through the manager.
    package var generation: Int? {
      _read { yield fields.content.generation }
      _modify { yield &fields.content.generation }
    }

    /// Connections that want it in the foreground (B37).
    package var promotedBy: Set<Int64> {
      _read { yield fields.content.promotedBy }
      _modify { yield &fields.content.promotedBy }
    }

    /// By `outrider downloads pause`; an installation is paused as a whole.
    package var isPaused: Bool {
      _read { yield fields.content.isPaused }
      _modify { yield &fields.content.isPaused }
    }

    package var isManifest: Bool {
      _read { yield fields.content.isManifest }
      _modify { yield &fields.content.isManifest }
    }

    /// Cancelled: the engine was told and hasn't confirmed yet.
    package var isCancelling: Bool {
      _read { yield fields.content.isCancelling }
      _modify { yield &fields.content.isCancelling }
    }

    /// The engine has confirmed that it has it.
    package var isKnownToEngine: Bool {
      _read { yield fields.content.isKnownToEngine }
      _modify { yield &fields.content.isKnownToEngine }
    }

    package var urgency: Urgency { promotedBy.isEmpty ? ownUrgency : .foreground }
  }

  package enum Event: Sendable, Equatable, Codable {
    /// `call` tells calls apart; it is answered by `accept` or `refuse`.
    case schedule(call: UInt64, download: PlannedDownload, caller: Caller)
    case startForeground(call: UInt64, download: PlannedDownload, state: State, caller: Caller)
    /// `state`: of the caller's copy.
    case cancel(call: UInt64, identifier: String, uniqueIdentifier: String, state: State, caller: Caller)
    case pause(call: UInt64, uniqueIdentifier: String)
    case resume(call: UInt64, uniqueIdentifier: String)
    /// What an extension answered.
    case planned(downloads: [PlannedDownload], generation: Int)
    /// The service's own. `isAwaited`: a user or an operator waits for it.
    case plannedManifest(PlannedDownload, generation: Int, isAwaited: Bool)
    /// The manifest may not even be asked for: it is kept as one that failed, for those who are told of it.
    case refused(manifest: PlannedDownload, generation: Int)
    case pauseGeneration(Int)
    case resumeGeneration(Int)
    /// nil: all.
    case cancelGeneration(Int?)
    /// The engine has taken it over.
    case engineAdded(uniqueIdentifier: String)
    case engineStarted(uniqueIdentifier: String)
    case engineWaiting(uniqueIdentifier: String)
    case engineSettled(uniqueIdentifier: String, settlement: Settlement)
    /// It isn't wanted any more: it ends without being reported.
    case abandoned(uniqueIdentifier: String)
    /// It is as if it had never been scheduled; what the engine has of it is the caller's to cancel.
    case withdrawn(uniqueIdentifier: String)
    case connectionLeft(Int64)
    /// The gate opened: essential downloads that still run are background ones from now on.
    case gateOpened(generation: Int)
    case conditions(isBackgroundActivityAllowed: Bool)
    case restarted
  }

  package enum Effect: Sendable, Equatable, Codable {
    case accept(call: UInt64, uniqueIdentifier: String)
    case refuse(call: UInt64, failure: Failure)
    /// One of those that were planned was refused: to the extension's `failedWithError`. It settles without having begun.
    case reject(uniqueIdentifier: String, RejectedDownload)
    /// Idempotent by unique identifier. Answer: `engineAdded`.
    case add(PlannedDownload, urgency: Urgency, owner: Owner, isPaused: Bool)
    case setUrgency(uniqueIdentifier: String, urgency: Urgency)
    case pause(uniqueIdentifier: String)
    case resume(uniqueIdentifier: String)
    /// Answer: `engineSettled`.
    case cancel(uniqueIdentifier: String)
    /// The entry's row; one for each change.
    case store(Entry)
    case remove(uniqueIdentifier: String)
    /// To the router: `downloadDidBegin`, `downloadDidPause`.
    case began(uniqueIdentifier: String)
    case paused(uniqueIdentifier: String)
    /// To lifecycle, progress and ledger, once for each download.
    case settled(uniqueIdentifier: String, identifier: String, settlement: Settlement)
  }
}

extension DownloadRegistry.Entry: Codable {
  package init(from decoder: any Decoder) throws { fields = try Boxed(from: decoder) }
  package func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }
}
