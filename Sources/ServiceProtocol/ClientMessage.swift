/// What a client says to the service: a request, which gets one answer with the same number, or an answer to a call.
package enum ClientMessage: Sendable, Equatable, Codable {
  case request(id: UInt64, request: ClientRequest)
  /// To `ServiceMessage.call`.
  case answer(call: UInt64, answer: DelegateAnswer)
}

package enum ClientRole: String, Sendable, Codable {
  /// A process of an installed app.
  case app
  /// `outrider` and programs like it, of the service's own user.
  case `operator`
}

/// The first request of a connection. An app says it again on the connection that its launcher handed down, to be told
/// what it may know.
package struct Hello: Sendable, Equatable, Codable {
  /// The protocol that the client speaks; see `Welcome.version`.
  package var version: Int
  package var role: ClientRole
  /// An operator that is about to run an app makes the connection that app's, and hands it down.
  package var launches: String?

  package static let currentVersion = 1

  package init(role: ClientRole, launches: String? = nil) {
    version = Self.currentVersion
    self.role = role
    self.launches = launches
  }
}

/// What a delegate made of an event.
package enum DelegateAnswer: Sendable, Equatable, Codable {
  /// The delegate implements the method, and it returned.
  case handled
  /// No delegate, or not this method: the extension is woken instead (B29).
  case unhandled
  case challenge(ChallengeReply)
}

package struct ChallengeReply: Sendable, Equatable, Codable {
  /// The raw value of `URLSession.AuthChallengeDisposition`.
  package var disposition: Int
  package var user: String?
  package var password: String?

  package init(disposition: Int, user: String? = nil, password: String? = nil) {
    self.disposition = disposition
    self.user = user
    self.password = password
  }
}

/// A content request by its name in `outrider simulate`.
package enum RequestName: String, Sendable, Codable, CaseIterable {
  case install, update, periodic, languageChange
}

package struct Installation: Sendable, Equatable, Codable {
  /// An absolute path: an `.app` folder or an archive of one.
  package var path: String
  /// Groups that other apps already have and that this one may share (L16).
  package var sharedGroups: [String]
  /// Refuse what isn't installed yet (`outrider update`).
  package var mustExist: Bool

  package init(path: String, sharedGroups: [String] = [], mustExist: Bool = false) {
    self.path = path
    self.sharedGroups = sharedGroups
    self.mustExist = mustExist
  }
}

package enum DownloadAction: String, Sendable, Codable, CaseIterable {
  case pause, resume, cancel, promote
}

/// Requests of apps come first; those from `install` on are for operators.
package enum ClientRequest: Sendable, Equatable, Codable {
  case hello(Hello)

  /// Whether the manager has a delegate (B28).
  case observe(isObserving: Bool)
  /// An inactive process may not start foreground downloads (51).
  case activate(isActive: Bool)
  case currentDownloads
  /// Answered with `done`, or with `downloads` where it isn't scheduled under the unique identifier that the client gave: the one
  /// download, as it is called now. So is `startForeground`.
  case schedule(download: DownloadValue)
  case startForeground(download: DownloadValue)
  case cancel(identifier: String, uniqueIdentifier: String)
  /// Answered when control is acquired or can't be. `timeout`: seconds; nil: none; 0: try once (B68).
  case acquireControl(token: UInt64, timeout: Double?)
  /// Also takes back a request that wasn't granted yet.
  case releaseControl(token: UInt64)

  /// Answered with `Reply.apps` of that app as soon as it is in place; its gate may still be closed.
  case install(Installation)
  case uninstall(app: String)
  /// An installation or update that is under way: paused, resumed, cancelled (B49).
  case installation(app: String, action: DownloadAction)
  /// All, or one.
  case apps(app: String?)
  case downloads(app: String?)
  /// The newest last.
  case runs(app: String?, limit: Int)
  case log(app: String?, limit: Int)
  /// From now on `ServiceMessage.event` comes for every change; nil: of all apps.
  case watch(app: String?)
  case unwatch
  /// By unique identifier, by number, or by identifier where only one app has it.
  case act(action: DownloadAction, download: String)
  /// Of an app, a download or a refused wake.
  case explain(subject: String)
  case settings
  /// `key` as in `SettingsSummary`; `value` as text, nil: the default again; `app` nil: for all.
  case set(key: String, value: String?, app: String?)
  /// Answered with `Reply.apps` at once, or with `Reply.runs` of that run when it has ended; `WatchEvent.run` tells of its end.
  case simulate(request: RequestName, app: String)
  /// What is needed to run the app; refused with `Status.gateClosed` while its gate is closed.
  case launch(app: String)
  case status
  /// Answered, or the connection just ends; it ends when the lock is free for the next service.
  case stop
}
