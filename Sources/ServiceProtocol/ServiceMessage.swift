/// What the service says to a client.
public enum ServiceMessage: Sendable, Equatable, Codable {
  /// The one answer to a request. Long lists come in parts before it.
  case reply(id: UInt64, reply: Reply)
  case part(id: UInt64, reply: Reply)
  /// `id` 0, which no request has: the service doesn't take the connection, and ends it.
  case failure(id: UInt64, failure: ServiceFailure)
  /// Something happened to a download of the app; nobody answers.
  case notify(event: DelegateEvent)
  /// Something happened that has to be handled, by this client's delegate or else by the extension.
  case call(id: UInt64, event: DelegateEvent)
  /// The call is somebody else's by now, or over: the answer counts for nothing.
  case withdraw(call: UInt64)
  /// What an operator watches.
  case event(WatchEvent)
}

public enum Reply: Sendable, Equatable, Codable {
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

public struct Welcome: Sendable, Equatable, Codable {
  public var version: Int
  /// The service's process.
  public var process: Int32
  public var isDevelopment: Bool
  /// The app that the connection belongs to; nil for operators.
  public var app: String?
  public var bundlePath: String?
  /// Container directories by app group.
  public var containers: [String: String]

  public init(
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

public struct ChallengeValue: Sendable, Equatable, Codable {
  public var host: String
  public var port: Int
  public var scheme: String
  public var realm: String
  /// One of the `NSURLAuthenticationMethod…` strings.
  public var authenticationMethod: String
  public var previousFailureCount: Int

  public init(
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
public enum DelegateEvent: Sendable, Equatable, Codable {
  case began(DownloadValue)
  case paused(DownloadValue)
  /// Bytes in all so far and expected; what was written since the last one is the client's to work out, since the service
  /// merges what a slow reader hasn't read.
  case progress(DownloadValue, totalWritten: Int64, totalExpected: Int64)
  case challenge(DownloadValue, ChallengeValue)
  case failed(DownloadValue, ServiceFailure)
  /// The file lies at `path`; the delegate moves it before it answers, or it is deleted (B55).
  case finished(DownloadValue, path: String)

  public var download: DownloadValue {
    switch self {
    case .began(let download), .paused(let download), .progress(let download, _, _), .challenge(let download, _),
      .failed(let download, _), .finished(let download, _):
      download
    }
  }
}

public enum WatchEvent: Sendable, Equatable, Codable {
  case app(AppSummary)
  case appRemoved(identifier: String)
  case download(DownloadSummary)
  case run(RunSummary)
  case line(LogLine)
}

/// What `outrider launch` runs.
public struct LaunchTicket: Sendable, Equatable, Codable {
  public var app: String
  public var executable: String
  public var bundlePath: String
  public var environment: [String: String]

  public init(app: String, executable: String, bundlePath: String, environment: [String: String]) {
    self.app = app
    self.executable = executable
    self.bundlePath = bundlePath
    self.environment = environment
  }
}
