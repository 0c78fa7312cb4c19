package import AssetModel

/// Why an extension is to be woken.
package enum WakeReason: Sendable, Equatable, Codable {
  case content(ContentRequestKind)
  /// Finished or failed downloads, or a challenge (B30).
  case callbacks
}

package struct WakeRequest: Sendable, Equatable, Codable {
  package var app: String
  /// The asker's number; one app's requests are told apart by it.
  package var token: Int
  package var reason: WakeReason
  /// SHA-256 of the manifest, in hexadecimal; empty: none. Quarantine is for one manifest.
  package var manifestDigest: String
  /// The user waits at the launch gate.
  package var isGateClosed: Bool
  package var isSimulated: Bool

  package init(
    app: String, token: Int, reason: WakeReason, manifestDigest: String = "", isGateClosed: Bool = false,
    isSimulated: Bool = false
  ) {
    self.app = app
    self.token = token
    self.reason = reason
    self.manifestDigest = manifestDigest
    self.isGateClosed = isGateClosed
    self.isSimulated = isSimulated
  }
}

package struct WakeGrant: Sendable, Equatable, Codable {
  package var run: Int64
  package var request: WakeRequest
  /// Time inside entry points that the run may use; it is reserved already.
  package var runtime: Duration

  package init(run: Int64, request: WakeRequest, runtime: Duration) {
    self.run = run
    self.request = request
    self.runtime = runtime
  }
}

package struct WakeRefusal: Sendable, Equatable, Codable {
  package enum Reason: String, Sendable, Codable, CaseIterable {
    case contentBeforeLaunchOff, backgroundActivityOff, lowPower, runtimeSpent, quarantined, appInUse, unknownApp
    /// The service died again and again while the extension was asked.
    case interrupted
    /// The host couldn't run it a moment ago.
    case hostFailed
  }

  package var reason: Reason
  /// When it ends by itself; nil: an event ends it.
  package var until: Instant?

  package init(reason: Reason, until: Instant? = nil) {
    self.reason = reason
    self.until = until
  }
}

extension WakePlanner {
  package enum Event: Sendable, Equatable, Codable {
    /// A new app, or a new version of one: quarantine ends.
    case installed(app: String, version: String)
    case removed(app: String)
    /// A process of the app started or ended.
    case launched(app: String)
    case exited(app: String)
    /// Answered by `wake` or `refuse`, at once or when there is room.
    case requested(WakeRequest)
    case withdrawn(app: String, token: Int)
    /// A running extension needs more time than it was granted. Answered by `extended` or `exhausted`.
    case moreRequested(run: Int64)
    /// `runtime`: time spent inside entry points.
    case ended(run: Int64, runtime: Duration, end: RunEnd)
    case settingsChanged(ServiceSettings)
    case conditionsChanged(Conditions)
    /// A manifest couldn't be had: a periodic moment comes soon, but not at once.
    case periodicFailed(app: String)
    /// B26.
    case runtimeReset(app: String)
    case tick
    /// The service died: what ran is interrupted, its reservation is spent.
    case restarted
  }

  package enum Effect: Sendable, Equatable, Codable {
    case wake(WakeGrant)
    case refuse(request: WakeRequest, refusal: WakeRefusal)
    /// Ask the app's lifecycle for a periodic request.
    case periodicDue(app: String)
    case extended(run: Int64, runtime: Duration)
    case exhausted(run: Int64)
    /// The extension may not run any more (B10).
    case end(run: Int64, refusal: WakeRefusal)
    /// What was refused may be asked again.
    case reconsider(app: String)
  }
}
