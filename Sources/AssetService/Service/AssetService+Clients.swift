internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import PluginHost
internal import ServiceMachines
internal import ServiceProtocol

/// What clients and extensions ask of the service, and what they are told.
extension AssetService {
  // MARK: Connections

  func arrived(_ arrival: ClientConnection.Arrival, on id: ConnectionID) {
    switch arrival {
    case .closed(let reason): left(id, reason)
    case .message(.answer(let call, let answer)):
      answered(id, call, answer)
      clients[id]?.connection.tookAnswer()
    case .message(.request(let request, let content)):
      guard let client = clients[id] else { return }
      if case .hello(let hello) = content { return greet(client, request, hello) }
      switch client.identity {
      case .unknown:
        client.connection.answer(request, .failure(.framework(55, "the first request must be hello")))
        client.connection.endAfterSending("it didn't say who it is")
      case .app(let app): ask(id, app, request, content)
      case .operator:
        if let list = list(content) { return client.connection.answer(request, by: clients.lists, making: list) }
        // What takes long doesn't hold up the others.
        Task { client.connection.answer(request, await self.perform(content, for: id)) }
      }
    }
  }

  private func greet(_ client: ClientRegistry.Client, _ request: UInt64, _ hello: Hello) {
    func refuse(_ failure: ServiceFailure) {
      client.connection.answer(request, .failure(failure))
      client.connection.endAfterSending(failure.message)
    }
    guard hello.version == Hello.currentVersion else {
      return refuse(
        .framework(
          55, "the client speaks version \(hello.version) of the protocol, and the service \(Hello.currentVersion)",
          remedy: "use an outrider and a BackgroundAssets module of the same release"))
    }
    let id = client.connection.id
    var welcome = Welcome(
      version: Hello.currentVersion, process: getpid(), isDevelopment: configuration.isDevelopment)
    // An app says hello on the connection that its launcher handed down, too.
    if case .app(let app) = client.identity, hello.role == .app {
      complete(&welcome, for: app)
      return client.connection.answer(request, .success(.welcome(welcome)))
    }
    guard client.identity == .unknown else { return refuse(.framework(55, "hello was said already")) }
    switch hello.role {
    case .operator where hello.launches == nil: clients[id]?.identity = .operator
    case .operator, .app:
      guard let app = hello.role == .operator ? hello.launches : installedApp(of: client.connection) else {
        return refuse(
          .framework(
            55, "process \(client.connection.process) belongs to no installed app",
            remedy: "start it with 'outrider launch ID', or from its installed bundle"))
      }
      guard core.apps[app] != nil, current(app) != nil else {
        return refuse(
          .framework(55, "the app \(Printable.text(app)) isn't installed", remedy: "outrider apps lists those that are")
        )
      }
      clients[id]?.identity = .app(app)
      complete(&welcome, for: app)
      process(.app(app, .launched))
    }
    client.connection.greeted()
    client.connection.answer(request, .success(.welcome(welcome)))
  }

  private func complete(_ welcome: inout Welcome, for app: String) {
    welcome.app = app
    welcome.bundlePath = current(app)?.path
    welcome.containers = containers(of: app)
  }

  /// Where the groups of an app are, made where they aren't yet.
  func containers(of app: String) -> [String: String] {
    var found: [String: String] = [:]
    for group in description(of: app)?.appGroups ?? [] {
      guard (try? Containers(root: configuration.paths.groups).open(group)) != nil else { continue }
      found[group] = plan.container(of: group)
    }
    return found
  }

  /// By the file that it executes: in an installed bundle, and still the one that lies there.
  private func installedApp(of connection: ClientConnection) -> String? {
    guard let executable = connection.executable, let root = try? Files.real(configuration.paths.apps),
      executable.path.hasPrefix(root + "/"), let there = try? Files.identity(of: executable.path),
      there.device == executable.identity.device, there.inode == executable.identity.inode
    else { return nil }
    return executable.path.dropFirst(root.count + 1).split(separator: "/").first.map(String.init)
  }

  private func left(_ id: ConnectionID, _ reason: String?) {
    guard let client = clients.remove(id) else { return }
    if let reason { configuration.logger.info("connection \(id) ended: \(Printable.text(reason, limit: 500))") }
    guard case .app(let app) = client.identity else { return }
    process(.app(app, .connectionLeft(id.number)))
    process(.app(app, .exited))
  }

