internal import AppBundles
internal import AssetModel
internal import Basics
internal import Downloads
internal import Glibc
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// Who is connected, and to whom what they ask goes.
final class ClientHandler {
  private let clients: ClientRegistry
  private let calls: OpenCalls
  private let decider: Decider
  private let catalog: AppCatalog
  private let challenges: PendingChallenges
  private let requests: AppRequests
  private let operators: OperatorCommands
  private let thread: ServiceThread
  private let configuration: AssetService.Configuration

  init(
    clients: ClientRegistry, calls: OpenCalls, decider: Decider, catalog: AppCatalog, challenges: PendingChallenges,
    requests: AppRequests, operators: OperatorCommands, thread: ServiceThread, configuration: AssetService.Configuration
  ) {
    self.clients = clients
    self.calls = calls
    self.decider = decider
    self.catalog = catalog
    self.challenges = challenges
    self.requests = requests
    self.operators = operators
    self.thread = thread
    self.configuration = configuration
  }

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
        client.connection.endAfterSending("it sent no greeting")
      case .app(let app) where decider.core.apps[app].map { $0.lifecycle.phase != .removing } ?? false:
        requests.perform(content, of: app, id, request)
      case .app(let app), .uninstalled(let app):
        client.connection.answer(request, .failure(.uninstalled(app)))
      case .operator:
        if let list = operators.list(content) {
          return client.connection.answer(request, by: clients.lists, making: list)
        }
        // What takes long doesn't hold up the others.
        thread.later { service in
          let result = await service.parts.operators.perform(content, for: id)
          client.connection.answer(request, result)
        }
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
    if case .uninstalled(let app) = client.identity { return refuse(.uninstalled(app)) }
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
      guard let phase = decider.core.apps[app]?.lifecycle.phase, phase != .removing, decider.current(app) != nil else {
        return refuse(
          .framework(55, "the app \(Printable.text(app)) isn't installed", remedy: "outrider apps lists those that are")
        )
      }
      clients[id]?.identity = .app(app)
      complete(&welcome, for: app)
      decider.process(.app(app, .launched))
    }
    client.connection.greeted()
    client.connection.answer(request, .success(.welcome(welcome)))
  }

  private func complete(_ welcome: inout Welcome, for app: String) {
    welcome.app = app
    welcome.bundlePath = decider.current(app)?.path
    welcome.containers = catalog.containers(of: decider.description(of: app)?.appGroups ?? [])
  }

  /// By the file that it executes: in an installed bundle, and still the one that lies there.
  private func installedApp(of connection: ClientConnection) -> String? {
    guard let executable = connection.executable, let root = try? Files.real(configuration.paths.apps),
      executable.path.lies(below: root), let there = try? Files.identity(of: executable.path),
      there.device == executable.identity.device, there.inode == executable.identity.inode
    else { return nil }
    return executable.path.rest(after: root).pathNames.first
  }

  private func left(_ id: ConnectionID, _ reason: String?) {
    calls.drop(id)
    guard let client = clients.remove(id) else { return }
    if let reason { configuration.logger.info("connection \(id) ended: \(Printable.text(reason, limit: 500))") }
    guard case .app(let app) = client.identity else { return }
    decider.process(.app(app, .connectionLeft(id.number)))
    decider.process(.app(app, .exited))
  }

  /// A delegate answers.
  private func answered(_ id: ConnectionID, _ call: UInt64, _ answer: DelegateAnswer) {
    guard case .app(let app) = clients[id]?.identity else { return }
    let number = Int64(clamping: call)
    if case .challenge(let reply) = answer { challenges.take(ChallengeAnswer(reply), to: number) }
    decider.process(
      .app(
        app,
        .router(
          .answered(number: number, recipient: .connection(id.number), isHandled: answer != .unhandled))))
  }
}
