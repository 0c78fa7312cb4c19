/// What the service says to a client.
package enum ServiceMessage: Sendable, Equatable, Codable {
  /// The one answer to a request. Long lists come in parts before it.
  case reply(id: UInt64, reply: Reply)
  case part(id: UInt64, reply: Reply)
  /// `id` 0, which no request has: the service doesn't take the connection, and ends it.
  case failure(id: UInt64, failure: ServiceFailure)
  /// Something happened to a download of the app; there is no answer.
  case notify(event: DelegateEvent)
  /// Something happened that has to be handled, by this client's delegate or else by the extension.
  case call(id: UInt64, event: DelegateEvent)
  /// The call was given to another recipient meanwhile, or is over: the answer is ignored.
  case withdraw(call: UInt64)
  /// What an operator watches.
  case event(WatchEvent)
}

package enum Reply: Sendable, Equatable, Codable {
  case welcome(Welcome)
  case done
  case downloads([DownloadValue])
  case apps([AppSummary])
  case downloadList([DownloadSummary])
  case runs([RunSummary])
  case log([LogLine])
  case explanation(ExplanationSummary)
  case settings(SettingsSummary)
  case launch(LaunchTicket)
  case status(StatusSummary)
}

package struct Welcome: Sendable, Equatable, Codable {
  package var version: Int
  /// The service's process.
  package var process: Int32
  package var isDevelopment: Bool
  /// The app that the connection belongs to; nil for operators.
  package var app: String?
  package var bundlePath: String?
  /// Container directories by app group.
  package var containers: [String: String]

  package init(
    version: Int, process: Int32, isDevelopment: Bool, app: String? = nil, bundlePath: String? = nil,
    containers: [String: String] = [:]
  ) {
    self.version = version
    self.process = process
    self.isDevelopment = isDevelopment
    self.app = app
    self.bundlePath = bundlePath
    self.containers = containers
  }
}

package struct ChallengeValue: Sendable, Equatable, Codable {
  package var host: String
  package var port: Int
  package var scheme: String
  package var realm: String
  /// One of the `NSURLAuthenticationMethod…` strings.
  package var authenticationMethod: String
  package var previousFailureCount: Int

  package init(
    host: String, port: Int, scheme: String, realm: String, authenticationMethod: String, previousFailureCount: Int
  ) {
    self.host = host
    self.port = port
    self.scheme = scheme
    self.realm = realm
    self.authenticationMethod = authenticationMethod
    self.previousFailureCount = previousFailureCount
  }
}

/// The methods of `BADownloadManagerDelegate`. The last three come as calls.
package enum DelegateEvent: Sendable, Equatable, Codable {
  case began(DownloadValue)
  case paused(DownloadValue)
  /// Bytes in all so far and expected; what was written since the last one is the client's to work out, since the service
  /// merges what a slow reader hasn't read.
  case progress(DownloadValue, totalWritten: Int64, totalExpected: Int64)
  case challenge(DownloadValue, ChallengeValue)
  case failed(DownloadValue, ServiceFailure)
  /// The file lies at `path`; the delegate moves it before it answers, or it is deleted (B55).
  case finished(DownloadValue, path: String)

  package var download: DownloadValue {
    switch self {
    case .began(let download), .paused(let download), .progress(let download, _, _), .challenge(let download, _),
      .failed(let download, _), .finished(let download, _):
      download
    }
  }
}

package enum WatchEvent: Sendable, Equatable, Codable {
  case app(AppSummary)
  case appRemoved(identifier: String)
  case download(DownloadSummary)
  case run(RunSummary)
  case line(LogLine)
}

/// What `outrider launch` runs.
package struct LaunchTicket: Sendable, Equatable, Codable {
  package var app: String
  package var executable: String
  package var bundlePath: String
  package var environment: [String: String]

  package init(app: String, executable: String, bundlePath: String, environment: [String: String]) {
    self.app = app
    self.executable = executable
    self.bundlePath = bundlePath
    self.environment = environment
  }
}