  // MARK: Requests of apps

  private func ask(_ id: ConnectionID, _ app: String, _ request: UInt64, _ content: ClientRequest) {
    func answer(_ result: Result<Reply, ServiceFailure>) { clients[id]?.connection.answer(request, result) }
    if content.changesState, let journalFailure { return answer(.failure(.framework(102, journalFailure.message))) }
    let caller = DownloadRegistry.Caller.app(connection: id.number, isActive: clients[id]?.isActive ?? true)
    switch content {
    case .observe(let isObserving):
      clients[id]?.isObserving = isObserving
      process(.app(app, .router(.observing(recipient: .connection(id.number), isObserving: isObserving))))
      answer(.success(.done))
    case .activate(let isActive):
      clients[id]?.isActive = isActive
      answer(.success(.done))
    case .currentDownloads: answer(.success(.downloads(currentDownloads(of: app))))
    case .schedule(let value):
      schedule(renewed(value, of: app), of: app, id, request) { .schedule(call: $0, download: $1, caller: caller) }
    case .startForeground(let value):
      let state = DownloadRegistry.State(rawValue: value.state) ?? .created
      schedule(value, of: app, id, request) {
        .startForeground(call: $0, download: $1, state: state, caller: caller)
      }
    case .cancel(let identifier, let unique):
      let call = clients.begin(id, request)
      let state = downloads[app]?[unique]?.entry?.state ?? .created
      process(
        .app(
          app,
          .registry(
            .cancel(call: call, identifier: identifier, uniqueIdentifier: unique, state: state, caller: caller))))
    case .acquireControl(let token, let timeout):
      let claim = ExclusiveControl.Claim(holder: .connection(id.number), token: token)
      clients.claim(claim, request)
      let limit = timeout.map { Duration.nanoseconds(Int64(max(0, min($0, 3e9)) * 1e9)) }
      process(.app(app, .control(.requested(claim, timeout: limit))))
    case .releaseControl(let token):
      process(.app(app, .control(.released(.init(holder: .connection(id.number), token: token)))))
      answer(.success(.done))
    default:
      answer(.failure(.framework(55, "an app may not ask that", remedy: "use the command outrider")))
    }
  }

  /// A download that has ended is scheduled again as another one (B47): the engine has a result under the old name, and
  /// somebody may be hearing of that at this moment.
  private func renewed(_ value: DownloadValue, of app: String) -> DownloadValue {
    let entry = downloads[app]?[value.uniqueIdentifier]?.entry
    guard entry == nil || entry?.state == .failed,
      transfers.record(.init(app: app, download: value.uniqueIdentifier))?.state.isSettled == true
    else { return value }
    var value = value
    value.uniqueIdentifier = UUID().uuidString
    value.state = 0
    return value
  }

  /// Checked as what an extension hands over is; the machines have the last word.
  private func schedule(
    _ value: DownloadValue, of app: String, _ id: ConnectionID, _ request: UInt64,
    _ event: (UInt64, PlannedDownload) -> AppEvent
  ) {
    if let known = downloads[app]?[value.uniqueIdentifier], known.entry != nil {
      return process(.app(app, event(clients.begin(id, request), known.value.planned)))
    }
    let rules = DownloadRules(
      applicationGroups: Set(description(of: app)?.appGroups ?? []), request: nil,
      allowsPlainHTTPToLoopback: configuration.isDevelopment)
    var value = value
    if let rejection = rules.rejectionReason(for: Download(value)) {
      clients[id]?.connection.answer(request, .failure(ServiceFailure(rejection)))
      return
    }
    value.applicationGroupIdentifier = shared.names.shared(value.applicationGroupIdentifier)
    if UUID(uuidString: value.uniqueIdentifier) == nil { value.uniqueIdentifier = UUID().uuidString }
    downloads[app, default: [:]][value.uniqueIdentifier] = ScheduledDownload(value: value)
    process(.app(app, event(clients.begin(id, request), value.planned)))
    if downloads[app]?[value.uniqueIdentifier]?.entry == nil { downloads[app]?[value.uniqueIdentifier] = nil }
  }

  func currentDownloads(of app: String) -> [DownloadValue] {
    // Names are sorted, not what they name, which is many fields long.
    let current = (downloads[app] ?? [:]).compactMap { unique, download in
      download.entry.map { $0.state != .finished } == true
        ? (identifier: download.value.identifier, unique: unique) : nil
    }
    .sorted { $0.identifier < $1.identifier }
    return current.compactMap { downloads[app]?[$0.unique]?.value }
  }

  // MARK: Requests of extensions

  func schedule(_ download: Download, of app: String, run: Int64) async -> Int32 {
    var value = DownloadValue(download)
    value.uniqueIdentifier = unused(value.uniqueIdentifier, of: app)
    downloads[app, default: [:]][value.uniqueIdentifier] = ScheduledDownload(value: value)
    let status = await answerTo { call in
      .app(app, .schedule(call: call, download: value.planned, caller: .extension(run: run, isAnswering: false)))
    }
    if downloads[app]?[value.uniqueIdentifier]?.entry == nil { downloads[app]?[value.uniqueIdentifier] = nil }
    return status
  }

  func cancel(_ identifier: String, of app: String, run: Int64) async -> Int32 {
    await answerTo { call in
      .app(
        app,
        .registry(
          .cancel(
            call: call, identifier: identifier, uniqueIdentifier: "", state: .created,
            caller: .extension(run: run, isAnswering: false))))
    }
  }

  private func answerTo(_ event: (UInt64) -> CoreEvent) async -> Int32 {
    if journalFailure != nil { return 102 }
    let call = clients.beginInternal()
    return await withCheckedContinuation { continuation in
      waiting[call] = continuation
      process(event(call))
    }
  }

  func acquireControl(of app: String, run: Int64, timeout: Duration?) async -> Int32 {
    let token = clients.beginInternal()
    controlTokens[run] = token
    return await withCheckedContinuation { continuation in
      waiting[token] = continuation
      process(.app(app, .control(.requested(.init(holder: .run(run), token: token), timeout: timeout))))
    }
  }

  func releaseControl(of app: String, run: Int64) {
    guard let token = controlTokens.removeValue(forKey: run) else { return }
    process(.app(app, .control(.released(.init(holder: .run(run), token: token)))))
  }

  // MARK: Answers

  func reply(_ call: UInt64, _ result: Result<String, Failure>) {
    if let continuation = waiting.removeValue(forKey: call) {
      switch result {
      case .success: continuation.resume(returning: 0)
      case .failure(let failure): continuation.resume(returning: Int32(failure.code))
      }
      return
    }
    let answer: Result<Reply, ServiceFailure> =
      switch result {
      case .success: .success(.done)
      case .failure(let failure): .failure(ServiceFailure(failure))
      }
    _ = clients.answer(call, answer)
  }

  func answerClaim(_ claim: ExclusiveControl.Claim, _ refusal: ExclusiveControl.Refusal?) {
    if case .run = claim.holder {
      waiting.removeValue(forKey: claim.token)?.resume(returning: refusal == nil ? 0 : -1)
      return
    }
    guard case .connection(let number) = claim.holder, let request = clients.takeClaim(claim) else { return }
    let result: Result<Reply, ServiceFailure> =
      refusal.map { .failure(Self.failure($0)) } ?? .success(.done)
    clients[ConnectionID(number: number)]?.connection.answer(request, result)
  }

  /// The connection is as good as before, so that what wasn't granted in time isn't a matter of 56.
  private static func failure(_ refusal: ExclusiveControl.Refusal) -> ServiceFailure {
    switch refusal {
    case .notInTime:
      ServiceFailure(
        domain: ServiceFailure.frameworkDomain, code: 0, message: "exclusive control wasn't acquired in time",
        underlyingDomain: NSPOSIXErrorDomain, underlyingCode: Int(ETIMEDOUT))
    case .tokenInUse: .framework(56, "the request is under way already")
    case .tooMany: .framework(56, "too many requests for exclusive control are waiting")
    }
  }

  // MARK: Answers of delegates

  private func answered(_ id: ConnectionID, _ call: UInt64, _ answer: DelegateAnswer) {
    guard case .app(let app) = clients[id]?.identity else { return }
    let number = Int64(clamping: call)
    if case .challenge(let reply) = answer, let asked = challenges.removeValue(forKey: number) {
      challengeValues[number] = nil
      asked.resume(returning: ChallengeAnswer(reply))
    }
    process(
      .app(
        app,
        .router(
          .answered(number: number, recipient: .connection(id.number), isHandled: answer != .unhandled))))
  }

  /// The engine asks who may have a download.
  func answer(_ challenge: AuthenticationChallenge) async -> ChallengeAnswer {
    guard downloads[challenge.app]?[challenge.identifier] != nil, let value = ChallengeValue(challenge) else {
      return .performDefaultHandling
    }
    let number = newOccurrence()
    challengeValues[number] = value
    defer { challengeValues[number] = nil }
    return await withCheckedContinuation { continuation in
      challenges[number] = continuation
      process(.app(challenge.app, .challenged(download: challenge.identifier, number: number)))
    }
  }

  // MARK: What operators watch

  func publishChanges(of decided: [(event: CoreEvent, actions: [Action])]) {
    guard clients.isWatched else { return }
    var changed: [String: Set<String>] = [:]
    for (event, actions) in decided {
      for case .store(let app, let entry) in actions {
        changed[app, default: []].insert(entry.download.uniqueIdentifier)
      }
      if case .app(let app, let event) = event {
        changed[app] = changed[app] ?? []
        if case .received(let download, _, _, _) = event { changed[app]?.insert(download) }
      }
    }
    for (app, downloads) in changed {
      for download in downloads { publish(app, download) }
      if let summary = summary(of: app) { clients.publish(.app(summary), of: app) }
    }
  }

  func publish(_ app: String, _ unique: String) {
    guard clients.isWatched, let scheduled = downloads[app]?[unique] else { return }
    clients.publish(.download(Summaries.download(app, scheduled)), of: app)
  }

  func log(_ app: String?, _ event: String, _ detail: String) {
    try? store.record(show(app, event, detail))
  }

  /// The same for what is written down with the next event: there may be many of these.
  func logWithNext(_ app: String, _ event: String, _ detail: String) { writeWithNext(.event(show(app, event, detail))) }

  private func show(_ app: String?, _ event: String, _ detail: String) -> StoredEvent {
    configuration.logger.info("\(event) \(detail)", metadata: app.map { ["app": "\($0)"] } ?? [:])
    let line = LogLine(at: Timestamp.text(Date()), level: "info", app: app, event: event, detail: detail)
    clients.publish(.line(line), of: app)
    return StoredEvent(wall: WallClock.now(), app: app, kind: event, detail: detail)
  }
}

extension ServiceFailure {
  init(_ rejection: RejectedDownload) {
    let isURL = rejection.code == 102 && rejection.reason.contains("https")
    self.init(
      domain: Self.frameworkDomain, code: Int(rejection.code),
      message: "the download \(Printable.text(rejection.identifier)) can't be scheduled: \(rejection.reason)",
      underlyingDomain: isURL ? "NSURLErrorDomain" : nil, underlyingCode: isURL ? -1002 : nil)
  }
}

extension ChallengeValue {
  /// nil for what an `URLAuthenticationChallenge` can't express.
  init?(_ challenge: AuthenticationChallenge) {
    let origin = try? ParsedURL(challenge.origin)
    guard let origin else { return nil }
    let (method, realm): (String, String)
    switch challenge.kind {
    case .credentials(let scheme, let asked, _):
      method = "NSURLAuthenticationMethodHTTP\(scheme.lowercased() == "digest" ? "Digest" : "Basic")"
      realm = asked
    case .serverTrust: (method, realm) = ("NSURLAuthenticationMethodServerTrust", "")
    case .clientCertificate: (method, realm) = ("NSURLAuthenticationMethodClientCertificate", "")
    }
    self.init(
      host: origin.host, port: Int(origin.port), scheme: origin.scheme, realm: realm, authenticationMethod: method,
      previousFailureCount: challenge.previousFailureCount)
  }
}

extension ChallengeAnswer {
  init(_ reply: ChallengeReply) {
    switch reply.disposition {
    case 0: self = reply.user.map { .credential(user: $0, password: reply.password ?? "") } ?? .performDefaultHandling
    case 2: self = .cancel
    default: self = .performDefaultHandling
    }
  }
}
